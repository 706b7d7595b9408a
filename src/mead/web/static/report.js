// A report: views of the page, with the data in the file itself.

import { Feed } from "./feed.js";
import { Now } from "./now.js";
import { Pipeline } from "./pipeline.js";
import { themed } from "./theme.js";
import { Why } from "./why.js";

class KeptRun extends Feed {
  constructor({ run, rounds, decisions }) {
    super();
    this.begin(run);
    Object.assign(this, { kept: decisions, rounds: unpacked(rounds), state: "finished" });
  }
}

// Rounds from columns.
function unpacked({ operators, paths, ...columns }) {
  const at = (named, i) => Object.fromEntries(Object.entries(named).map(([key, values]) => [key, values[i]]));
  const each = (groups, i) => Object.fromEntries(Object.entries(groups).map(([name, named]) => [name, at(named, i)]));
  return columns.time_s.map((_, i) => ({ ...at(columns, i), operators: each(operators, i), paths: each(paths, i) }));
}

const feed = new KeptRun(JSON.parse(document.getElementById("numbers").textContent));
// A run without rounds has no elements for views.
const views = Object.entries({ now: Now, pipeline: Pipeline, why: Why }).filter(([place]) => document.getElementById(place)).map(([place, View]) => new View(document.getElementById(place), feed));
for (const view of views) view.show(0);
themed(() => views.flatMap((view) => view.charts));
