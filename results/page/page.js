"use strict";
// What all pages share: the numbers, which designs are pinned, looked at, and filtered away.
const D = JSON.parse(document.getElementById("data").textContent);
const COLUMNS = D.columns || [];
const POINTS = D.status ? D.status.codes.length : 0;
const PALETTE = ["#0b5cad", "#d55e00", "#009e73", "#cc79a7", "#b07c00", "#3a8fc4", "#000000", "#7a5195"];
const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "hexagon", "bowtie"];
const SYMBOLS = { optimal: "circle", feasible: "diamond", evaluated: "circle", infeasible: "x-thin-open",
  unbounded: "triangle-up-open", error: "square-x-open", "not computed": "circle-open" };
const CONFIG = { displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
// A picture is kept under the title of the page and its own name, twice as fine as on a screen
const PAGE_NAME = document.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
const config = (box) => ({ ...CONFIG, toImageButtonOptions: { filename: [[...PAGE_NAME].slice(0, 60).join(""), box.id].filter(Boolean).join("-"), scale: 2 } });
// Of lines on white, where the pale yellow end of Cividis is hardly seen; pictures have the same (SHADES in canvas.py)
const SHADES = [[0, "#00204c"], [0.5, "#6b6d74"], [1, "#b07c00"]];
// beside a map and below the buttons, which would cover its first numbers
const BAR = { len: 0.6, y: 0, yanchor: "bottom" };
const TICK_LETTERS = 24, LEGEND_LETTERS = 40, CELL_LETTERS = 38;
const pinned = new Set();
const ranges = new Map();  // place of a column -> [[low, high, whether a design without the number is inside, too], ...], null: open
const listeners = [];      // what is drawn again when pins, ranges or the design looked at change
let current = -1;          // the design that was looked at last

// axes may have any name, also one that every object has something under
if (D.rows) D.rows = Object.assign(Object.create(null), D.rows);
for (const c of COLUMNS) if (c.values.length === 1) c.values = new Array(POINTS).fill(c.values[0]);
for (const c of COLUMNS) c.brief = apart(c.labels, TICK_LETTERS);
const status = (i) => D.status.texts[D.status.codes[i]];
const limits = (i) => D.limits.texts[D.limits.codes[i]];
const answered = (i) => ["optimal", "feasible", "evaluated"].includes(status(i));
// Nothing is decided: points are within the limits or not, and none has a design
const evaluates = () => D.status.texts.includes("evaluated") || !COLUMNS.some(({ role }) => role === "decided");

// Nothing from a file may become markup: text goes through textContent, and pictures get their brackets escaped.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
// what is written between braces means something in templates of pictures
const template = (text) => plain(text).replace(/%\{/g, "% {");

// Names too long for their place lose their middle, or what they have in common, so that those that differ still do
function apart(names, most) {
  const letters = names.map((name) => [...name]), head = most >> 1;
  const written = (start, rest) => `${start.slice(0, head).join("").trimEnd()}…${rest.join("").trimStart()}`;
  const found = letters.map((all, k) => (all.length <= most ? names[k] : written(all, all.slice(head + 1 - most))));
  const cutAlike = () => { const alike = new Map(); letters.forEach((all, k) => alike.set(found[k], (alike.get(found[k]) || []).concat([all]))); return alike; };
  const differ = (same) => new Set(same.map((other) => other.join(""))).size > 1;
  for (let turn = 0; turn < names.length && new Set(found).size < new Set(names).size; turn++) {
    const alike = cutAlike();
    letters.forEach((all, k) => {
      const same = alike.get(found[k]);
      const first = all.findIndex((letter, place) => same.some((other) => other[place] !== letter));
      if (!differ(same)) return;
      const rest = [...all.slice(Math.max((first < 0 ? all.length : first) - 1, 0)).join("").trimStart()], left = most - head - 1;
      found[k] = written(all, rest.length <= left ? rest : [rest.slice(0, left - 1).join("").trimEnd(), "…"]);
    });
  }
  const alike = cutAlike();
  return names.map((name, k) => (differ(alike.get(found[k])) ? name : found[k]));
}

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function select(id, word, options, value, on) {
  return make("label", {}, make("span", { class: "word" }, word), make("select", { id, onchange: (e) => on(Number(e.target.value)) },
    ...options.map(([v, text]) => make("option", { value: v, selected: v === value }, text))));
}

const title = (c) => c.label + (c.unit ? ` (${c.unit})` : "");

function number(v) {
  if (v === null) return "–";
  const a = Math.abs(v);
  return a !== 0 && (a >= 1e6 || a < 1e-3) ? v.toExponential(4).replace(/\.?0+e/, "e") : String(Number(v.toPrecision(6)));
}

// The width of what encloses a front: two digits, from 100 % on without decimals
const percent = (width) => `${Number(100 * width < 99.5 ? (100 * width).toPrecision(2) : (100 * width).toFixed(0))} %`;

function shown(c, i) {
  const v = c.values[i];
  if (v === null || v === undefined) return "–";
  return c.labels.length ? c.labels[v] : number(v);
}

function kept(i) {
  for (const [at, parts] of ranges) {
    const v = COLUMNS[at].values[i];
    if (!parts.some(([low, high, none]) => (v === null ? none && answered(i) : (low === null || v >= low) && (high === null || v <= high)))) return false;
  }
  return true;
}

function inside() {
  const found = [];
  for (let i = 0; i < POINTS; i++) if (kept(i)) found.push(i);
  return found;
}

function changed(what) {
  for (const listener of listeners) listener(what);
}

function pin(i) {
  if (!pinned.delete(i)) pinned.add(i);
  changed("pins");
}

// Look at a design: its card shows all of it, and those who cannot see the picture hear it in short
function look(i, spoken) {
  if (i === current && !spoken) return;
  current = i;
  hover(i);
  changed("current");
  if (!spoken) return;
  const told = COLUMNS.filter((c) => c.role === "axis" || c.role === "objective").map((c) => `${c.label} ${shown(c, i)} ${c.unit}`);
  document.getElementById("said").textContent = `design ${i}, ${status(i)}: ${told.join(", ")}${pinned.has(i) ? ", side by side" : ""}`;
}

// The pinned designs; without any some that are spread over what the ranges leave
function chosen(most) {
  if (pinned.size) return [...pinned].sort((a, b) => a - b);
  const all = inside().filter(answered);
  if (all.length <= most) return all;
  return [...new Set([...Array(most).keys()].map((k) => all[Math.round(k * (all.length - 1) / (most - 1))]))];
}

// How an axis of this quantity writes its numbers: 0.01, 0.1, 1, and 2 and 5 in between where there is room
function numbers(c) {
  if (c.labels.length) return { type: "category" };
  return logged(c) ? scaled(c.values.filter((v) => v > 0)) : { type: "linear", exponentformat: "none", tickformat: "~g", ...(c.share ? { autorangeoptions: { clipmin: 0, clipmax: 1 } } : {}) };
}

function scaled(positive) {
  const [low, high] = positive.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
  const decades = Math.log10(high / low), axis = { type: "log", exponentformat: "none", tickformat: "~g" };
  // over less than this there may be one of 1, 2 and 5 of a decade, or none
  if (low < high && decades < 0.7) {
    const step = roundStep((high - low) / 6), first = Math.ceil(low / step - 1e-9);
    return { ...axis, tickvals: [...Array(8).keys()].map((k) => (first + k) * step).filter((v) => v <= high * (1 + 1e-9)) };
  }
  return { ...axis, dtick: decades < 2.5 ? "D2" : Math.ceil(decades / 8) };
}

// The next of 1, 2 and 5 of a decade from here on
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((s) => s * power >= rough * (1 - 1e-9));
}

const logged = (c) => c.log && !c.labels.length;

// The scale of colours that stand for positions along an axis of this quantity
function colourBar(c, positions) {
  const bar = { ...BAR, title: { text: plain(title(c)), side: "right" } };
  const there = positions.filter(Number.isFinite);
  if (c.labels.length) return { ...bar, tickvals: c.labels.map((_, k) => k), ticktext: c.brief.map(plain) };
  return logged(c) && there.length ? { ...bar, ...ticks(Math.min(...there), Math.max(...there)) } : bar;
}

// A picture answers to the pointer and to keys: arrows go from design to design, Enter puts one side by side
function live(box, order) {
  const index = (event) => event.points.find((p) => Number.isInteger(p.customdata));
  box.on("plotly_hover", (event) => { const p = index(event); if (p) look(p.customdata); });
  box.on("plotly_click", (event) => { const p = index(event); if (p) pin(p.customdata); });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    const all = order();
    if (step !== undefined && all.length) {
      const at = all.indexOf(current);
      look(all[at < 0 ? 0 : Math.min(Math.max(at + step, 0), all.length - 1)], true);
    } else if ((event.key === "Enter" || event.key === " ") && current >= 0) {
      pin(current);
      look(current, true);
    } else return;
    event.preventDefault();
  });
}

// A ring round the design looked at, where `place` says that it stands: [across, up, its vertical axis], or nothing. It
// follows every drawing; dark dashes on white are seen on any ground, and are no knee
function ringed(box, place) {
  const mark = () => {
    box.querySelector(".looked")?.remove();
    const [x, y, upwards] = (current >= 0 && place(current)) || [null, null];
    if (x === null || y === null) return;
    const drawn = [[box._fullLayout.xaxis, x], [box._fullLayout[upwards || "yaxis"], y]].map(([axis, v]) => [axis._offset, axis.d2p(v), axis._length]);
    if (!drawn.every(([, at, most]) => at >= 0 && at <= most)) return;
    const svg = (tag, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      return made;
    };
    const [cx, cy] = drawn.map(([offset, at]) => offset + at);
    const both = svg("g", { class: "looked", "pointer-events": "none" });
    for (const stroke of [{ stroke: "#fff", "stroke-width": 5 }, { stroke: "#1b1f24", "stroke-width": 2, "stroke-dasharray": "5 3" }]) both.append(svg("circle", { cx, cy, r: 10, fill: "none", ...stroke }));
    box.querySelector(".main-svg").append(both);
  };
  box.on("plotly_afterplot", mark);
  listeners.push((what) => { if (what === "current") mark(); });
}

// A table behind a picture, closed until somebody opens it
function behind(box, caption, heads, rows) {
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, make("th", { scope: "row" }, row[0]),
      ...row.slice(1).map((cell) => make("td", { class: "number" }, cell))))));
  const open = box.querySelector("details")?.open;
  const details = make("details", { class: "behind" }, make("summary", {}, caption), make("div", { class: "scroll" }, table));
  details.open = Boolean(open);
  box.replaceChildren(details);
}

document.addEventListener("DOMContentLoaded", () => {
  drawRates();
  if (POINTS) {
    if (D.kind === "front") startFront();
    else if (Object.keys(D.dims).length) startSweep();
    startTables();
  }
  startInsides();
  // the heaviest picture comes last, when the others can be used already
  if (POINTS) setTimeout(startParallel);
});
