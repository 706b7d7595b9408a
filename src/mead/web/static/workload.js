// Workload: the arrivals, the fitted model, and a test for drift.

import { Chart } from "./chart.js";
import { count, make, NOTHING, table, trouble } from "./format.js";

const REFRESH_MS = 20000, FIRST_MS = 3000;

export class Workload {
  constructor(place, feed) {
    Object.assign(this, { place, feed, source: feed.run.pipeline.order[0], asked: -REFRESH_MS, wait: FIRST_MS });
    const marks = () => feed.marks();
    this.counts = new Chart({ title: "Arrivals at the source", unit: "tuples in a round", marks, height: 190, lines: [{ name: "arrivals", key: "arrived", colour: "--c0", step: true, width: 1.2, dash: [] }] });
    const both = [{ name: "arrivals", key: "trace", colour: "--c0", points: true, dash: [] }, { name: "fitted MAP", key: "fitted", colour: "--c1", points: true, dash: [6, 4] }];
    this.idc = new Chart({ title: "Index of dispersion of counts", x: "span_s", time: false, logX: true, logY: true, height: 230, xLabel: "length of the interval in s; Poisson: 1", lines: both });
    this.acf = new Chart({ title: "Autocorrelation of inter-arrival times", x: "lag", time: false, logX: true, height: 230, xLabel: "lag; Poisson: 0", lines: both });
    this.charts = [this.counts, this.idc, this.acf];
    this.words = make("div", { class: "card" }, make("p", { class: "note" }, "Fitting the last arrivals …"));
    this.trouble = trouble();
    place.replaceChildren(this.counts.element, make("div", { class: "two" }, this.idc.element, this.acf.element), this.words, this.trouble);
  }

  show(range) {
    const rounds = this.feed.within(range);
    this.counts.show([rounds.map((round) => round.time_s), rounds.map((round) => round.operators[this.source].arrived)], this.feed.span(range));
    if (performance.now() - this.asked > this.wait) this.ask();
  }

  async ask() {
    this.asked = Infinity; // one question at a time
    try {
      this.tell(await this.feed.ask("/api/workload"));
      this.trouble.tell(null);
    } catch (error) {
      this.trouble.tell(error);
      if (!this.told) this.words.hidden = true; // nothing is being fitted
    } finally {
      this.asked = performance.now();
    }
  }

  tell(found) {
    this.told = true;
    this.words.hidden = false;
    this.wait = found.trace ? REFRESH_MS : FIRST_MS;
    if (!found.trace) {
      // A history has counts of tuples but no arrivals.
      const history = found.iats === 0 && this.feed.rounds.some((round) => round.operators[this.source].arrived > 0);
      this.words.replaceChildren(make("p", { class: "note" }, history ? "A history has no single arrivals. Add a trace: mead serve RUN --trace TRACE." : found.note));
      return;
    }
    const { trace, fitted, drift, model } = found;
    const columns = (key) => {
      const at = Object.keys(trace[key]).map(Number).sort((a, b) => a - b), value = (from, x) => from?.[key][Object.keys(from[key]).find((k) => Number(k) === x)] ?? null;
      const positive = (v) => (key === "idc" && !(v > 0) ? null : v);
      return [at, at.map((x) => positive(value(trace, x))), at.map((x) => positive(value(fitted, x)))];
    };
    this.idc.show(columns("idc"));
    this.acf.show(columns("acf"));
    const row = (name, of) => [name, of ? count(of.rate_per_s, 1) : NOTHING, of ? count(of.scv, 2) : NOTHING, of?.idc_limit === undefined ? NOTHING : count(of.idc_limit, 1)];
    this.words.replaceChildren(...[
      make("h2", {}, "Arrivals and fitted model"),
      table(["", "rate in 1/s", "SCV", "limit of the index of dispersion"], [row(`last ${count(found.iats)} arrivals, ${count(found.span_s)} s`, trace), row(model ? `${model.family}, ${model.states} states` : "no model", fitted)]),
      drift ? make("p", {}, make("b", { class: drift.drifted ? "bad" : "good" }, drift.drifted ? "Drift. " : "No drift. "),
        `Rate of the newer half ${count(drift.younger_per_s, 1)}/s, of the older half ${count(drift.older_per_s, 1)}/s: ${Math.abs(drift.deviations).toFixed(1)} standard deviations ${drift.deviations < 0 ? "down" : "up"}, given the bursts of the model.`) : null,
      found.note ? make("p", { class: "note" }, found.note) : null].filter(Boolean));
  }
}
