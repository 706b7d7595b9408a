// What-if: sliders for arrivals, requirement and shares, with predictions of the server's models.

import { Chart } from "./chart.js";
import { cores, count, given, make, NOTHING, percent, seconds, table, trouble } from "./format.js";

const WAIT_MS = 250;

export class WhatIf {
  constructor(place, feed) {
    Object.assign(this, { place, feed, sliders: [], blind: false, turn: 0 });
    this.answer = make("div", {});
    this.trouble = trouble();
    this.frontier = new Chart({ title: "Cost of a shorter bound", unit: "cores", x: "bound_s", time: false, logX: true, height: 250, xLabel: "bound of the first requirement, s", lines: [
      { name: "cheapest allocation that meets it", key: "cores", colour: "--c0", points: true, dash: [] },
      { name: "no allocation meets it; this comes closest", key: "cores_closest", colour: "--c1", points: true, dash: [2, 3] },
      { name: "as set here", key: "cores_asked", colour: "--c2", points: true, width: 0, dash: [] }] });
    this.charts = [this.frontier];
    this.settings = make("div", {}, make("p", { class: "note" }, "Loading the current state …"));
    const form = make("form", { class: "card", onsubmit: (event) => event.preventDefault(), oninput: () => this.soon() },
      this.settings, make("button", { type: "button", onclick: () => this.begin() }, "Current state"));
    place.replaceChildren(make("div", { class: "ask" }, form, make("div", {}, this.answer, this.frontier.element, this.trouble)));
    this.begin();
  }

  show() {
    this.frontier.fit(); // it may have been hidden during the answer
    if (this.blind && this.feed.last) this.begin(); // opened before the first round
  }

  // Set the sliders to the current state of the run.
  async begin() {
    const turn = ++this.turn;
    this.blind = !this.feed.run.rounds && !this.feed.last;
    let now;
    try {
      now = await this.feed.ask("/api/now");
    } catch (error) {
      this.trouble.tell(error);
      if (!this.sliders.length) this.settings.replaceChildren(); // nothing is loading
      return;
    }
    if (turn !== this.turn) return;
    const { pipeline, requirements } = this.feed.run;
    this.sliders = [
      scale("rate_per_s", "Arrival rate", now.rate_per_s, Math.max(0.01, now.rate_per_s / 10), Math.min(1e6, now.rate_per_s * 10), (v) => `${count(v, v < 10 ? 2 : 0)} /s`),
      scale("idc", "Burstiness (index of dispersion)", Math.max(1, now.idc), 1, 5000, (v) => (v < 1.05 ? "1, Poisson" : count(v, v < 10 ? 1 : 0))),
      ...(requirements.length ? [scale("bound_factor", "Requirement", 1, 0.1, 10, (v) => requirements.map((r) => `${r.statistic} ≤ ${seconds(r.bound_s * v)}`).join(", "))] : []),
      ...pipeline.operators.flatMap((o) => [
        levels(`share.${o.name}`, `Share of ${o.name}`, o.shares, now.allocation[o.name].share),
        ...(o.max_replicas > o.min_replicas ? [levels(`replicas.${o.name}`, `Replicas of ${o.name}`, whole(o.min_replicas, o.max_replicas), now.allocation[o.name].replicas)] : [])]),
    ];
    this.settings.replaceChildren(...this.sliders.map((slider) => slider.element));
    this.ask();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), WAIT_MS);
  }

  async ask() {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort, query = new URLSearchParams(this.sliders.map((s) => [s.key, s.value()]));
    this.answer.classList.add("busy");
    this.frontier.element.classList.add("busy");
    try {
      const predicted = await this.feed.ask(`/api/what-if?${query}`, signal);
      this.tell(predicted);
      this.tellFrontier(await this.feed.ask(`/api/frontier?${query}`, signal), predicted);
      this.trouble.tell(null);
    } catch (error) {
      if (error.name !== "AbortError") this.trouble.tell(error);
    } finally {
      if (!signal.aborted) [this.answer, this.frontier.element].forEach((element) => element.classList.remove("busy"));
    }
  }

  tell(answer) {
    const overloaded = Object.entries(answer.operators).filter(([, o]) => o.utilization >= 1).map(([name]) => name);
    this.answer.replaceChildren(
      make("div", { class: "cards" },
        make("div", { class: "card" }, make("h2", {}, "Requirements"),
          make("div", { class: `number ${answer.met ? "good" : "bad"}`, id: "what-if-verdict" }, answer.met ? "met" : overloaded.length ? "overloaded" : "broken"),
          ...answer.requirements.map((r) => make("p", { class: "note" }, `${r.statistic} of ${r.path}: ${r.predicted_s === null ? "grows without bound" : seconds(r.predicted_s)}, required ${seconds(r.bound_s)}`))),
        make("div", { class: "card" }, make("h2", {}, "CPU cost"), make("div", { class: "number" }, `${cores(answer.cores)} cores`),
          make("p", { class: "note" }, Object.entries(answer.operators).map(([name, o]) => `${name} ${percent(o.utilization)} utilized`).join(", ")))),
      make("div", { class: "card" }, make("h2", {}, "Predicted response times"),
        table(["path", "mean", "p50", "p95", "p99"], Object.entries(answer.paths).map(([path, p]) => (p.stable
          ? [path, seconds(p.mean_s), seconds(p.p50_s), seconds(p.p95_s), seconds(p.p99_s)]
          : [path, make("span", { class: "bad" }, "overloaded"), NOTHING, NOTHING, NOTHING]))),
        make("p", { class: "note" }, "Predicted by the queueing models of the policy map, with the demands learned in this run.")));
  }

  tellFrontier({ points, search }, predicted) {
    this.frontier.show([
      points.map((point) => point.bounds_s[0]),
      points.map((point) => (point.met ? point.cores : null)),
      points.map((point) => (point.met ? null : point.cores)),
      points.map((point) => (point.factor === 1 ? predicted.cores : null))]);
    const best = points.find((point) => point.factor === 1);
    this.note ??= this.frontier.element.appendChild(make("p", { class: "note", id: "what-if-cheapest" }));
    this.note.textContent = best ? `${best.met ? "The cheapest that meets the requirement" : "No allocation meets it; closest"}: ${Object.entries(best.allocation).map(([name, g]) => `${name} ${given(g.share, g.replicas)}`).join(", ")} (${cores(best.cores)} cores, ${search} search).` : "This pipeline has no requirements.";
  }
}

// A slider on a logarithmic scale. Until it is moved, it keeps its exact initial value.
function scale(key, label, start, least, most, shown) {
  const steps = 200, at = Math.log(Math.min(most, Math.max(least, start)) / least) / Math.log(most / least);
  const input = make("input", { type: "range", id: key, min: 0, max: steps, step: 1, value: Math.round(at * steps) });
  let moved = false;
  input.addEventListener("input", () => { moved = true; });
  return slider(key, label, input, () => (moved ? least * (most / least) ** (Number(input.value) / steps) : start), shown);
}

// A slider over a list of values.
function levels(key, label, values, start) {
  const input = make("input", { type: "range", id: key, min: 0, max: values.length - 1, step: 1, value: Math.max(0, values.indexOf(start)) });
  return slider(key, label, input, () => values[Number(input.value)], (v) => `${+v.toFixed(3)}`);
}

function slider(key, label, input, value, shown) {
  const output = make("output", { for: key });
  const tell = () => { output.textContent = shown(value()); input.setAttribute("aria-valuetext", output.textContent); };
  input.addEventListener("input", tell);
  tell();
  return { key, value, element: make("div", { class: "slider" }, make("label", { for: key }, label, output), input) };
}

function whole(from, to) {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
