"use strict";
// A sweep: one quantity along one of its axes, as a line or as one line for each name of a second axis, or as a map over
// two axes; a slider for each of the others.
const BOTTOM = 0.03, ABOVE = 0.035;  // where in a picture of lines marks stand of points without a number: of the first line, and of each next one above it
const MOST_NAMES = 8;  // lines in one picture
const MARKS = ["x-thin-open", "cross-thin-open", "asterisk-open", "hash-open", "y-up-open"];
const MARKS_ON_CELLS = ["x", "cross", "star-diamond", "hourglass", "triangle-down"];
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
  const labelled = (k) => !(names[k] in D.rows) && COLUMNS.find((c) => c.role === "axis" && c.name === names[k]).labels.length > 0;
  const listable = (k) => labelled(k) && sizes[k] > 1 && sizes[k] <= MOST_NAMES;
  const choose = { what: things.find((at) => COLUMNS[at].role === "objective") ?? things[0], x: longest[0],
    y: sizes[longest[1]] > 1 ? longest[1] : -1, each: -1, at: sizes.map(() => 0) };
  // names have no order and no distances: over numbers each of a few has a line of its own
  const [listed, along] = [longest.slice(0, 2).find(listable), longest.slice(0, 2).find((k) => sizes[k] > 1 && !labelled(k) && !(names[k] in D.rows))];
  if (listed !== undefined && along !== undefined) Object.assign(choose, { x: along, y: -1, each: listed });
  const other = () => (choose.y < 0 ? choose.each : choose.y);
  const box = document.getElementById("sweep");
  const index = (at, k) => Math.floor(at / stride[k]) % sizes[k];
  const onSlice = (at) => names.every((_, k) => k === choose.x || k === other() || index(at, k) === choose.at[k]);
  const point = (place) => place.reduce((sum, i, k) => sum + i * stride[k], 0);
  const named = (c, at) => (c.labels.length && c.values[at] !== null ? plain(c.brief[c.values[at]]) : c.values[at]);
  const coordinate = (k, i) => { const c = axisOf(k); const at = point(choose.at.map((_, m) => (m === k ? i : 0))); return named(c, at); };

  const asked = (id, word, options, value, on) => select(id, word, options, value, (v) => { on(v); controls(); draw(); document.getElementById(id).focus(); });

  function controls() {
    const every = names.map((name, k) => [k, D.rows[name] ? plain(name) : title(axisOf(k))]).filter(([k]) => sizes[k] > 1 || k === choose.x);
    const made = [asked("sweep-what", "shown", things.map((at) => [at, title(COLUMNS[at])]), choose.what, (v) => { choose.what = v; }),
      asked("sweep-x", "across", every, choose.x, across)];
    const each = every.filter(([k]) => k !== choose.x && listable(k)).map(([k, text]) => [-2 - k, `one line for each: ${text}`]);
    if (every.length > 1) made.push(asked("sweep-y", "up", [[-1, "(nothing: a line)"], ...each, ...every], choose.y < 0 && choose.each >= 0 ? -2 - choose.each : choose.y, up));
    const rows = D.rows[names[choose.x]];
    if (rows && choose.y < 0) {
      const listed = [...rows, names[choose.x]];
      made.push(asked("sweep-by", "by", listed.map((name, n) => [n, title(COLUMNS.find((c) => c.role === "axis" && c.name === name))]),
        listed.indexOf(by[choose.x]), (n) => { by[choose.x] = listed[n]; }));
    }
    names.forEach((name, k) => {
      if (k === choose.x || k === other()) return;
      const told = make("output", {}, said(k));
      if (sizes[k] === 1) { made.push(make("span", {}, `${axisOf(k).label} `, told)); return; }
      made.push(make("label", {}, `${axisOf(k).label} `, make("input", { type: "range", min: 0, max: sizes[k] - 1, step: 1, value: choose.at[k],
        "aria-label": axisOf(k).label, "data-axis": name, oninput: (e) => { choose.at[k] = Number(e.target.value); told.textContent = said(k); draw(); } }), told));
    });
    document.getElementById("sweep-controls").replaceChildren(...made);
  }

  function across(k) {
    if (k === choose.y) choose.y = choose.x;
    if (k === choose.each) choose.each = listable(choose.x) ? choose.x : -1;
    choose.x = k;
  }

  // An axis for a map; -1: none, a line; -2 - k: one line for each name of axis k
  function up(v) {
    const before = other();
    if (v === choose.x) choose.x = before < 0 ? v : before;
    choose.y = v < 0 || v === choose.x ? -1 : v;
    choose.each = v < -1 ? -2 - v : -1;
  }

  function said(k) {
    const c = axisOf(k);
    return `${shown(c, point(choose.at.map((_, m) => (m === k ? choose.at[k] : 0))))} ${c.unit}`.trim();
  }

  function cell(i, j) {
    return point(choose.at.map((v, k) => (k === choose.x ? i : k === other() ? j : v)));
  }

  const axis = (k) => { const c = axisOf(k); return { title: { text: plain(title(c)) }, automargin: true, ...numbers(c) }; };
  const count = (k) => (k < 0 ? 1 : sizes[k]);

  // of the lines: names, and what a point is drawn as
  const lineNames = () => { const c = axisOf(choose.each); return apart([...Array(count(choose.each)).keys()].map((j) => c.labels[c.values[cell(0, j)]]), LEGEND_LETTERS); };
  const colour = (j) => PALETTE[j % PALETTE.length];
  const symbol = (at, j) => (choose.each < 0 ? SYMBOLS[status(at) === "feasible" ? "feasible" : "optimal"] : `${SHAPES[j]}${status(at) === "feasible" ? "-open" : ""}`);

  // What is said of a point that has no number, or that breaks limits
  function trouble(at) {
    const without = COLUMNS[choose.what].values[at] === null;
    if (answered(at)) return without ? "no such number" : "";
    const broken = status(at) === "infeasible" ? limits(at).map((name) => name.replace(/ \(feasible at .*/, "")).join(", ") : "";
    return broken ? `${without ? "no design" : "infeasible"}: ${broken}` : status(at);
  }

  function marks() {
    const groups = new Map(), c = COLUMNS[choose.what], flat = choose.y < 0, many = choose.each >= 0 ? lineNames() : [];
    for (let i = 0; i < count(choose.x); i++) for (let j = 0; j < count(other()); j++) {
      const at = cell(i, j), told = trouble(at), there = c.values[at] !== null;
      if (!told || (there && !kept(at))) continue;
      const key = `${told} ${there}`;
      if (!groups.has(key)) groups.set(key, { told, there, list: [] });
      groups.get(key).list.push([i, j, at]);
    }
    const found = [...groups.values()].map(({ told, there, list }, n) => ({ type: "scatter", mode: "markers", name: plain(told), x: list.map((p) => coordinate(choose.x, p[0])), customdata: list.map((p) => p[2]),
      ...(!flat ? { y: list.map((p) => coordinate(choose.y, p[1])) } : there ? { y: list.map((p) => named(c, p[2])) } : { y: list.map((p) => BOTTOM + ABOVE * p[1]), yaxis: "y2" }),
      text: list.map((p) => plain(many[p[1]] ?? "")), hovertemplate: `${template(told)}<extra>%{text}</extra>`,
      marker: there && !flat ? { symbol: MARKS_ON_CELLS[n % MARKS_ON_CELLS.length], size: 10, color: "#fff", line: { color: "#000", width: 1 } }
        : { symbol: MARKS[n % MARKS.length], ...(there ? { size: 11, color: "#1b1f24" } : { size: 8, color: many.length ? list.map((p) => colour(p[1])) : "#57606a" }) } }));
    const unproved = flat && [...Array(count(choose.x) * count(other())).keys()].map((n) => cell(n % count(choose.x), Math.floor(n / count(choose.x)))).some((at) => status(at) === "feasible" && kept(at) && c.values[at] !== null);
    // these are marks of the lines themselves
    if (unproved) found.push({ type: "scatter", mode: "markers", name: many.length ? "hollow: feasible, not proved optimal" : "feasible, not proved optimal", x: [null], y: [null], hoverinfo: "skip", marker: { symbol: many.length ? "circle-open" : SYMBOLS.feasible, color: colour(0), size: 7 } });
    return found;
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

  function line(c, j, name) {
    const places = [...Array(count(choose.x)).keys()];
    const values = places.map((i) => (kept(cell(i, j)) ? c.values[cell(i, j)] : null));
    // the legend shows the first mark, which is to be one that is drawn
    const symbols = places.map((i) => symbol(cell(i, j), j)), first = symbols.find((_, i) => values[i] !== null);
    return { type: "scatter", mode: D.rows[names[choose.x]] || axisOf(choose.x).labels.length || axisOf(choose.x).whole ? "markers" : "lines+markers", name: plain(name), x: places.map((i) => coordinate(choose.x, i)), y: c.labels.length ? values.map((v) => (v === null ? null : plain(c.brief[v]))) : values,
      customdata: places.map((i) => cell(i, j)), line: { color: colour(j) }, connectgaps: false, hovertemplate: `%{y}<extra>${choose.each < 0 ? "" : plain(name)}</extra>`,
      showlegend: choose.each >= 0 || first !== undefined, marker: { symbol: symbols.map((s, i) => (values[i] === null ? first ?? s : s)), size: 7 } };
  }

  // Where the order of the lines changes
  function crossings(c) {
    const places = D.crossings[names[choose.x]] ?? [];
    if (choose.each < 0 || c.role !== "objective" || !places.length) return [];
    return [{ type: "scatter", mode: "lines", name: "the order changes", x: places.flatMap((x) => [x, x, null]), y: places.flatMap(() => [0, 1, null]), yaxis: "y2", hoverinfo: "skip", line: { color: "#57606a", width: 1, dash: "dash" } }];
  }

  // Of designs that are decided before the worlds are known: how the objective is spread over fresh samples
  function fan(c, j) {
    const [low, high] = ["fresh_q05", "fresh_q95"].map((name) => COLUMNS.find((o) => o.name === name && o.unit === c.unit));
    if (c.role !== "objective" || !low || !high || D.rows[names[choose.x]]) return [];
    const places = [...Array(count(choose.x)).keys()].filter((i) => low.values[cell(i, j)] !== null);
    const ends = (o) => places.map((i) => o.values[cell(i, j)]), x = places.map((i) => coordinate(choose.x, i));
    return [{ type: "scatter", mode: "lines", name: "90 % of fresh samples", showlegend: j === 0, x: [...x, ...x.toReversed()], y: [...ends(low), ...ends(high).toReversed()], fill: "toself", hoverinfo: "skip", line: { width: 0, color: colour(j) }, fillcolor: `${colour(j)}2e` }];
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
    return v === null ? [x, BOTTOM + (choose.each < 0 ? 0 : ABOVE * index(i, choose.each)), "yaxis2"] : [x, v];
  }

  function draw() {
    const c = COLUMNS[choose.what];
    const flat = choose.y < 0, lines = !flat ? [] : choose.each < 0 ? [c.label] : lineNames();
    const main = flat ? lines.map((name, j) => line(c, j, name)) : [map(c)];
    const bare = flat && main.every((one) => one.y.every((v) => v === null));  // an axis without numbers
    const vertical = flat ? { title: { text: plain(title(c)) }, automargin: true, ...numbers(c), showticklabels: !bare, showgrid: !bare, zeroline: !bare } : axis(choose.y);
    Plotly.react(box, [...lines.flatMap((_, j) => fan(c, j)), ...main, ...marks(), ...(flat ? crossings(c) : []), stars()],
      { xaxis: axis(choose.x), yaxis: vertical, ...(flat ? { yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true } } : {}), hovermode: "closest", showlegend: true, margin: { l: 70, r: 45, t: flat ? 10 : 40, b: 55 }, modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, plot_bgcolor: flat ? "#fff" : "#eceff1" }, config(box));
  }

  controls();
  draw();
  live(box, () => {
    const found = [];
    for (let j = 0; j < count(other()); j++) for (let i = 0; i < count(choose.x); i++) found.push(cell(i, j));
    return found.filter(kept);
  });
  listeners.push((what) => { if (what !== "current") draw(); });
  ringed(box, stands);
}
