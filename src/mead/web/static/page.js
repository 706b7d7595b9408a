// The page: five views of one feed. Only the visible view is drawn.

import { Feed } from "./feed.js";
import { Now } from "./now.js";
import { Pipeline } from "./pipeline.js";
import { themed } from "./theme.js";
import { Why } from "./why.js";
import { Workload } from "./workload.js";
import { WhatIf } from "./what-if.js";

const VIEWS = { now: Now, pipeline: Pipeline, why: Why, workload: Workload, "what-if": WhatIf };
const STATES = { connecting: ["connecting", ""], live: ["live", "good"], lost: ["connection lost, reconnecting", "bad"], silent: ["silent", "bad"], finished: ["finished", ""] };

const feed = new Feed();
const tabs = [...document.querySelectorAll('[role="tab"]')];
const range = document.getElementById("range");
const views = {};
let shown = null, waiting = false;

function choose(name, focus = false) {
  for (const tab of tabs) {
    const mine = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", mine);
    tab.tabIndex = mine ? 0 : -1;
    if (mine && focus) tab.focus();
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !mine;
  }
  shown = name;
  if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
  draw();
}

function draw() {
  waiting = false;
  if (!feed.run || !shown) return;
  views[shown] ??= new VIEWS[shown](document.getElementById(shown), feed);
  views[shown].show(Number(range.value));
}

// Draw at most once per frame of the screen.
function drawSoon() {
  if (!waiting) requestAnimationFrame(draw);
  waiting = true;
}

function tell() {
  const [text, mood] = STATES[feed.state];
  const badge = document.getElementById("connection");
  badge.textContent = feed.state === "silent" ? `${text} since ${moment(feed.silentSince)}` : text;
  badge.className = `badge ${mood}`;
  drawSoon();
}

// A time of day, with the date if it is not today.
function moment(date) {
  const today = date.toDateString() === new Date().toDateString();
  return today ? date.toLocaleTimeString("en-GB") : date.toLocaleString("en-GB");
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => choose(tab.getAttribute("aria-controls")));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(tabs[(to + tabs.length) % tabs.length].getAttribute("aria-controls"), true);
  });
});
range.addEventListener("change", draw);
themed(() => Object.values(views).flatMap((view) => view.charts ?? []), { remember: true });
addEventListener("hashchange", () => location.hash.slice(1) in VIEWS && choose(location.hash.slice(1)));
feed.addEventListener("change", tell);

try {
  await feed.start();
  const { pipeline, policy, mode, engine, started } = feed.run;
  document.title = `${pipeline.name} – MEAD`;
  document.getElementById("name").textContent = pipeline.name;
  document.getElementById("facts").textContent = `policy ${policy}, mode ${mode}, ${engine}, started ${started.replace("T", " ").slice(0, 16)}`;
  choose(location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "now");
} catch (error) {
  document.getElementById("connection").textContent = error.message;
  document.getElementById("connection").className = "badge bad";
}
