"use strict";
// Parallel coordinates and the fields beside them: both narrow down the designs of every picture and table.

const MOST_LINES = 3000;
// of names along an axis and of names above it: where the next axis is a hundred pixels away, and where it is nearer
const AXIS_LETTERS = [20, 10], NAME_LETTERS = [26, 20];
const NO_NUMBER = "no number";

// The axes that parallel coordinates have room for; one on which all designs stand at one place tells none from another
function important() {
  const places = COLUMNS.map((c, at) => at).filter((at) => new Set(COLUMNS[at].values.filter((v) => v !== null)).size > 1 && !["bound", "explained"].includes(COLUMNS[at].role));
  const rank = { axis: 0, decided: 1, objective: 2, metric: 3 };
  return places.sort((a, b) => rank[COLUMNS[a].role] - rank[COLUMNS[b].role]).slice(0, 9);
}

// Positions along an axis; a design without the number has none, and is drawn nowhere
const along = (c) => c.values.map((v) => (v === null ? NaN : logged(c) ? Math.log10(v) : v));

function startParallel() {
  const places = important();
  makeRanges(places);
  listeners.push((what) => { if (what === "ranges" || what === "brush") fillRanges(); });
  const many = inside().filter(answered).length;
  if (many && places.length) { drawParallel(places); return; }
  const box = document.getElementById("parallel");
  const none = evaluates() ? "No point is within the limits." : "No point has a design.";
  box.textContent = [none, "There is one design."][many] || "All designs have the same values.";
  box.className = "";
  // what is said of brushes is of no use here
  box.closest("section").querySelector(".note").hidden = true;
}

// One of the parallel axes, as these designs need it: where its numbers begin and end, and below them its foot, at which
// lines of designs go by that have no number here (null: all of them have one)
function upright(c, designs, letters) {
  const values = along(c), there = designs.map((i) => values[i]).filter(Number.isFinite);
  const [low, high] = [Math.min, Math.max].map((end) => there.reduce((a, b) => end(a, b), end())), span = high - low || Math.abs(high) || 1;
  const foot = there.length < designs.length ? low - 0.15 * span : null;
  const at = (i) => (Number.isFinite(values[i]) ? values[i] : foot);
  let [tickvals, ticktext] = [[], []];
  if (c.labels.length) {
    // these are written as text and not as markup; an axis ends where its designs do, and a name beyond its end would be written over its title
    tickvals = c.labels.map((_, k) => k).filter((k) => low <= k && k <= high);
    ticktext = apart(c.labels, letters).filter((_, k) => low <= k && k <= high);
  } else if (logged(c)) ({ tickvals, ticktext } = ticks(low, high));
  else if (foot !== null) ({ tickvals, ticktext } = evenly(low, high));
  if (foot !== null) [tickvals, ticktext] = [[foot, ...tickvals], [NO_NUMBER, ...ticktext]];
  return { low, high, foot, at, floor: low - 0.05 * span, ticks: tickvals.length ? { tickvals, ticktext } : {} };
}

// How wide a text is in this picture
function pixels(text) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "10px sans-serif";
  return 1.1 * pen.measureText(text).width;
}

// More lines than can be told apart are not drawn: some stand for the others, spread over all as steps of the golden
// ratio are, and with them one at every value of a short axis of the grid
const GOLDEN = (Math.sqrt(5) - 1) / 2, SHORT_AXIS = 300;
function spread(all, step) {
  if (step === 1) return all;
  const kept = new Set(all.filter((_, k) => (k * GOLDEN) % 1 < 1 / step));
  for (const c of COLUMNS.filter(({ role }) => role === "axis")) {
    const first = new Map([...all].reverse().map((i) => [c.values[i], i]));
    if (first.size <= SHORT_AXIS) first.forEach((i) => kept.add(i));
  }
  return all.filter((i) => kept.has(i));
}

function drawParallel(places) {
  const box = document.getElementById("parallel");
  // also points that only break limits have numbers to draw; of those without a design nothing is there
  const all = [...Array(POINTS).keys()].filter((i) => answered(i) || places.some((at) => COLUMNS[at].role !== "axis" && COLUMNS[at].values[i] !== null));
  const step = Math.ceil(all.length / MOST_LINES), designs = spread(all, step);
  const close = Number(box.clientWidth < 100 * (places.length + 1));
  const axes = places.map((at, k) => upright(COLUMNS[at], all, AXIS_LETTERS[k && close]));
  const said = step > 1 ? [`One design in ${step} is drawn here; ranges narrow down all of them.`] : [];
  if (axes.some(({ foot }) => foot !== null)) said.push(`Lines through “${NO_NUMBER}” at the foot of an axis are of designs without that number.`);
  document.getElementById("parallel-note").textContent = said.join(" ");
  const names = apart(places.map((at) => title(COLUMNS[at])), NAME_LETTERS[close]);
  const dimensions = axes.map(({ low, high, foot, at, ticks }, k) => ({ label: plain(names[k]), values: designs.map(at), ...ticks, ...((foot ?? low) < high ? { range: [foot ?? low, high] } : {}) }));
  const first = COLUMNS.find((c) => c.role === "objective" && !c.labels.length), scale = first && upright(first, all, 0);
  const colour = scale ? { color: designs.map((i) => Math.max(scale.at(i), scale.low)), ...(scale.low < scale.high ? { cmin: scale.low, cmax: scale.high } : {}), colorscale: SHADES } : { color: "#0b5cad" };
  // names of axes stand with their middle above them, names along the first one to its left
  const beside = (k) => 12 + 0.5 * pixels(names[k]);
  const margin = { l: Math.max(70, beside(0), ...axes[0].ticks.ticktext?.map((text) => 20 + pixels(text)) ?? []), r: Math.max(70, beside(names.length - 1)), t: 90, b: 25 };
  Plotly.newPlot(box, [{ type: "parcoords", dimensions, labelangle: -12, line: colour, unselected: { line: { color: "#bbb", opacity: 0.15 } } }], { margin }, config(box));
  box.on("plotly_restyle", () => {
    places.forEach((at, k) => {
      const brushed = box.data[0].dimensions[k].constraintrange, { foot } = axes[k];
      if (!brushed || !brushed.length) { ranges.delete(at); return; }
      const back = (v) => (logged(COLUMNS[at]) ? 10 ** v : v);
      const loose = (v, way) => v + way * Math.abs(v) * 1e-9;
      const parts = Array.isArray(brushed[0]) ? brushed : [brushed];
      // from the foot on a range holds the designs without a number, too
      ranges.set(at, parts.map(([low, high]) => (foot !== null && low <= foot ? [null, loose(back(high), 1), true] : [loose(back(low), -1), loose(back(high), 1)])));
    });
    changed("brush");
  });
  listeners.push((what) => {
    if (what !== "ranges") return;
    places.forEach((at, k) => {
      const c = COLUMNS[at], { low, high, foot, floor } = axes[k];
      const on = (v) => Math.max(floor, logged(c) ? Math.log10(Math.max(v, 0)) : v);
      // a range in which nothing lies stands above the axis
      const above = [2 * high - floor, 3 * high - 2 * floor];
      const parts = (ranges.get(at) || []).map(([least, greatest, none]) => [none ? foot : least === null ? low : on(least), greatest === null ? high : on(greatest)]).map((part) => (part[0] <= part[1] ? part : above));
      box.data[0].dimensions[k].constraintrange = parts.length > 1 ? parts : parts[0];
    });
    Plotly.redraw(box);
  });
}

// Three digits of a positive number, from 1e5 on and below 1e-4 as a power of ten
const rounded = (v) => (v < 99950 && v >= 0.9995e-4 ? String(Number(v.toPrecision(3))) : v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e"));

function ticks(low, high) {
  const tickvals = [], ticktext = [];
  const step = Math.max(1, Math.ceil((high - low) / 5));
  for (let e = Math.ceil(low); e <= Math.floor(high); e += step) { tickvals.push(e); ticktext.push(rounded(10 ** e)); }
  for (const end of [low, high]) {
    if (!tickvals.some((t) => Math.abs(t - end) < 0.06 * (high - low))) { tickvals.push(end); ticktext.push(rounded(10 ** end)); }
  }
  return { tickvals, ticktext };
}

// Round numbers along an axis that is not logarithmic, and its ends
function evenly(low, high) {
  const step = roundStep((high - low) / 4 || 1);
  const inside = [...Array(6).keys()].map((k) => (Math.ceil(low / step) + k) * step).filter((v) => low + 0.4 * step < v && v < high - 0.4 * step);
  const tickvals = low < high ? [low, ...inside, high] : [low];
  return { tickvals, ticktext: tickvals.map(number) };
}

// Fields are made once and filled in later, so that whoever types in one keeps its place
const fields = [];
function makeRanges(places) {
  document.getElementById("ranges").replaceChildren(...places.map((at) => {
    const c = COLUMNS[at];
    const field = (end, word) => {
      const made = make("input", { type: "number", step: "any", "aria-label": `${word} ${title(c)}`, placeholder: word, onchange: () => {
        const next = [...ends(at)];
        next[end] = made.value === "" ? null : Number(made.value);
        if (next[0] === null && next[1] === null) ranges.delete(at);
        else ranges.set(at, [next]);
        changed("ranges");
      } });
      fields.push({ at, end, made });
      return made;
    };
    const names = c.labels.length ? ` (${c.labels.map((l, k) => `${k} ${l}`).join(", ")})` : "";
    return make("fieldset", {}, make("legend", {}, title(c) + names), field(0, "least"), field(1, "greatest"));
  }));
}

function ends(at) {
  const parts = ranges.get(at);
  if (!parts) return [null, null];
  const lows = parts.map((p) => p[0]), highs = parts.map((p) => p[1]);
  return [lows.includes(null) ? null : Math.min(...lows), highs.includes(null) ? null : Math.max(...highs)];
}

function fillRanges() {
  for (const { at, end, made } of fields) {
    const value = ends(at)[end];
    made.value = value === null ? "" : Number(value.toPrecision(6));
  }
}
