// Charts with a common style, time axis and cursor, marks at changes, and downloads.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { csv, save } from "./download.js";
import { make, clock } from "./format.js";

const COLOURS = 6;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 3]];
const DASHES_OF_BOUNDS = [[14, 4], [14, 4, 2, 4], [14, 4, 2, 4, 2, 4]];
const TICK = 8, RING = 3;
const ONE_CURSOR = uPlot.sync("time");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The style of the i-th line: 36 styles, and six neighbours differ in colour and dash.
export function look(i) {
  return { colour: `--c${i % COLOURS}`, dash: DASHES[(i + Math.floor(i / COLOURS)) % DASHES.length] };
}

// The style of the i-th bound of a path.
export function boundLook(i) {
  return { colour: "--c1", dash: DASHES_OF_BOUNDS[i % DASHES_OF_BOUNDS.length], width: 2 };
}

// A figure with a chart of lines. `lines`: [{name, colour, dash, step, width, points}], `band`: [upper, lower] line.
export class Chart {
  constructor({ title, unit = "", lines, band = null, marks = () => [], time = true, x = "time_s", logX = false, logY = false, height = 190, xLabel = null }) {
    Object.assign(this, { title, unit, lines, band, marks, time, x, logX, logY, height, xLabel });
    this.data = [[], ...lines.map(() => [])];
    this.place = make("div", { class: "plot", tabindex: 0, onkeydown: (event) => this.walk(event), onblur: () => this.point(null) });
    this.keys = make("ul", { class: "keys" });
    this.said = make("p", { class: "unseen", role: "status" });
    this.element = make("figure", { class: "chart" },
      make("figcaption", {},
        make("b", {}, unit ? `${title}, ${unit}` : title),
        make("span", { class: "get" }, "Download ",
          make("button", { type: "button", onclick: () => this.download("csv"), "aria-label": `${title} as CSV` }, "CSV"), " ",
          make("button", { type: "button", onclick: () => this.download("json"), "aria-label": `${title} as JSON` }, "JSON"))),
      this.keys, this.place, this.said);
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(this.place);
  }

  // Columns: x, then one for each line; null where there is no value. `window`: the part of the time axis to show.
  show(data, window = null) {
    this.data = data;
    this.window = window;
    if (this.plot) this.plot.setData(data);
    else this.draw();
    this.name();
    this.describe();
  }

  draw() {
    this.plot?.destroy();
    this.plot = null;
    const width = this.place.clientWidth;
    if (!width) return; // hidden; drawn when it is shown
    this.plot = new uPlot(this.options(width), this.data, this.place);
  }

  // Names of the lines that have a value, each with a sample of its line.
  name() {
    const seen = (i) => this.data[i].some((value) => value !== null && value !== undefined);
    const sample = (line) => (line.width === 0
      ? make("circle", { cx: 11, cy: 5, r: 4, fill: `var(${line.colour})` })
      : make("path", { d: "M0 5H22", stroke: `var(${line.colour})`, "stroke-width": line.width ?? 2, "stroke-dasharray": line.dash.join(" ") }));
    const key = (drawn, name) => make("li", {}, make("svg", { width: 22, height: 10, "aria-hidden": "true" }, drawn), name);
    const lines = this.lines.flatMap((line, i) => (line.name && seen(i + 1) ? [key(sample(line), line.name)] : []));
    const band = this.band && seen(this.band.series[0]) ? [key(make("rect", { width: 22, height: 10, fill: "var(--band)" }), this.band.name)] : [];
    const marks = this.marks();
    const ticks = marks.some(({ applied }) => applied) ? [key(make("rect", { class: "tick", x: 10, width: 1.5, height: TICK, fill: "var(--mark)" }), "change")] : [];
    const rings = marks.some(({ applied }) => !applied) ? [key(make("circle", { class: "ring", cx: 11, cy: 5, r: RING, fill: "none", stroke: "var(--mark)" }), "change that was planned, not applied")] : [];
    this.keys.replaceChildren(...lines, ...band, ...ticks, ...rings);
  }

  options(width) {
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const plain = (u, splits) => splits.map((v) => (v === null ? "" : Math.abs(v) >= 10000 ? `${+(v / 1000).toPrecision(3)}k` : `${+v.toPrecision(3)}`));
    return {
      width, height: this.height, legend: { show: false }, padding: [8, 18, 0, 0],
      cursor: { y: false, points: { size: 6 }, ...(this.time ? { sync: { key: ONE_CURSOR.key, scales: ["x", null] } } : {}) },
      scales: {
        x: this.logX ? { time: false, distr: 3 } : { time: false, range: (u, low, high) => this.window ?? [low ?? 0, high ?? 1] },
        y: this.logY ? { distr: 3 } : { range: (u, low, high) => [Math.min(0, low ?? 0), (high ?? 1) > 0 ? (high ?? 1) * 1.08 : 1] },
      },
      axes: [
        { ...axis, values: this.time ? (u, splits) => splits.map(clock) : plain, size: 28, label: this.xLabel ?? undefined, labelSize: 20, labelGap: 0, labelFont: "12px system-ui, sans-serif" },
        { ...axis, values: plain, size: 52 },
      ],
      bands: this.band ? [{ series: this.band.series, fill: colour("--band") }] : [],
      series: [{}, ...this.lines.map((line) => ({
        label: line.name, stroke: line.hidden ? "transparent" : colour(line.colour), width: line.width ?? 2, dash: line.dash,
        points: { show: line.points ?? false, size: 6, fill: colour(line.colour) }, spanGaps: line.spanGaps ?? false,
        paths: line.step ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      plugins: [this.marking(), this.tip()],
    };
  }

  // A tick for a change, a ring for one that was only planned; drawn over the grid.
  marking() {
    return { hooks: { drawAxes: (u) => {
      const marks = this.marks();
      if (!marks.length) return;
      const { ctx } = u, unit = devicePixelRatio;
      ctx.save();
      ctx.strokeStyle = colour("--mark");
      ctx.lineWidth = unit;
      ctx.setLineDash([]);
      ctx.beginPath();
      for (const { at, applied } of marks) {
        const x = Math.round(u.valToPos(at, "x", true)) + (unit % 2) / 2; // in the middle of a pixel: sharp
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
        if (applied) {
          ctx.moveTo(x, u.bbox.top);
          ctx.lineTo(x, u.bbox.top + TICK * unit);
        } else {
          ctx.moveTo(x + RING * unit, u.bbox.top + TICK * unit / 2);
          ctx.arc(x, u.bbox.top + TICK * unit / 2, RING * unit, 0, 2 * Math.PI);
        }
      }
      ctx.stroke();
      ctx.restore();
    } } };
  }

  // The numbers under the cursor, at the chart in focus. All charts share the cursor.
  tip() {
    const tip = make("div", { class: "tip", hidden: true });
    return { hooks: {
      init: (u) => u.over.append(tip),
      setCursor: (u) => {
        const { idx, left } = u.cursor, here = u.over.matches(":hover") || this.place.matches(":focus-visible");
        if (idx === null || idx === undefined || left < 0 || !here) { tip.hidden = true; return; }
        tip.replaceChildren(...this.valuesAt(idx).map((text) => make("div", {}, text)));
        tip.hidden = false;
        const wide = u.over.clientWidth, beside = left + 12 + tip.offsetWidth > wide ? left - 12 - tip.offsetWidth : left + 12;
        tip.style.left = `${Math.max(0, beside)}px`;
        tip.style.top = "4px";
      },
    } };
  }

  // The position on the axis, and the values of all lines there.
  valuesAt(idx) {
    const at = this.data[0][idx];
    const values = this.lines.map((line, i) => [line.name, this.data[i + 1][idx]]).filter(([name, value]) => name && value !== null && value !== undefined);
    return [this.time ? clock(at) : `${+at.toPrecision(3)}`, ...values.map(([name, value]) => `${name}: ${+value.toPrecision(3)}`)];
  }

  // Arrow keys move the cursor, starting from the last value; Escape hides it.
  walk(event) {
    const last = this.data[0].length - 1, at = this.plot?.cursor.idx ?? last + 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, Escape: null }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.point(to === null ? null : Math.min(last, Math.max(0, to)));
  }

  // Move or hide the cursor of all charts, and announce the values.
  point(idx) {
    this.plot?.setCursor({ left: idx === null ? -10 : this.plot.valToPos(this.data[0][idx], "x"), top: 0 }, true, true);
    this.said.textContent = idx === null ? "" : this.valuesAt(idx).join("; ");
  }

  // For screen readers: the last values in words.
  describe() {
    const last = this.lines.map((line, i) => [line.name, this.data[i + 1].findLast?.((v) => v !== null && v !== undefined)]);
    const words = last.filter(([name, value]) => name && value !== undefined).map(([name, value]) => `${name} ${+value.toPrecision(3)}`);
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", `${this.title}, ${this.unit}. Last values: ${words.join("; ") || "none"}`);
  }

  fit() {
    const width = this.place.clientWidth;
    if (!width) return;
    if (!this.plot) this.draw();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.height });
  }

  download(kind) {
    const names = [this.x, ...this.lines.map((line) => line.key ?? line.name)];
    const rows = this.data[0].map((_, i) => this.data.map((column) => column[i] ?? null));
    const text = kind === "csv" ? csv([names, ...rows]) : JSON.stringify(rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]]))), null, 1);
    save(`${this.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.${kind}`, text, kind === "csv" ? "text/csv" : "application/json");
  }
}
