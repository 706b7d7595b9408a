// Charts of several runs on one time axis.

import { boundLook, Chart, look } from "./chart.js";
import { themed } from "./theme.js";

const { time_s: times, runs, bounds } = JSON.parse(document.getElementById("numbers").textContent);
const place = document.getElementById("compared");

function chart(title, unit, pick, { required = [], step = false } = {}) {
  // Rounds may be longer than a bin. The second colour is reserved for bounds.
  const lines = runs.map((run, i) => ({ name: run.name, ...look(i ? i + 1 : 0), width: 1.8, spanGaps: true, step }));
  const drawn = new Chart({ title, unit, height: 220, lines: [...lines, ...required.map(({ name }, i) => ({ name, ...boundLook(i) }))] });
  place.append(drawn.element);
  drawn.show([times, ...runs.map(pick), ...required.map(({ bound_s }) => times.map(() => bound_s))], [times[0], Math.max(times.at(-1), times[0] + 1)]);
  return drawn;
}

const paths = [...new Set(runs.flatMap((run) => Object.keys(run.paths)))];
const charts = [
  ...paths.map((path) => chart(`Mean response time of ${path}`, "s", (run) => run.paths[path] ?? times.map(() => null), { required: bounds.filter((bound) => bound.path === path) })),
  chart("CPU cores in force", "cores", (run) => run.cores, { step: true }),
  chart("Arrivals", "tuples/s", (run) => run.rate_per_s),
];
themed(() => charts);
