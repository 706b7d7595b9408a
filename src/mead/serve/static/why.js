// Why: what was decided, from what, and what came of it.

import { Chart, palette, save } from "./chart.js";
import { clock, count, given, make, percent, seconds, table } from "./format.js";
import { Trust } from "./trust.js";

const REFRESH_MS = 3000;
const SHOWN = 100;

export class Why {
  constructor(place, feed) {
    Object.assign(this, { place, feed, asked: -REFRESH_MS, timer: null, range: 0, decisions: null, open: new Set() });
    const marks = () => feed.changes();
    const paths = feed.run.pipeline.paths.filter((path) => !feed.run.requirements.length || feed.run.requirements.some((r) => r.path === path));
    this.paths = paths;
    this.chart = new Chart({ title: "Predicted and observed, after each change", unit: "s", marks, height: 200, lines: paths.flatMap((path, i) => [
      { name: `${path} predicted mean`, key: `${path} predicted_mean_s`, colour: palette(2 * i), points: true, dash: [6, 4], width: 1.2, spanGaps: true },
      { name: `${path} observed mean`, key: `${path} observed_mean_s`, colour: palette(2 * i + 1), points: true, dash: [], width: 1.5, spanGaps: true }]) });
    this.trust = new Trust(feed, paths);
    this.charts = [this.chart, this.trust.chart];
    this.all = make("input", { type: "checkbox", id: "why-all", onchange: () => this.ask() });
    this.list = make("ol", { class: "timeline" });
    this.summary = make("p", { class: "note" });
    place.replaceChildren(this.chart.element, this.trust.chart.element,
      make("div", { class: "card" }, make("label", {}, this.all, " also the decisions to keep everything as it is"), " ",
        make("span", { class: "get" }, "Download ",
          make("button", { type: "button", onclick: () => save("decisions.json", JSON.stringify(this.decisions ?? [], null, 1), "application/json") }, "JSON"), " ",
          make("button", { type: "button", onclick: () => save("decisions.csv", csv(this.decisions ?? []), "text/csv") }, "CSV")),
        this.summary),
      this.list);
  }

  show(range) {
    this.range = range;
    this.trust.show(range);
    this.draw();
    this.timer ??= setTimeout(() => this.ask(), Math.max(0, this.asked + REFRESH_MS - performance.now()));
  }

  async ask() {
    clearTimeout(this.timer);
    this.timer = null;
    this.asked = performance.now();
    try {
      this.decisions = await this.feed.decisions(!this.all.checked);
    } catch (error) {
      this.summary.textContent = error.message;
      return;
    }
    this.draw();
  }

  draw() {
    const { decisions } = this;
    if (decisions === null) return;
    const changes = decisions.filter((d) => d.changed);
    this.chart.show([changes.map((d) => d.time_s), ...this.paths.flatMap((path) => [changes.map((d) => d.paths[path].predicted.mean_s), changes.map((d) => d.paths[path].observed.mean_s)])], this.feed.span(this.range));
    const shown = decisions.slice(-SHOWN).reverse();
    this.summary.textContent = decisions.length ? `${count(this.feed.rounds.filter((round) => round.changed).length)} changes in the rounds that are kept${decisions.length > SHOWN ? `; the last ${SHOWN} are listed` : ""}, newest first; with the mean response time as predicted → as observed until the next. Open one for its inputs.` : "Nothing has been changed yet.";
    this.list.replaceChildren(...shown.map((decision) => this.entry(decision)));
  }

  entry(d) {
    const [change, because] = split(d.reason);
    const effects = this.paths.map((path) => `${seconds(d.paths[path].predicted.mean_s)} → ${seconds(d.paths[path].observed.mean_s)}`).join(", ");
    const details = make("details", { open: this.open.has(d.round), ontoggle: (event) => (event.target.open ? this.open.add(d.round) : this.open.delete(d.round)) },
      make("summary", {}, make("time", {}, clock(d.time_s)), make("span", { class: `kind ${d.kind}` }, d.kind),
        make("span", { class: "what" }, change || d.reason || d.error || d.missing || "no decision", d.changed && !d.applied ? make("span", { class: "bad" }, " (not applied)") : null, because ? make("small", {}, because) : null),
        make("span", { class: "effect", title: "predicted and observed mean response time" }, effects, this.flag(d))),
      make("div", { class: "more" },
        because ? make("p", {}, `Because ${because}`) : null,
        d.error ? make("p", { class: "bad" }, d.error) : null,
        table(["input", "tuples/s", "waiting", "utilization", "planned"], Object.entries(d.inputs.operators).map(([name, o]) =>
          [name, count(o.rate_per_s), count(o.backlog), percent(o.utilization), given(d.planned[name].share, d.planned[name].replicas)])),
        table(["path", "predicted mean", "predicted p95", "observed mean", "tuples until the next"], Object.entries(d.paths).map(([path, p]) =>
          [path, p.predicted.stable === false ? "overloaded" : seconds(p.predicted.mean_s), seconds(p.predicted.p95_s), seconds(p.observed.mean_s), count(p.observed.completed)])),
        d.caution > 1 ? make("p", { class: "note" }, `Predictions had been exceeded, so that bounds were taken ${+d.caution.toPrecision(2)} times tighter.`) : null));
    return make("li", {}, details);
  }

  // An effect that is far from what was predicted stands out.
  flag(d) {
    const far = this.paths.map((path) => d.paths[path]).filter((p) => p.surprising).map((p) => `${+p.times_predicted.toPrecision(2)} ×`);
    return far.length ? make("span", { class: "bad" }, ` ${far.join(", ")} what was predicted`) : null;
  }
}

// "matcher 0.4 -> 0.55, because ..." into what and why.
function split(reason) {
  const at = reason.indexOf(", because ");
  return at < 0 ? [reason, ""] : [reason.slice(0, at).replaceAll("->", "→"), reason.slice(at + 10)];
}

function csv(decisions) {
  const quoted = (value) => (value === null || value === undefined ? "" : `"${String(value).replaceAll('"', '""')}"`);
  const rows = decisions.flatMap((d) => Object.entries(d.paths).map(([path, p]) => [d.round, d.time_s, d.kind, d.applied, d.reason, path, p.predicted.mean_s, p.predicted.p95_s, p.observed.mean_s, p.observed.completed]));
  return [["round", "time_s", "kind", "applied", "reason", "path", "predicted_mean_s", "predicted_p95_s", "observed_mean_s", "completed"], ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}
