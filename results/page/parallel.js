"use strict";
// Parallel coordinates and the fields beside them: both narrow down the designs of every picture and table.

const MOST_LINES = 3000;
const AXIS_LETTERS = 20;  // between two axes

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
  box.textContent = ["No point has a design.", "There is one design."][many] || "All designs have the same values.";
  box.className = "";
  // what is said of brushes is of no use here
  box.closest("section").querySelector(".note").hidden = true;
}

// More lines than can be told apart are not drawn: every second, third, ... stands for the others
function drawParallel(places) {
  const box = document.getElementById("parallel");
  const step = Math.ceil(POINTS / MOST_LINES);
  const some = (list) => (step > 1 ? list.filter((_, i) => i % step === 0) : list);
  if (step > 1) document.getElementById("parallel-note").textContent = `One design in ${step} is drawn here; ranges narrow down all of them.`;
  const dimensions = places.map((at) => {
    const c = COLUMNS[at];
    const values = along(c);
    const finite = values.filter(Number.isFinite);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const made = { label: plain(title(c)), values: some(values), ...(low < high ? { range: [low, high] } : {}) };
    if (c.labels.length) {
      // these are written as text and not as markup; an axis ends where its designs do, and a name beyond its end would be written over its title
      const tickvals = c.labels.map((_, k) => k).filter((k) => low <= k && k <= high);
      const brief = apart(c.labels, AXIS_LETTERS);
      Object.assign(made, { tickvals, ticktext: tickvals.map((k) => brief[k]) });
    }
    else if (logged(c)) Object.assign(made, ticks(low, high));
    return made;
  });
  const first = COLUMNS.find((c) => c.role === "objective" && !c.labels.length);
  Plotly.newPlot(box, [{ type: "parcoords", dimensions, labelangle: -12, line: { color: first ? some(along(first)) : "#0b5cad", colorscale: "Cividis" },
    unselected: { line: { color: "#bbb", opacity: 0.15 } } }], { margin: { l: room(places[0]), r: 70, t: 90, b: 25 } }, CONFIG);
  box.on("plotly_restyle", () => {
    places.forEach((at, k) => {
      const brushed = box.data[0].dimensions[k].constraintrange;
      if (!brushed || !brushed.length) { ranges.delete(at); return; }
      const back = (v) => (logged(COLUMNS[at]) ? 10 ** v : v);
      const loose = (v, way) => v + way * Math.abs(v) * 1e-9;
      const parts = Array.isArray(brushed[0]) ? brushed : [brushed];
      ranges.set(at, parts.map(([low, high]) => [loose(back(low), -1), loose(back(high), 1)]));
    });
    changed("brush");
  });
  listeners.push((what) => {
    if (what !== "ranges") return;
    places.forEach((at, k) => {
      const c = COLUMNS[at];
      const finite = c.values.filter((v) => v !== null);
      const on = (v) => (logged(c) ? Math.log10(v) : v);
      const parts = (ranges.get(at) || []).map(([low, high]) => [on(low ?? Math.min(...finite)), on(high ?? Math.max(...finite))]);
      box.data[0].dimensions[k].constraintrange = parts.length > 1 ? parts : parts[0];
    });
    Plotly.redraw(box);
  });
}

// Names at the first axis stand to its left
function room(at) {
  return Math.max(70, 20 + 6.5 * Math.max(0, ...COLUMNS[at].labels.map((l) => Math.min(l.length, AXIS_LETTERS))));
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
