// Why: decisions with their inputs and effects.

import { Chart, look } from "./chart.js";
import { csv, save } from "./download.js";
import { clock, count, given, make, percent, seconds, table, trouble } from "./format.js";
import { Trust } from "./trust.js";

const REFRESH_MS = 3000;
const SHOWN = 100;

export class Why {
  constructor(place, feed) {
    Object.assign(this, { place, feed, asked: -REFRESH_MS, timer: null, range: 0, changes: null, decisions: [], entries: new Map() });
    const marks = () => feed.marks();
    this.paths = feed.asked;
    this.chart = new Chart({ title: "Predicted and observed, after each change", unit: "s", marks, height: 200, lines: this.paths.flatMap((path, i) => [ // predicted is drawn over observed, so that both are visible where they agree
      { name: `${path} observed mean`, key: `${path} observed_mean_s`, ...look(2 * i), points: true, width: 1.5, spanGaps: true },
      { name: `${path} predicted mean`, key: `${path} predicted_mean_s`, ...look(2 * i + 1), points: true, width: 1.2, spanGaps: true }]) });
    this.trust = new Trust(feed, this.paths);
    this.charts = [this.chart, this.trust.chart];
    this.all = make("input", { type: "checkbox", id: "why-all", onchange: () => this.ask() });
    this.list = make("ol", { class: "timeline" });
    this.summary = make("p", { class: "note" });
    this.trouble = trouble();
    place.replaceChildren(this.chart.element, this.trust.chart.element,
      make("div", { class: "card" }, make("label", {}, this.all, " include decisions that change nothing"), " ",
        make("span", { class: "get" }, "Download ",
          make("button", { type: "button", onclick: () => save("decisions.json", JSON.stringify(this.decisions, null, 1), "application/json") }, "JSON"), " ",
          make("button", { type: "button", onclick: () => save("decisions.csv", csv(rows(this.decisions)), "text/csv") }, "CSV")),
        this.summary, this.trouble),
      this.list);
  }

  show(range) {
    this.range = range;
    this.trust.show(range);
    this.draw();
    this.timer ??= setTimeout(() => this.ask(), Math.max(0, this.asked + REFRESH_MS - performance.now()));
  }

  // The chart shows changes only, even if the list shows all decisions.
  async ask() {
    clearTimeout(this.timer);
    this.timer = null;
    this.asked = performance.now();
    try {
      const changes = this.feed.decisions(true);
      [this.changes, this.decisions] = await Promise.all([changes, this.all.checked ? this.feed.decisions(false) : changes]);
    } catch (error) {
      this.trouble.tell(error);
      return;
    }
    this.trouble.tell(null);
    this.draw();
    this.tell();
  }

  draw() {
    const { changes } = this;
    if (changes === null) return;
    this.chart.show([changes.map((d) => d.time_s), ...this.paths.flatMap((path) => [changes.map((d) => d.paths[path].observed.mean_s), changes.map((d) => d.paths[path].predicted.mean_s)])], this.feed.span(this.range));
  }

  tell() {
    const shown = this.decisions.slice(-SHOWN).reverse(), of = this.all.checked ? this.feed.last?.number : this.feed.changes;
    const part = shown.length < of ? `; the last ${shown.length}${this.all.checked ? " decisions" : ""} are listed` : "";
    this.summary.textContent = shown.length ? `${count(this.feed.changes)} changes${part}, newest first, with predicted → observed mean response time until the next. Open one for its inputs.` : "No changes yet.";
    this.arrange(shown.map((decision) => this.entry(decision)));
  }

  // Entries that stay are not touched, so that they keep focus and selection.
  arrange(items) {
    const stay = new Set(items);
    for (const item of [...this.list.children]) if (!stay.has(item)) item.remove();
    items.forEach((item, i) => this.list.children[i] === item || this.list.insertBefore(item, this.list.children[i] ?? null));
    for (const [round, { item }] of this.entries) if (!stay.has(item)) this.entries.delete(round);
  }

  // The item of a decision, created once and updated when its effect changes.
  entry(d) {
    if (!this.entries.has(d.round)) {
      const summary = make("summary"), more = make("div", { class: "more" });
      this.entries.set(d.round, { item: make("li", {}, make("details", {}, summary, more)), summary, more, told: null });
    }
    const entry = this.entries.get(d.round), told = JSON.stringify(d);
    if (entry.told !== told) {
      entry.told = told;
      entry.summary.replaceChildren(...this.line(d));
      entry.more.replaceChildren(...this.inputs(d));
    }
    return entry.item;
  }

  line(d) {
    const effects = this.paths.map((path) => `${seconds(d.paths[path].predicted.mean_s)} → ${seconds(d.paths[path].observed.mean_s)}`).join(", ");
    return [make("time", {}, clock(d.time_s)), make("span", { class: `kind ${d.kind}`, title: `because: ${d.because.replace("_", " ")}` }, d.kind),
      make("span", { class: "what" }, d.reason.replaceAll("->", "→") || d.error || d.missing || "no decision", d.changes > 1 ? ` (and ${d.changes - 1} more in this half-minute)` : null, d.changed && !d.applied ? make("span", { class: "bad" }, " (not applied)") : null),
      make("span", { class: "effect", title: "predicted and observed mean response time" }, effects, this.flag(d))];
  }

  inputs(d) {
    return [
      d.error ? make("p", { class: "bad" }, d.error) : "",
      table(["input", "tuples/s", "waiting", "utilization", "planned"], Object.entries(d.inputs.operators).map(([name, o]) =>
        [name, count(o.rate_per_s), count(o.backlog), percent(o.utilization), given(d.planned[name].share, d.planned[name].replicas)])),
      table(["path", "predicted mean", "predicted p95", "observed mean", "tuples until the next"], Object.entries(d.paths).map(([path, p]) =>
        [path, p.predicted.stable === false ? "overloaded" : seconds(p.predicted.mean_s), seconds(p.predicted.p95_s), seconds(p.observed.mean_s), count(p.observed.completed)])),
      d.caution > 1 ? make("p", { class: "note" }, `Recent predictions were too low: the bounds were taken ${+d.caution.toPrecision(2)} times tighter.`) : ""];
  }

  // Mark an effect that is far from the prediction.
  flag(d) {
    const far = this.paths.map((path) => d.paths[path]).filter((p) => p.surprising).map((p) => `${+p.times_predicted.toPrecision(2)} ×`);
    return far.length ? make("span", { class: "bad" }, ` ${far.join(", ")} the prediction`) : null;
  }
}

// Rows for the download: one for every decision and path.
function rows(decisions) {
  const values = decisions.flatMap((d) => Object.entries(d.paths).map(([path, p]) => [d.round, d.time_s, d.kind, d.because, d.applied, d.reason, path, p.predicted.mean_s, p.predicted.p95_s, p.observed.mean_s, p.observed.completed]));
  return [["round", "time_s", "kind", "because", "applied", "reason", "path", "predicted_mean_s", "predicted_p95_s", "observed_mean_s", "completed"], ...values];
}
