"use strict";
// A sweep: one quantity over one or two of its axes, a slider for each of the others.
const BOTTOM = 0.03;  // where in a picture of a line marks stand of points without a number
function startSweep() {
  const names = Object.keys(D.dims), sizes = Object.values(D.dims);
  // of an axis of rows (worlds, lines of a table) a line is drawn over a number in them, a map over their place
  const by = names.map((name) => (D.rows[name] ?? [name])[0]);
  const axisOf = (k) => COLUMNS.find((c) => c.role === "axis" && c.name === (choose.y < 0 ? by[k] : names[k]));
  const stride = sizes.map((_, k) => sizes.slice(k + 1).reduce((a, b) => a * b, 1));
  const things = COLUMNS.map((c, at) => at).filter((at) => COLUMNS[at].role !== "axis" && !(COLUMNS[at].role === "explained" && COLUMNS[at].labels.length));
  // of rows (worlds, lines of a table) neighbours are not alike: numbers are drawn against each other first
  const rowed = (k) => Number(names[k] in D.rows && sizes.some((n, m) => n > 1 && !(names[m] in D.rows)));
  const longest = names.map((_, k) => k).sort((a, b) => rowed(a) - rowed(b) || sizes[b] - sizes[a]);
  const choose = { what: things.find((at) => COLUMNS[at].role === "objective") ?? things[0], x: longest[0],
    y: sizes[longest[1]] > 1 ? longest[1] : -1, at: sizes.map(() => 0) };
  const box = document.getElementById("sweep");
  const index = (at, k) => Math.floor(at / stride[k]) % sizes[k];
  const onSlice = (at) => names.every((_, k) => k === choose.x || k === choose.y || index(at, k) === choose.at[k]);
  const point = (place) => place.reduce((sum, i, k) => sum + i * stride[k], 0);
  const named = (c, at) => (c.labels.length && c.values[at] !== null ? plain(c.brief[c.values[at]]) : c.values[at]);
  const coordinate = (k, i) => { const c = axisOf(k); const at = point(choose.at.map((_, m) => (m === k ? i : 0))); return named(c, at); };

  const asked = (id, word, options, value, on) => select(id, word, options, value, (v) => { on(v); controls(); draw(); document.getElementById(id).focus(); });

  function controls() {
    const every = names.map((name, k) => [k, D.rows[name] ? plain(name) : title(axisOf(k))]).filter(([k]) => sizes[k] > 1 || k === choose.x);
    const made = [asked("sweep-what", "shown", things.map((at) => [at, title(COLUMNS[at])]), choose.what, (v) => { choose.what = v; }),
      asked("sweep-x", "across", every, choose.x, (v) => { if (v === choose.y) choose.y = choose.x; choose.x = v; })];
    if (every.length > 1) made.push(asked("sweep-y", "up", [[-1, "(nothing: a line)"], ...every], choose.y,
      (v) => { if (v === choose.x) choose.x = choose.y < 0 ? choose.x : choose.y; choose.y = v === choose.x ? -1 : v; }));
    const rows = D.rows[names[choose.x]];
    if (rows && choose.y < 0) {
      const listed = [...rows, names[choose.x]];
      made.push(asked("sweep-by", "by", listed.map((name, n) => [n, title(COLUMNS.find((c) => c.role === "axis" && c.name === name))]),
        listed.indexOf(by[choose.x]), (n) => { by[choose.x] = listed[n]; }));
    }
    names.forEach((name, k) => {
      if (k === choose.x || k === choose.y) return;
      const told = make("output", {}, said(k));
      if (sizes[k] === 1) { made.push(make("span", {}, `${axisOf(k).label} `, told)); return; }
      made.push(make("label", {}, `${axisOf(k).label} `, make("input", { type: "range", min: 0, max: sizes[k] - 1, step: 1, value: choose.at[k],
        "aria-label": axisOf(k).label, "data-axis": name, oninput: (e) => { choose.at[k] = Number(e.target.value); told.textContent = said(k); draw(); } }), told));
    });
    document.getElementById("sweep-controls").replaceChildren(...made);
  }

  function said(k) {
    const c = axisOf(k);
    return `${shown(c, point(choose.at.map((_, m) => (m === k ? choose.at[k] : 0))))} ${c.unit}`.trim();
  }

  function cell(i, j) {
    return point(choose.at.map((v, k) => (k === choose.x ? i : k === choose.y ? j : v)));
  }

  const axis = (k) => { const c = axisOf(k); return { title: { text: plain(title(c)) }, automargin: true, ...numbers(c) }; };
  const count = (k) => (k < 0 ? 1 : sizes[k]);

  function marks() {
    const groups = new Map();
    for (let i = 0; i < count(choose.x); i++) for (let j = 0; j < count(choose.y); j++) {
      const at = cell(i, j);
      if (COLUMNS[choose.what].values[at] !== null) continue;
      const told = status(at) === "infeasible" && limits(at).length ? `no design: ${limits(at).map((name) => name.replace(/ \(feasible at .*/, "")).join(", ")}` : answered(at) ? "no such number" : status(at);
      if (!groups.has(told)) groups.set(told, []);
      groups.get(told).push([i, j, at]);
    }
    return [...groups].map(([told, list], n) => ({ type: "scatter", mode: "markers", name: plain(told), x: list.map((p) => coordinate(choose.x, p[0])),
      ...(choose.y < 0 ? { y: list.map(() => BOTTOM), yaxis: "y2" } : { y: list.map((p) => coordinate(choose.y, p[1])) }), customdata: list.map((p) => p[2]), hovertemplate: `${template(told)}<extra></extra>`,
      marker: { symbol: ["x-thin-open", "cross-thin-open", "asterisk-open", "hash-open", "y-up-open"][n % 5], size: 8, color: "#57606a" } }));
  }

  function map(c) {
    const z = [], custom = [];
    for (let j = 0; j < count(choose.y); j++) {
      z.push([]); custom.push([]);
      for (let i = 0; i < count(choose.x); i++) { const at = cell(i, j); z[j].push(c.values[at] === null || !kept(at) ? null : logged(c) ? Math.log10(c.values[at]) : c.values[at]); custom[j].push(at); }
    }
    const text = custom.map((row) => row.map((at) => `${plain(c.label)} ${plain(shown(c, at))} ${plain(c.unit)}`));
    return { type: "heatmap", z, text, customdata: custom, x: [...Array(count(choose.x)).keys()].map((i) => coordinate(choose.x, i)),
      y: [...Array(count(choose.y)).keys()].map((j) => coordinate(choose.y, j)), colorscale: "Cividis", colorbar: colourBar(c, z.flat()), hoverongaps: false,
      hovertemplate: "%{text}<extra></extra>" };
  }

  function line(c) {
    const places = [...Array(count(choose.x)).keys()];
    const values = places.map((i) => (kept(cell(i, 0)) ? c.values[cell(i, 0)] : null));
    // the legend shows the first mark, which is to be one that is drawn
    const symbols = places.map((i) => SYMBOLS[status(cell(i, 0))] || "circle"), first = symbols.find((_, i) => values[i] !== null);
    return { type: "scatter", mode: D.rows[names[choose.x]] || axisOf(choose.x).labels.length ? "markers" : "lines+markers", name: plain(c.label), x: places.map((i) => coordinate(choose.x, i)), y: c.labels.length ? values.map((v) => (v === null ? null : plain(c.brief[v]))) : values,
      customdata: places.map((i) => cell(i, 0)), line: { color: PALETTE[0] }, connectgaps: false, hovertemplate: "%{y}<extra></extra>",
      showlegend: first !== undefined, marker: { symbol: symbols.map((s, i) => (values[i] === null ? first : s)), size: 7 } };
  }

  // Of designs that are decided before the worlds are known: how the objective is spread over fresh samples
  function fan(c) {
    const [low, high] = ["fresh_q05", "fresh_q95"].map((name) => COLUMNS.find((o) => o.name === name && o.unit === c.unit));
    if (c.role !== "objective" || !low || !high || D.rows[names[choose.x]]) return [];
    const places = [...Array(count(choose.x)).keys()].filter((i) => low.values[cell(i, 0)] !== null);
    const ends = (o) => places.map((i) => o.values[cell(i, 0)]), x = places.map((i) => coordinate(choose.x, i));
    return [{ type: "scatter", mode: "lines", name: "90 % of fresh samples", x: [...x, ...x.toReversed()], y: [...ends(low), ...ends(high).toReversed()], fill: "toself", hoverinfo: "skip", line: { width: 0 }, fillcolor: `${PALETTE[0]}2e` }];
  }

  function stars() {
    const list = [...pinned].filter(onSlice);
    const c = COLUMNS[choose.what];
    return { type: "scatter", mode: "markers", name: "side by side", customdata: list, x: list.map((at) => coordinate(choose.x, index(at, choose.x))),
      y: list.map((at) => (choose.y < 0 ? named(c, at) : coordinate(choose.y, index(at, choose.y)))),
      hoverinfo: "skip", visible: list.length > 0, marker: { symbol: "star", size: 14, color: "#ffb000", line: { color: "#000", width: 1 } } };
  }

  // The point looked at: its coordinates stand on the axes, or in a line its mark at the bottom
  function stands(i) {
    const x = coordinate(choose.x, index(i, choose.x)), v = named(COLUMNS[choose.what], i);
    if (!onSlice(i) || !kept(i)) return null;
    if (choose.y >= 0) return [x, coordinate(choose.y, index(i, choose.y))];
    return v === null ? [x, BOTTOM, "yaxis2"] : [x, v];
  }

  function draw() {
    const c = COLUMNS[choose.what];
    const flat = choose.y < 0, main = flat ? line(c) : map(c);
    const bare = main.showlegend === false;  // an axis without numbers
    const up = flat ? { title: { text: plain(title(c)) }, automargin: true, ...numbers(c), showticklabels: !bare, showgrid: !bare, zeroline: !bare } : { ...axis(choose.y), automargin: true };
    const without = marks();
    Plotly.react(box, [...(flat ? fan(c) : []), main, ...without, stars()],
      { xaxis: axis(choose.x), yaxis: up, ...(flat ? { yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true } } : {}), hovermode: "closest", showlegend: true, margin: { l: 70, r: 45, t: 40, b: 55 }, modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.12 }, plot_bgcolor: flat ? "#fff" : "#eceff1" }, CONFIG);
  }
  controls();
  draw();
  live(box, () => {
    const found = [];
    for (let j = 0; j < count(choose.y); j++) for (let i = 0; i < count(choose.x); i++) found.push(cell(i, j));
    return found.filter(kept);
  });
  listeners.push((what) => { if (what !== "current") draw(); });
  ringed(box, stands);
}
