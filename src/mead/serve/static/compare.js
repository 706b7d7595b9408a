// Several runs on one time axis.

import { Chart, palette } from "./chart.js";
import { themed } from "./theme.js";

const { time_s: times, runs, bounds } = JSON.parse(document.getElementById("numbers").textContent);
const place = document.getElementById("compared");

function chart(title, unit, pick, required = []) {
  const lines = runs.map((run, i) => ({ name: run.name, colour: palette(i), width: 1.8, spanGaps: true })); // rounds may be longer than a bin
  const drawn = new Chart({ title, unit, height: 220, lines: [...lines, ...required.map(({ name }) => ({ name, colour: "--c1", dash: [10, 4], width: 2 }))] });
  place.append(drawn.element);
  drawn.show([times, ...runs.map(pick), ...required.map(({ bound_s }) => times.map(() => bound_s))], [times[0], Math.max(times.at(-1), times[0] + 1)]);
  return drawn;
}

const paths = [...new Set(runs.flatMap((run) => Object.keys(run.paths)))];
const charts = [
  ...paths.map((path) => chart(`Mean response time of ${path}`, "s", (run) => run.paths[path] ?? times.map(() => null), bounds.filter((bound) => bound.path === path))),
  chart("CPU cores in force", "cores", (run) => run.cores),
  chart("Arrivals", "tuples/s", (run) => run.rate_per_s),
];
themed(() => charts);
