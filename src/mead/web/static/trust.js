// Observed over predicted response times, and how many times tighter the planner takes the bounds.

import { Chart, look } from "./chart.js";

const HELD_S = 60;

export class Trust {
  constructor(feed, paths) {
    Object.assign(this, { feed, paths });
    this.chart = new Chart({ title: "Observed over predicted mean response time", unit: `of the last ${HELD_S} s`, marks: () => feed.marks(), height: 170, lines: [
      ...paths.map((path, i) => ({ name: path, key: `${path} times_predicted`, ...look(2 * i), width: 1.5, spanGaps: true })),
      { name: "as predicted", key: "as_predicted", colour: "--quiet", dash: [1, 6], width: 1 },
      { name: "factor by which bounds are tightened", key: "caution", colour: "--c1", dash: [14, 4], width: 2, step: true }] });
  }

  show(range) {
    const rounds = this.feed.within(range);
    if (!rounds.length) return;
    this.chart.show([rounds.map((round) => round.time_s), ...this.paths.map((path) => timesPredicted(rounds, path)),
      rounds.map(() => 1), rounds.map((round) => round.caution)], this.feed.span(range));
  }
}

// Every tuple counts against the prediction for the allocation in force when it left, over the minute before each round.
export function timesPredicted(rounds, path) {
  const held = rounds.map((round, i) => {
    const expected = rounds[i - 1]?.paths[path].expected_mean_s;
    return expected ? [round.paths[path].response_sum_s, expected * round.paths[path].completed] : [0, 0];
  });
  let from = 0, seen = 0, predicted = 0;
  return rounds.map((round, i) => {
    seen += held[i][0];
    predicted += held[i][1];
    for (; rounds[from].time_s <= round.time_s - HELD_S; from += 1) {
      seen -= held[from][0];
      predicted -= held[from][1];
    }
    return predicted > 1e-12 ? seen / predicted : null;
  });
}
