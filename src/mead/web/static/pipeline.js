// Pipeline: the graph of operators, each with its rate, load, share and planned share.

import { Chart, look } from "./chart.js";
import { cores, count, given, make, NOTHING, percent, table } from "./format.js";

const BOX = { width: 214, height: 118, gapX: 74, gapY: 26 };
const RECENT = 10;

export class Pipeline {
  constructor(place, feed) {
    Object.assign(this, { place, feed });
    const { operators } = feed.run.pipeline;
    this.names = operators.map((operator) => operator.name);
    const marks = () => feed.marks();
    const lines = (step) => this.names.map((name, i) => ({ name, ...look(i), step, width: 1.6 }));
    this.shares = new Chart({ title: "CPU cores of each operator", unit: "cores", marks, height: 170, lines: lines(true) });
    this.backlog = new Chart({ title: "Tuples waiting or in service", unit: "tuples", marks, height: 170, lines: lines(true) });
    this.utilization = new Chart({ title: "Utilization", unit: "fraction of the cores", marks, height: 170, lines: lines(false) });
    this.throttled = new Chart({ title: "Throttling", unit: "cores", marks, height: 170, lines: lines(false) });
    this.charts = [this.shares, this.backlog, this.utilization, this.throttled];
    this.drawing = make("div", { class: "card scroll" });
    this.numbers = make("div", { class: "card" });
    place.replaceChildren(this.drawing, this.numbers, make("div", { class: "two" }, ...this.charts.map((chart) => chart.element)));
  }

  show(range) {
    const rounds = this.feed.within(range);
    if (!rounds.length) return;
    const times = rounds.map((round) => round.time_s), window = this.feed.span(range);
    const of = (pick) => [times, ...this.names.map((name) => rounds.map((round) => pick(round.operators[name])))];
    this.shares.show(of((o) => (o.share === null ? null : o.share * o.replicas)), window);
    this.backlog.show(of((o) => o.backlog), window);
    this.utilization.show(of((o) => o.utilization), window);
    this.throttled.show(of((o) => o.throttled), window);
    const now = Object.fromEntries(this.names.map((name) => [name, recent(rounds.slice(-RECENT), name)]));
    this.drawing.replaceChildren(this.graph(now));
    this.numbers.replaceChildren(table(["operator", "tuples/s", "utilization", "waiting", "share now", "planned", "throttled"],
      this.names.map((name) => {
        const o = now[name];
        return [name, count(o.rate_per_s), percent(o.utilization), count(o.backlog), given(o.share, o.replicas), given(o.planned_share, o.planned_replicas), o.throttled === null ? NOTHING : `${cores(o.throttled)} cores`];
      })), make("p", { class: "note" }, `Rates, utilization and throttling are of the last ${RECENT} rounds.`));
  }

  graph(now) {
    const { operators, edges } = this.feed.run.pipeline;
    const layers = layered(this.feed.run.pipeline);
    const columns = Math.max(...Object.values(layers)) + 1;
    const inColumn = Array.from({ length: columns }, (_, c) => this.names.filter((name) => layers[name] === c));
    const rows = Math.max(...inColumn.map((names) => names.length));
    const height = rows * (BOX.height + BOX.gapY) + 6, width = columns * (BOX.width + BOX.gapX) - BOX.gapX + 8;
    const at = {};
    inColumn.forEach((names, c) => names.forEach((name, r) => {
      const spare = (rows - names.length) * (BOX.height + BOX.gapY) / 2;
      at[name] = { x: 4 + c * (BOX.width + BOX.gapX), y: 4 + spare + r * (BOX.height + BOX.gapY) };
    }));
    const svg = make("svg", { class: "dag", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${operators.length} operators; the table below has the numbers` },
      make("defs", {}, make("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, make("path", { d: "M0 0L8 4L0 8z", fill: "var(--quiet)" }))));
    svg.style.maxWidth = `${width * 1.2}px`;
    svg.style.margin = "0 auto";
    svg.style.minWidth = `${Math.min(width, 560)}px`;
    for (const edge of edges) {
      const a = at[edge.source], b = at[edge.target];
      const x1 = a.x + BOX.width, y1 = a.y + BOX.height / 2, x2 = b.x - 3, y2 = b.y + BOX.height / 2, mid = (x1 + x2) / 2;
      const back = x2 <= x1;
      const way = back ? `M${a.x + BOX.width / 2} ${a.y + BOX.height}C${a.x + BOX.width / 2} ${height} ${b.x + BOX.width / 2} ${height} ${b.x + BOX.width / 2} ${b.y + BOX.height}` : `M${x1} ${y1}C${mid} ${y1} ${mid} ${y2} ${x2} ${y2}`;
      svg.append(make("path", { class: "edge", d: way, "marker-end": "url(#arrow)", "stroke-dasharray": back ? "5 4" : null }));
      if (edge.selectivity !== 1) svg.append(make("text", { class: "quiet", x: mid, y: (y1 + y2) / 2 - 6, "text-anchor": "middle" }, `× ${edge.selectivity}`));
    }
    for (const name of this.names) svg.append(this.box(name, at[name], now[name]));
    return svg;
  }

  box(name, { x, y }, o) {
    const inner = BOX.width - 24, part = Math.min(1, Math.max(0, o.utilization ?? 0)), busy = part > 0.9;
    const moves = given(o.planned_share, o.planned_replicas) !== given(o.share, o.replicas);
    return make("g", { transform: `translate(${x} ${y})` },
      make("rect", { class: "box", width: BOX.width, height: BOX.height, rx: 9 }),
      make("text", { class: "name", x: 12, y: 22 }, name),
      make("text", { class: "quiet", x: BOX.width - 12, y: 22, "text-anchor": "end" }, `${count(o.rate_per_s)} tuples/s`),
      make("rect", { class: "empty", x: 12, y: 33, width: inner, height: 7, rx: 3.5 }),
      make("rect", { class: busy ? "full bad" : "full", x: 12, y: 33, width: inner * part, height: 7, rx: 3.5 }),
      make("text", { class: "quiet", x: 12, y: 56 }, `${percent(o.utilization)} utilized`),
      make("text", { class: "quiet", x: BOX.width - 12, y: 56, "text-anchor": "end" }, `${count(o.backlog)} waiting`),
      make("text", { x: 12, y: 80 }, `share ${given(o.share, o.replicas)}${moves ? ` → ${given(o.planned_share, o.planned_replicas)}` : ""}`),
      make("text", { class: o.throttled > 0.05 ? "bad" : "quiet", x: 12, y: 102 }, heldBack(o.throttled)));
  }
}

// A dash if throttling was not measured.
function heldBack(throttled) {
  if (throttled === null) return `throttled ${NOTHING}`;
  return throttled > 0.005 ? `throttled ${cores(throttled)} cores` : "not throttled";
}

// Means over some rounds, with the shares of the last one.
function recent(rounds, name) {
  const seen = rounds.map((round) => round.operators[name]), last = seen.at(-1);
  const mean = (key) => {
    const values = seen.map((o) => o[key]).filter((value) => value !== null);
    return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  };
  return { ...last, rate_per_s: mean("rate_per_s"), utilization: mean("utilization"), throttled: mean("throttled") };
}

// The column of each operator: the longest way to it, without edges that lead back.
function layered({ order, edges }) {
  const place = Object.fromEntries(order.map((name, i) => [name, i])), layers = Object.fromEntries(order.map((name) => [name, 0]));
  for (const name of order) {
    for (const edge of edges) {
      if (edge.source === name && place[edge.target] > place[name]) layers[edge.target] = Math.max(layers[edge.target], layers[name] + 1);
    }
  }
  return layers;
}
