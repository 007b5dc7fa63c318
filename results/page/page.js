"use strict";
// What all pages share: the numbers, which designs are pinned and which are filtered away, tables and ranges.
const D = JSON.parse(document.getElementById("data").textContent);
const COLUMNS = D.columns || [];
const POINTS = (D.status || []).length;
const ROWS_PER_PAGE = 50;
const PALETTE = ["#0b5cad", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const SYMBOLS = { optimal: "circle", feasible: "diamond", evaluated: "circle", infeasible: "x-thin-open",
  unbounded: "triangle-up-open", error: "square-x-open", "not computed": "circle-open" };
const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
const pinned = new Set();
const ranges = new Map();  // place of a column -> [low, high], null: open
const listeners = [];      // what is drawn again when pins or ranges change

// Nothing from a file may become markup: text goes through textContent, and pictures get their brackets escaped.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const title = (c) => c.label + (c.unit ? ` (${c.unit})` : "");

function shown(c, i) {
  const v = c.values[i];
  if (v === null || v === undefined) return "–";
  if (c.labels.length) return c.labels[v];
  const a = Math.abs(v);
  return a !== 0 && (a >= 1e6 || a < 1e-3) ? v.toExponential(4).replace(/\.?0+e/, "e") : String(Number(v.toPrecision(6)));
}

function kept(i) {
  for (const [at, [low, high]] of ranges) {
    const v = COLUMNS[at].values[i];
    if (v === null || (low !== null && v < low) || (high !== null && v > high)) return false;
  }
  return true;
}

function changed(what) {
  for (const listener of listeners) listener(what);
}

function pin(i) {
  if (!pinned.delete(i)) pinned.add(i);
  changed("pins");
}

function setRange(at, low, high) {
  if (low === null && high === null) ranges.delete(at);
  else ranges.set(at, [low, high]);
  changed("ranges");
}

// One design as a table of its own: what is decided first, then what comes of it
function facts(i) {
  const body = make("table", {});
  const head = `${D.kind === "front" ? `point ${i}` : ""} ${D.status[i]}`.trim();
  body.append(make("caption", {}, head));
  for (const c of COLUMNS) {
    body.append(make("tr", {}, make("th", { scope: "row", title: c.about }, c.label),
      make("td", { class: "number" }, shown(c, i) + (c.unit && c.values[i] !== null ? ` ${c.unit}` : ""))));
  }
  if (D.exchange && D.exchange[i] !== null && D.exchange[i] !== undefined) body.append(make("tr", {},
    make("th", { scope: "row" }, "exchange rate"), make("td", {}, exchange(i))));
  if (D.limits[i].length) {
    const word = D.status[i] === "infeasible" ? "in conflict" : "binding";
    body.append(make("tr", {}, make("th", { scope: "row" }, word), make("td", {}, D.limits[i].join(", "))));
  }
  return body;
}

function exchange(i) {
  const [a, b] = COLUMNS.filter((c) => c.role === "objective");
  const rate = D.exchange[i];
  const verb = rate < 0 ? "less" : "more";
  return `to the next point, 1 % more ${a.label} brings ${Math.abs(rate)} % ${verb} ${b.label}`;
}

function hover(i) {
  const card = document.getElementById("hover");
  if (card) card.replaceChildren(facts(i));
}

function drawPins() {
  const table = document.getElementById("pins");
  const chosen = [...pinned].sort((a, b) => a - b);
  document.getElementById("no-pins").hidden = chosen.length > 0;
  table.replaceChildren();
  if (!chosen.length) return;
  table.append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "quantity"),
    ...chosen.map((i) => make("th", { scope: "col", class: "number" }, `design ${i} `,
      make("button", { type: "button", "aria-label": `remove design ${i}`, onclick: () => pin(i) }, "×"))))));
  const body = make("tbody", {}, make("tr", {}, make("th", { scope: "row" }, "status"),
    ...chosen.map((i) => make("td", { class: "number" }, D.status[i]))));
  for (const c of COLUMNS) {
    body.append(make("tr", {}, make("th", { scope: "row", title: c.about }, title(c)),
      ...chosen.map((i) => make("td", { class: "number" }, shown(c, i)))));
  }
  table.append(body);
}

let page = 0;
function drawDesigns() {
  const inside = [];
  for (let i = 0; i < POINTS; i++) if (kept(i)) inside.push(i);
  const pages = Math.max(1, Math.ceil(inside.length / ROWS_PER_PAGE));
  page = Math.min(page, pages - 1);
  const left = D.left_out ? ` (${D.left_out} more points of the dataset were left out of this page)` : "";
  document.getElementById("count").textContent = `${inside.length} of ${POINTS} designs${left}`;
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "design"), make("th", { scope: "col" }, "status"),
    ...COLUMNS.map((c) => make("th", { scope: "col", class: c.labels.length ? "" : "number", title: c.about }, title(c)))));
  const body = make("tbody", {});
  for (const i of inside.slice(page * ROWS_PER_PAGE, (page + 1) * ROWS_PER_PAGE)) {
    const button = make("button", { type: "button", "aria-pressed": pinned.has(i) ? "true" : "false",
      "aria-label": `put design ${i} side by side`, onclick: () => pin(i), onfocus: () => hover(i) }, `${i}`);
    body.append(make("tr", { class: pinned.has(i) ? "pinned" : null, onmouseenter: () => hover(i) },
      make("td", {}, button), make("td", {}, D.status[i]),
      ...COLUMNS.map((c) => make("td", { class: c.labels.length ? "text" : "number" }, shown(c, i)))));
  }
  document.getElementById("designs").replaceChildren(head, body);
  const go = (to) => { page = to; drawDesigns(); };
  document.getElementById("pages").replaceChildren(
    make("button", { type: "button", disabled: page === 0, onclick: () => go(page - 1) }, "previous"),
    make("span", {}, `page ${page + 1} of ${pages}`),
    make("button", { type: "button", disabled: page === pages - 1, onclick: () => go(page + 1) }, "next"));
}

// The axes that parallel coordinates have room for
function important() {
  const places = COLUMNS.map((c, at) => at).filter((at) => new Set(COLUMNS[at].values).size > 1 && COLUMNS[at].role !== "bound");
  const rank = { axis: 0, decided: 1, objective: 2, metric: 3 };
  return places.sort((a, b) => rank[COLUMNS[a].role] - rank[COLUMNS[b].role]).slice(0, 9);
}

// How an axis of this quantity writes its numbers: 0.01, 0.1, 1, and 2 and 5 in between where there is room
function numbers(c) {
  if (c.labels.length) return { type: "category" };
  if (!logged(c)) return { type: "linear", exponentformat: "none", tickformat: "~g" };
  const finite = c.values.filter((v) => v > 0);
  const decades = Math.log10(Math.max(...finite) / Math.min(...finite));
  return { type: "log", exponentformat: "none", tickformat: "~g", dtick: decades < 2.5 ? "D2" : Math.ceil(decades / 8) };
}

function logged(c) {
  return c.log && !c.labels.length;
}

function drawParallel() {
  const box = document.getElementById("parallel");
  const places = important();
  const dimensions = places.map((at) => {
    const c = COLUMNS[at];
    const values = c.values.map((v) => (v === null ? NaN : logged(c) ? Math.log10(v) : v));
    const made = { label: plain(title(c)), values };
    const finite = values.filter(Number.isFinite);
    if (c.labels.length) Object.assign(made, { tickvals: c.labels.map((_, k) => k), ticktext: c.labels.map(plain) });
    else if (logged(c)) Object.assign(made, ticks(Math.min(...finite), Math.max(...finite)));
    return made;
  });
  const first = COLUMNS.find((c) => c.role === "objective" && !c.labels.length);
  const colours = first ? first.values.map((v) => (v === null ? NaN : logged(first) ? Math.log10(v) : v)) : undefined;
  Plotly.newPlot(box, [{ type: "parcoords", dimensions, labelangle: -12, line: { color: colours || "#0b5cad", colorscale: "Cividis" },
    unselected: { line: { color: "#bbb", opacity: 0.15 } } }], { margin: { l: room(places[0]), r: 70, t: 90, b: 25 } }, CONFIG);
  box.on("plotly_restyle", () => {
    places.forEach((at, k) => {
      const c = COLUMNS[at];
      const brushed = box.data[0].dimensions[k].constraintrange;
      const ends = brushed && brushed.length ? (Array.isArray(brushed[0]) ? [Math.min(...brushed.flat()), Math.max(...brushed.flat())] : brushed) : null;
      const range = ends ? ends.map((v) => (logged(c) ? 10 ** v : v)) : null;
      if (range) ranges.set(at, [range[0] - Math.abs(range[0]) * 1e-9, range[1] + Math.abs(range[1]) * 1e-9]);
      else ranges.delete(at);
    });
    changed("brush");
  });
  listeners.push((what) => {
    if (what !== "ranges") return;
    const update = {};
    places.forEach((at, k) => {
      const c = COLUMNS[at];
      const finite = c.values.filter((v) => v !== null);
      const range = ranges.get(at);
      const ends = range && [range[0] ?? Math.min(...finite), range[1] ?? Math.max(...finite)];
      box.data[0].dimensions[k].constraintrange = ends ? ends.map((v) => (logged(c) ? Math.log10(v) : v)) : undefined;
    });
    Plotly.redraw(box);
  });
}

// Names at the first axis stand to its left
function room(at) {
  return Math.max(70, 20 + 6.5 * Math.max(0, ...COLUMNS[at].labels.map((l) => l.length)));
}

function ticks(low, high) {
  const tickvals = [], ticktext = [];
  const step = Math.max(1, Math.ceil((high - low) / 5));
  for (let e = Math.ceil(low); e <= Math.floor(high); e += step) { tickvals.push(e); ticktext.push(Math.abs(e) < 5 ? String(Number((10 ** e).toPrecision(1))) : `1e${e}`); }
  for (const end of [low, high]) {
    if (!tickvals.some((t) => Math.abs(t - end) < 0.06 * (high - low))) { tickvals.push(end); ticktext.push(Number((10 ** end).toPrecision(3)).toString()); }
  }
  return { tickvals, ticktext };
}

// Fields are made once and filled in later, so that whoever types in one keeps its place
const fields = [];
function makeRanges() {
  document.getElementById("ranges").replaceChildren(...important().map((at) => {
    const c = COLUMNS[at];
    const field = (end, word) => {
      const made = make("input", { type: "number", step: "any", "aria-label": `${word} ${title(c)}`, placeholder: word, onchange: () => {
        const next = [...(ranges.get(at) || [null, null])];
        next[end] = made.value === "" ? null : Number(made.value);
        setRange(at, ...next);
      } });
      fields.push({ at, end, made });
      return made;
    };
    const names = c.labels.length ? ` (${c.labels.map((l, k) => `${k} ${l}`).join(", ")})` : "";
    return make("fieldset", {}, make("legend", {}, title(c) + names), field(0, "least"), field(1, "greatest"));
  }));
}

function fillRanges() {
  for (const { at, end, made } of fields) {
    const value = (ranges.get(at) || [null, null])[end];
    made.value = value === null ? "" : Number(value.toPrecision(6));
  }
}

function drawRates() {
  const box = document.getElementById("rates");
  if (!box) return;
  const names = Object.keys(D.rates).sort((a, b) => Math.abs(D.rates[a]) - Math.abs(D.rates[b]));
  box.style.height = `${6 + 1.8 * names.length}rem`;
  Plotly.newPlot(box, [{ type: "bar", orientation: "h", y: names.map(plain), x: names.map((n) => D.rates[n]),
    marker: { color: names.map((n) => (D.rates[n] < 0 ? PALETTE[0] : PALETTE[1])) } }],
  { margin: { l: 190, r: 20, t: 10, b: 45 }, xaxis: { title: { text: "% of the objective per % more" }, zeroline: true },
    yaxis: { automargin: true } }, CONFIG);
}

function start() {
  drawRates();
  if (!POINTS) return;
  if (D.kind === "front") startFront();
  else startSweep();
  drawParallel();
  makeRanges();
  drawPins();
  drawDesigns();
  listeners.push((what) => {
    if (what === "pins") drawPins();
    if (what !== "pins") { page = 0; fillRanges(); }
    drawDesigns();
  });
}
document.addEventListener("DOMContentLoaded", start);
