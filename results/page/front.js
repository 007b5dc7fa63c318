"use strict";
// The front, or the fronts over swept axes: one objective against another, with what is proved between the designs.
const MOST_SHOWN = 12;   // fronts drawn at first
const MOST_ASKED = 60;   // fronts drawn where that is asked for
const MANY = 2000;  // markers from which on they are painted, not built one by one

function startFront() {
  const goals = COLUMNS.map((c, at) => at).filter((at) => COLUMNS[at].role === "objective");
  const all = COLUMNS.map((c, at) => at).filter((at) => !COLUMNS[at].labels.length && !["bound", "explained"].includes(COLUMNS[at].role));
  // "energy against time": the first goes up
  const choose = { x: goals[1] ?? all[1], y: goals[0] ?? all[0] };
  const names = Object.keys(D.dims), sizes = Object.values(D.dims);
  const dominated = COLUMNS.find((c) => c.name === "dominated" && c.labels.length === 2);
  const several = D.places.length > 1;
  const taken = names.map(() => -1);  // of each axis which value is shown, -1: all
  const many = () => taken.reduce((n, k, axis) => n * (k < 0 ? sizes[axis] : 1), 1);
  for (let axis = names.length - 1; axis >= 0 && many() > MOST_SHOWN; axis--) taken[axis] = 0;
  const box = document.getElementById("front");
  const axisColumn = (name) => COLUMNS.find((c) => c.role === "axis" && c.name === name);

  function controls() {
    const options = all.map((at) => [at, title(COLUMNS[at])]);
    const made = [select("front-x", "across", options, choose.x, (v) => { choose.x = v; draw(); }),
      select("front-y", "up", options, choose.y, (v) => { choose.y = v; draw(); })];
    names.forEach((name, axis) => {
      const stride = sizes.slice(axis + 1).reduce((a, b) => a * b, 1);
      const values = [...Array(sizes[axis]).keys()].map((k) => [k, D.places[k * stride].at[axis]]);
      const label = (axisColumn(name) || { label: name }).label;
      if (sizes[axis] === 1) { made.push(make("span", {}, `${label} ${values[0][1]}`)); return; }
      const everything = many() * (taken[axis] < 0 ? 1 : sizes[axis]) <= MOST_ASKED ? [[-1, "all"]] : [];
      made.push(select(`front-axis-${axis}`, label, [...everything, ...values], taken[axis], (v) => { taken[axis] = v; controls(); draw(); document.getElementById(`front-axis-${axis}`).focus(); }));
    });
    document.getElementById("front-controls").replaceChildren(...made);
  }

  function visible() {
    return D.places.map((place, k) => ({ place, k })).filter(({ k }) => {
      let rest = k;
      for (let axis = names.length - 1; axis >= 0; axis--) {
        const at = rest % sizes[axis];
        rest = Math.floor(rest / sizes[axis]);
        if (taken[axis] >= 0 && taken[axis] !== at) return false;
      }
      return true;
    });
  }

  const members = (place) => [...Array(place.count).keys()].map((k) => place.first + k);
  // a front is told by what tells it from the others that are drawn
  const called = (place) => place.at.filter((_, axis) => taken[axis] < 0).join(", ") || place.at.join(", ");

  function traces() {
    const [x, y] = [COLUMNS[choose.x], COLUMNS[choose.y]];
    const own = goals.length === 2 && goals.includes(choose.x) && goals.includes(choose.y) && choose.x !== choose.y;
    const turned = choose.x !== goals[0];
    const told = (c, v) => `${template(c.label)} %{${v}:.5~g} ${template(c.unit)}`;
    const mode = { type: POINTS > MANY ? "scattergl" : "scatter", hovertemplate: `${told(x, "x")}<br>${told(y, "y")}<extra>%{text}</extra>` };
    const at = (list) => ({ x: list.map((i) => x.values[i]), y: list.map((i) => y.values[i]), customdata: list, text: list.map((i) => `design ${i}`) });
    const found = [], outside = [], drawn = visible().filter(({ place }) => place.count);
    const names = apart(drawn.map(({ place }) => called(place)), LEGEND_LETTERS);
    drawn.forEach(({ place }, n) => {
      const colour = PALETTE[n % PALETTE.length];
      const name = several ? plain(names[n]) : "designs";
      const group = { legendgroup: name };
      if (own && place.band.length) found.push({ ...group, ...curves(place.band, turned), type: "scatter", mode: "lines", fill: "toself", hoverinfo: "skip",
        line: { color: colour, width: 0.6 }, fillcolor: `${colour}38`, showlegend: !several, name: place.width === 0 ? "the front itself" : `the front lies inside${width(place)}` });
      if (own && place.lines.length) found.push({ ...group, ...curves(place.lines, turned), type: "scatter", mode: "lines", hoverinfo: "skip",
        line: { color: colour, width: 1.5 }, showlegend: !several, name: "exact between designs" });
      const mine = members(place).filter((i) => kept(i) || !outside.push(i));
      const third = goals.length > 2 && !several ? COLUMNS[goals.find((g) => g !== choose.x && g !== choose.y)] : null;
      const shades = third ? along(third) : [];
      const marker = third ? { color: mine.map((i) => shades[i]), colorscale: "Cividis", showscale: true, colorbar: colourBar(third, shades) } : { color: colour };
      found.push({ ...mode, ...group, ...at(mine), mode: "markers", name, marker: { size: POINTS > MANY ? 5 : 8, ...marker,
        symbol: mine.map((i) => symbol(i, n)), line: { color: colour, width: 1.5 } } });
    });
    found.push({ ...mode, ...at(outside), mode: "markers", name: "outside the ranges", visible: outside.length > 0, marker: { color: "#c8ccd0", size: 5 } });
    const fresh = (c, end) => COLUMNS.find((o) => o.name === `${c.name}_fresh${end}` && o.unit === c.unit);
    if ([x, y].every((c) => ["", "_low", "_high"].every((end) => fresh(c, end)))) {
      const list = drawn.flatMap(({ place }) => members(place)).filter(kept);
      const ends = (c) => ({ type: "data", symmetric: false, width: 4, color: "#57606a", array: list.map((i) => fresh(c, "_high").values[i] - fresh(c, "").values[i]), arrayminus: list.map((i) => fresh(c, "").values[i] - fresh(c, "_low").values[i]) });
      found.push({ ...mode, type: "scatter", mode: "markers", name: "in fresh samples, 95 % interval", x: list.map((i) => fresh(x, "").values[i]), y: list.map((i) => fresh(y, "").values[i]), customdata: list,
        text: list.map((i) => `design ${i} in fresh samples`), error_x: ends(x), error_y: ends(y), marker: { symbol: "x-thin-open", size: 8, color: "#57606a" } });
    }
    const knees = own ? drawn.map(({ place }) => place.knee).filter((i) => i !== null && kept(i)) : [];
    found.push({ ...mode, type: "scatter", ...at(knees), mode: "markers", name: "knee", visible: knees.length > 0,
      marker: { size: 16, symbol: "circle-open", color: "#1b1f24", line: { width: 2 } } });
    const within = (i) => drawn.some(({ place }) => i >= place.first && i < place.first + place.count);
    found.push({ ...mode, type: "scatter", ...at([...pinned].filter(within).sort((a, b) => a - b)), mode: "markers+text", name: "side by side", texttemplate: "%{customdata}",
      textposition: "top right", visible: pinned.size > 0, marker: { size: 14, symbol: "star", color: "#ffb000", line: { color: "#000", width: 1 } } });
    return found;
  }

  // Filled: as good as its status says; hollow: dominated by a design of another place
  function symbol(i, n) {
    const shape = several ? SHAPES[n % SHAPES.length] : SYMBOLS[status(i)] || "circle";
    return dominated && dominated.values[i] === 1 ? `${shape}-open` : shape;
  }

  const width = (place) => (place.width === null ? "" : ` (at most ${percent(place.width)} wide)`);

  function curves(list, turned) {
    const xs = list.flatMap(([x]) => [...x, null]), ys = list.flatMap(([, y]) => [...y, null]);
    return turned ? { x: ys, y: xs } : { x: xs, y: ys };
  }

  function draw() {
    const axis = (c) => ({ title: { text: plain(title(c)) }, automargin: true, ...numbers(c) });
    Plotly.react(box, traces(), { xaxis: axis(COLUMNS[choose.x]), yaxis: axis(COLUMNS[choose.y]), hovermode: "closest", margin: { l: 70, r: 45, t: 10, b: 55 },
      modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, uirevision: `${choose.x} ${choose.y}`, shapes: [] }, config(box));
    document.getElementById("front-note").textContent = notes();
  }

  function notes() {
    const drawn = visible().map(({ place }) => place);
    const widths = drawn.map((p) => p.width).filter((w) => w !== null);
    const said = [];
    if (widths.length && Math.max(...widths) === 0) said.push("The front is known exactly, between the designs as well.");
    else if (widths.length) said.push(`Between the designs the front lies inside the shaded area, which is at most ${percent(Math.max(...widths))} wide; proof: ${drawn.find((p) => p.proof).proof}.`);
    const unproved = drawn.flatMap(members).filter((i) => status(i) === "feasible").length;
    if (unproved) said.push(`${several ? `${unproved} designs` : "Diamonds"}: feasible, not proved optimal.`);
    if (dominated && drawn.flatMap(members).some((i) => dominated.values[i] === 1)) said.push("Hollow: a design of another front is at least as good in all objectives and better in one.");
    const empty = drawn.filter((p) => !p.count);
    if (empty.length) said.push(`Without a front: ${empty.map((p) => `${p.at.join(", ")} (${p.refusal.split(". ")[0]})`).slice(0, 6).join("; ")}${empty.length > 6 ? "; …" : ""}.`);
    return said.join(" ");
  }

  controls();
  draw();
  live(box, () => visible().flatMap(({ place }) => members(place)).filter(kept));
  listeners.push((what) => { if (what !== "current") draw(); });
  ringed(box, (i) => visible().some(({ place }) => place === placeOf(i)) && [COLUMNS[choose.x].values[i], COLUMNS[choose.y].values[i]]);
}
