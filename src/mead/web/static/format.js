// Formatting of numbers, and creation of elements.

export const NOTHING = "–";

export function seconds(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value !== 0 && Math.abs(value) < 0.0995) return `${(value * 1000).toPrecision(3)} ms`;
  return `${value < 10 ? value.toPrecision(3) : Math.round(value).toLocaleString("en")} s`;
}

export function count(value, digits = 0) {
  if (value === null || value === undefined) return NOTHING;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${Math.round(value * 100)} %`;
}

export function cores(value) {
  return value === null || value === undefined ? NOTHING : `${+value.toFixed(2)}`;
}

// A time since the start, in minutes and seconds.
export function clock(time) {
  const whole = Math.round(time), s = String(whole % 60).padStart(2, "0"), m = Math.floor(whole / 60);
  return m < 60 ? `${m}:${s}` : `${Math.floor(m / 60)}:${String(m % 60).padStart(2, "0")}:${s}`;
}

export function given(share, replicas) {
  if (share === null || share === undefined) return NOTHING;
  return replicas > 1 ? `${replicas} × ${+share.toFixed(3)}` : `${+share.toFixed(3)}`;
}

// An element with properties and children; text is always text, never markup.
export function make(tag, properties = {}, ...children) {
  const svg = SVG.has(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = new Set(["svg", "rect", "path", "text", "g", "defs", "marker", "circle"]);

// A line below a view for errors of requests. The view keeps its data.
export function trouble() {
  const line = make("p", { class: "note bad", role: "status", hidden: true });
  line.tell = (error) => { line.hidden = !error; line.textContent = error?.message ?? ""; };
  return line;
}

export function table(headings, rows) {
  return make("div", { class: "scroll" },
    make("table", {},
      make("thead", {}, make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) =>
        make("td", {}, ...(Array.isArray(cell) ? cell : [cell]))))))));
}
