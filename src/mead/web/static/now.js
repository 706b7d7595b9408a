// Now: response times with requirements and predictions, cost, and mode.

import { boundLook, Chart } from "./chart.js";
import { clock, cores, count, make, NOTHING, percent, seconds } from "./format.js";
import { timesPredicted } from "./trust.js";

const SMOOTH_S = 30;

export class Now {
  constructor(place, feed) {
    Object.assign(this, { place, feed });
    this.required = feed.run.requirements;
    this.paths = feed.asked;
    const marks = () => feed.marks();
    this.responses = this.paths.map((path) => new Chart({
      title: `Response time of ${path}`, unit: "s", height: 240, marks,
      lines: [
        { name: `mean of the last ${SMOOTH_S} s`, key: "mean_30s_s", colour: "--c0", width: 2.5, dash: [] },
        { name: "mean of a round", key: "mean_s", colour: "--c4", width: 1, dash: [4, 2], spanGaps: true },
        { name: "p95", key: "p95_s", colour: "--c3", width: 1.5, dash: [2, 3] },
        { name: "predicted mean", key: "predicted_mean_s", colour: "--c0", width: 1, dash: [6, 4], step: true },
        { name: "", key: "predicted_p95_s", colour: "--c0", dash: [], hidden: true, step: true },
        ...this.required.filter((r) => r.path === path).map((r, i) => ({ name: `required: ${r.statistic} ≤ ${r.bound_s} s`, key: `required_${r.statistic}_s`, ...boundLook(i) })),
      ],
      band: { series: [5, 4], name: "predicted, mean to p95" },
    }));
    this.cost = new Chart({ title: "CPU cores in force", unit: "cores", marks, height: 160, lines: [
      { name: "all operators", key: "cores", colour: "--c0", step: true, dash: [] },
      { name: "used", key: "used_cores", colour: "--c2", width: 1, dash: [4, 2] }] });
    this.rate = new Chart({ title: "Arrivals", unit: "tuples/s", marks, height: 160, lines: [
      { name: "at the source", key: "rate_per_s", colour: "--c0", step: true, width: 1.2, dash: [] }] });
    this.charts = [...this.responses, this.cost, this.rate];
    this.cards = make("div", { class: "cards" });
    place.replaceChildren(this.cards, ...this.responses.map((chart) => chart.element),
      make("div", { class: "two" }, this.cost.element, this.rate.element));
  }

  show(range) {
    const rounds = this.feed.within(range);
    if (!rounds.length) { this.cards.replaceChildren(make("p", { class: "empty" }, "No round yet.")); return; }
    const times = rounds.map((round) => round.time_s), window = this.feed.span(range);
    this.paths.forEach((path, i) => {
      const seen = rounds.map((round) => round.paths[path]);
      this.responses[i].show([times, smoothed(rounds, path), seen.map((p) => p.mean_s), seen.map((p) => p.p95_s),
        seen.map((p) => p.predicted_mean_s), seen.map((p) => p.predicted_p95_s ?? p.predicted_mean_s),
        ...this.required.filter((r) => r.path === path).map((r) => times.map(() => r.bound_s))], window);
    });
    this.cost.show([times, rounds.map((round) => round.cores), rounds.map(used)], window);
    this.rate.show([times, rounds.map((round) => round.rate_per_s)], window);
    this.cards.replaceChildren(...this.feed.requirements.map((r) => this.verdict(r)), this.costCard(rounds), this.arrivalsCard(), this.modeCard());
  }

  verdict(required) {
    const { used: part, broken } = required, { value, text } = verdictText(required);
    const bar = make("i", { class: broken ? "bad" : "" });
    bar.style.width = `${Math.min(100, (part ?? 0) * 100)}%`;
    return make("div", { class: "card" },
      make("h2", {}, `${required.statistic} of ${required.path}`),
      make("div", { class: "number" }, value),
      make("div", { class: "meter", role: "img", "aria-label": `${percent(part)} of the allowance used` }, bar),
      make("p", { class: `note ${broken ? "bad" : ""}` }, `${broken ? "broken: " : ""}${text}`));
  }

  costCard(rounds) {
    const last = rounds.at(-1), most = this.feed.run.pipeline.operators.reduce((sum, o) => sum + Math.max(...o.shares) * o.max_replicas, 0);
    const known = rounds.filter((round) => round.cores !== null);
    const mean = known.length ? known.reduce((sum, round) => sum + round.cores, 0) / known.length : null;
    const bar = make("i");
    bar.style.width = `${Math.min(100, ((last.cores ?? 0) / most) * 100)}%`;
    return make("div", { class: "card" }, make("h2", {}, "CPU cost"),
      make("div", { class: "number" }, `${cores(last.cores)} cores`),
      make("div", { class: "meter", role: "img", "aria-label": `${percent((last.cores ?? 0) / most)} of all cores` }, bar),
      make("p", { class: "note" }, mean === null ? `of ${cores(most)}; the cores in force are unknown` : `of ${cores(most)}; ${cores(mean)} on average in the time shown, ${percent(1 - mean / most)} saved`));
  }

  arrivalsCard() {
    const waiting = Object.values(this.feed.last.operators).reduce((sum, o) => sum + (o.backlog ?? 0), 0);
    return make("div", { class: "card" }, make("h2", {}, "Arrivals"),
      make("div", { class: "number" }, `${count(this.feed.last.rate_per_s)} /s`),
      make("p", { class: "note" }, `in the last round; ${count(waiting)} tuples wait or are in service`));
  }

  modeCard() {
    const { last, run, changes } = this.feed;
    const does = { act: "shares are changed", advise: "shares are advised, not changed", observe: "no decisions" }[run.mode] ?? "";
    return make("div", { class: "card" }, make("h2", {}, "Mode"),
      make("div", { class: "number" }, run.mode), make("p", { class: "note" }, `${does}; ${count(changes)} changes ${run.mode === "act" ? "" : "advised "}so far`),
      make("p", { class: "note" }, this.predictionNote()),
      make("p", { class: `note ${last.error ? "bad" : ""}` }, `${clock(last.time_s)}: ${last.error ? `failed in ${last.error}` : last.kind}`));
  }

  // Observed over predicted response times, and the caution that follows.
  predictionNote() {
    const found = this.paths.map((path) => timesPredicted(this.feed.rounds, path).at(-1)).filter((times) => times !== null && times !== undefined);
    const caution = this.feed.last.caution > 1 ? `; bounds are tightened ${+this.feed.last.caution.toPrecision(2)} ×` : "";
    return found.length ? `response times are ${found.map((times) => `${+times.toPrecision(2)} ×`).join(", ")} the predicted ones${caution}` : `no predictions to compare yet${caution}`;
  }
}

function used(round) {
  const operators = Object.values(round.operators);
  return round.interval_s > 0 && operators.every((o) => o.busy_s !== null) ? operators.reduce((sum, o) => sum + o.busy_s, 0) / round.interval_s : null;
}

// Mean over the tuples of the last half minute: rounds with many tuples count more.
function smoothed(rounds, path) {
  let from = 0, sum = 0, tuples = 0;
  return rounds.map((round) => {
    sum += round.paths[path].response_sum_s;
    tuples += round.paths[path].completed;
    while (rounds[from].time_s <= round.time_s - SMOOTH_S) {
      sum -= rounds[from].paths[path].response_sum_s;
      tuples -= rounds[from].paths[path].completed;
      from += 1;
    }
    return tuples > 0 ? sum / tuples : null;
  });
}

// The verdict on a requirement in words.
function verdictText({ statistic, bound_s, window_s, completed, response_s, late, used }) {
  // A history counts late tuples for one bound per path.
  if (used === null) return { value: NOTHING, text: completed ? "late tuples were not counted" : "no tuple has left the path" };
  if (statistic === "mean") return { value: seconds(response_s), text: `in the last ${window_s} s; required ${seconds(bound_s)}` };
  const allowed = 100 - Number(statistic.slice(1));
  return { value: `${(late * 100).toFixed(1)} % late`, text: `beyond ${seconds(bound_s)} in the last ${window_s} s; ${+allowed.toFixed(2)} % allowed` };
}
