"use strict";
// What designs consist of: totals in parts, rooflines, what one percent buys, and how a sampler's front grew.
const MOST_BARS = 12;
const PATTERNS = ["", "/", "x", "-", "\\", "+", ".", "|"];
const INSIDES = D.insides || { sums: [], roofs: [] };

const nameOf = (i) => (POINTS ? `design ${i}` : "the answer");
const designs = () => (POINTS ? chosen(MOST_BARS) : [0]);

// A picture of bars is as high as they need; told twice, since a picture does not look at its box again
function tall(box, pixels) {
  box.style.height = `${pixels}px`;
  return pixels;
}

// Room at the right for the buttons, which stand in two columns beside a low picture
const aside = (pixels) => (pixels < 210 ? 75 : 45);

function drawRates() {
  const box = document.getElementById("rates");
  if (!box) return;
  const names = Object.keys(D.rates).sort((a, b) => Math.abs(D.rates[a]) - Math.abs(D.rates[b]));
  tornado(box, names, [{ name: "", values: names.map((n) => D.rates[n]) }]);
}

function tornado(box, names, groups) {
  const height = tall(box, 110 + (20 + 10 * groups.length) * names.length), brief = apart(names, box.clientWidth < 600 ? TICK_LETTERS : LEGEND_LETTERS).map(plain);
  const colours = (values, k) => (groups.length > 1 ? PALETTE[k % PALETTE.length] : values.map((v) => (v < 0 ? PALETTE[0] : PALETTE[1])));
  Plotly.react(box, groups.map((g, k) => ({ type: "bar", orientation: "h", name: g.name, y: brief, x: g.values,
    marker: { color: colours(g.values, k), pattern: { shape: groups.length > 1 ? PATTERNS[k % PATTERNS.length] : g.values.map((v) => (v < 0 ? "" : "/")), fillmode: "overlay", solidity: 0.25, fgcolor: "#fff" } },
    hovertemplate: "%{y}: %{x:.4~g} %<extra></extra>" })),
  { height, margin: { l: 150, r: aside(height), t: 10, b: 45 }, xaxis: { title: { text: "% of the objective per % more", standoff: 12 }, automargin: true, nticks: 5, tickangle: 0, exponentformat: "e", zeroline: true, zerolinewidth: 1.5 },
    yaxis: { automargin: true }, showlegend: groups.length > 1, modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" } }, config(box));
}

function drawSums(choose) {
  const box = document.getElementById("sums");
  const sum = INSIDES.sums[choose.sum];
  const shownDesigns = designs().filter((i) => Object.values(sum.parts)[0][i] !== null);
  const total = (i) => Object.values(sum.parts).reduce((s, v) => s + (v[i] || 0), 0);
  // nothing has no shares
  const scale = (i) => (!choose.share ? 1 : total(i) ? 100 / total(i) : 0);
  const unit = choose.share ? "%" : sum.unit;
  const up = shownDesigns.map(nameOf);
  const height = tall(box, 145 + 35 * Math.max(shownDesigns.length, 1));
  Plotly.react(box, Object.entries(sum.parts).map(([name, values], k) => ({ type: "bar", orientation: "h", name: plain(name), y: up,
    x: shownDesigns.map((i) => values[i] * scale(i)), customdata: POINTS ? shownDesigns : [],
    marker: { color: PALETTE[k % PALETTE.length], line: { color: "#fff", width: 1 }, pattern: { shape: PATTERNS[k % PATTERNS.length], fillmode: "overlay", solidity: 0.2, fgcolor: "#fff" } },
    hovertemplate: `%{y}<br>${template(name)}: %{x:.4~g} ${template(unit)}<extra></extra>` })),
  { height, barmode: "relative", margin: { l: 90, r: aside(height), t: 10, b: 45 }, xaxis: { title: { text: plain(`${sum.title.split(" by ")[0]}${unit ? ` (${unit})` : ""}`) }, exponentformat: "none", tickformat: "~g" },
    yaxis: { autorange: "reversed", type: "category" }, modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", traceorder: "normal" } }, config(box));
  const heads = ["part", ...shownDesigns.map(nameOf)];
  const rows = Object.entries(sum.parts).map(([name, values]) => [name, ...shownDesigns.map((i) => `${number(values[i])} ${sum.unit}${total(i) ? ` (${Number((100 * values[i] / total(i)).toPrecision(3))} %)` : ""}`)]);
  behind(document.getElementById("sums-table"), `${sum.title}, as a table`, heads, rows);
}

function drawRoofs(choose) {
  const box = document.getElementById("roofs");
  const own = new Set([...pinned]);
  const drawn = INSIDES.roofs.filter((r, k) => choose.roof === -1 || choose.roof === k || r.designs.some((i) => own.has(i)));
  const what = choose.what, unit = INSIDES.units[what];
  const found = [], names = apart(drawn.map((r) => r.name || "at every intensity"), LEGEND_LETTERS);
  drawn.forEach((r, n) => {
    const colour = PALETTE[n % PALETTE.length], name = plain(names[n]);
    found.push({ type: "scatter", mode: "lines", x: r.intensity, y: r.curves[what], name, legendgroup: name, hoverinfo: "skip",
      line: { color: colour, width: 2, dash: ["solid", "dash", "dot", "dashdot", "longdash"][n % 5] } });
    const list = r.designs.map((i, k) => [i, k]).filter(([i]) => !POINTS || kept(i));
    found.push({ type: "scatter", mode: "markers", x: list.map(([, k]) => r.at[k]), y: list.map(([, k]) => r.reached[what][k]), legendgroup: name, showlegend: false,
      customdata: POINTS ? list.map(([i]) => i) : [], text: list.map(([i]) => nameOf(i)), hovertemplate: `%{text}<br>%{x:.4~g} flop/byte, %{y:.4~g} ${template(unit)}<extra>${name}</extra>`,
      marker: { size: list.map(([i]) => (pinned.has(i) ? 14 : 9)), symbol: list.map(([i]) => (pinned.has(i) ? "star" : SHAPES[n % SHAPES.length])), color: colour, line: { color: "#000", width: 0.8 } } });
  });
  const values = drawn.flatMap((r) => r.curves[what]).filter((v) => v > 0);
  Plotly.react(box, found, { margin: { l: 70, r: 45, t: 10, b: 50 }, hovermode: "closest", xaxis: { ...scaled(drawn.flatMap((r) => r.intensity)), title: { text: "intensity (flop/byte)" } },
    yaxis: { ...scaled(values), title: { text: plain(`${what.replace(/_/g, " ")}${unit ? ` (${unit})` : ""}`) } }, modebar: { orientation: "v" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" } }, config(box));
  const rows = drawn.flatMap((r) => r.designs.map((i, k) => [i, [nameOf(i), r.name || "–", number(r.at[k]), ...Object.values(r.reached).map((v) => number(v[k]))]]))
    .filter(([i]) => !POINTS || kept(i)).slice(0, 50).map(([, row]) => row);
  const heads = ["design", "machine", "intensity (flop/byte)", ...Object.keys(INSIDES.units).map((n) => `${n} (${INSIDES.units[n]})`)];
  behind(document.getElementById("roofs-table"), "Designs under the roofline, as a table (the first 50)", heads, rows);
}

// What one percent of each limit buys at the pinned designs, else at the knee, else at the first design
function drawDesignRates() {
  const box = document.getElementById("design-rates");
  const knees = (D.places || []).map((p) => p.knee).filter((i) => i !== null);
  const all = pinned.size ? [...pinned].sort((a, b) => a - b).slice(0, 6) : knees.length ? knees.slice(0, 1) : designs().slice(0, 1);
  const names = Object.keys(INSIDES.rates).filter((n) => all.some((i) => INSIDES.rates[n][i]));
  const reach = (n) => Math.max(...all.map((i) => Math.abs(INSIDES.rates[n][i] || 0)));
  names.sort((a, b) => reach(a) - reach(b));
  const at = all.map(nameOf).join(", "), known = all.some((i) => Object.values(INSIDES.rates).some((values) => values[i] !== null));
  document.getElementById("design-rates-note").textContent = names.length ? `At ${at}.` : known ? `At ${at} the objective is not sensitive to any limit.` : `At ${at} no sensitivity is known.`;
  const table = document.getElementById("design-rates-table");
  // axes without a bar would say something
  box.hidden = table.hidden = !names.length;
  if (!names.length) return;
  tornado(box, names, all.map((i) => ({ name: nameOf(i), values: names.map((n) => INSIDES.rates[n][i] || 0) })));
  behind(table, "The same as a table", ["limit", ...all.map(nameOf)], names.map((n) => [n, ...all.map((i) => `${number(INSIDES.rates[n][i] || 0)} %`)]));
}

function drawTrials() {
  const box = document.getElementById("trials");
  const names = apart(D.trials.map((t) => t.at.join(", ")), LEGEND_LETTERS);
  Plotly.newPlot(box, D.trials.map((t, n) => ({ type: "scatter", mode: "lines", x: t.trials, y: t.values, name: plain(names[n]), line: { shape: "hv", color: PALETTE[n % PALETTE.length] },
    hovertemplate: "after %{x} trials: %{y:.5~g}<extra></extra>" })),
  { margin: { l: 70, r: 45, t: 10, b: 50 }, xaxis: { title: { text: "trials" } }, yaxis: { title: { text: "dominated hypervolume" }, exponentformat: "none", tickformat: "~g", rangemode: "tozero" }, showlegend: D.trials.length > 1 }, config(box));
  document.getElementById("trials-note").textContent = D.trials[0].about;
  const rows = D.trials.flatMap((t) => { const step = Math.ceil(t.trials.length / 20); return t.trials.map((n, k) => [t.at.join(", "), number(n), number(t.values[k])]).filter((_, k) => k % step === 0 || k === t.trials.length - 1); });
  behind(document.getElementById("trials-table"), "The same as a table (every so many trials)", [D.trials.length > 1 ? "place" : "", "trials", "hypervolume"], rows);
}

function startInsides() {
  const parts = [];
  if (document.getElementById("sums")) {
    const choose = { sum: 0, share: 0 };
    const again = () => drawSums(choose);
    document.getElementById("sums-controls").replaceChildren(
      select("sums-what", "shown", INSIDES.sums.map((s, k) => [k, s.title]), 0, (v) => { choose.sum = v; again(); }),
      select("sums-share", "as", [[0, "amounts"], [1, "shares"]], 0, (v) => { choose.share = v; again(); }));
    parts.push(again);
  }
  if (document.getElementById("roofs")) {
    const names = Object.keys(INSIDES.units);
    const all = INSIDES.roofs.length <= PALETTE.length;
    const choose = { what: names[0], roof: all ? -1 : 0 };
    const again = () => drawRoofs(choose);
    const made = [select("roofs-what", "shown", names.map((n, k) => [k, n.replace(/_/g, " ")]), 0, (v) => { choose.what = names[v]; again(); })];
    if (INSIDES.roofs.length > 1) made.push(select("roofs-which", "machine", [...(all ? [[-1, "all"]] : []), ...INSIDES.roofs.map((r, k) => [k, r.name])], choose.roof, (v) => { choose.roof = v; again(); }));
    document.getElementById("roofs-controls").replaceChildren(...made);
    parts.push(again);
  }
  if (document.getElementById("design-rates")) parts.push(drawDesignRates);
  for (const again of parts) again();
  listeners.push((what) => { if (what !== "current") for (const again of parts) again(); });
  for (const id of ["sums", "roofs"]) if (POINTS && document.getElementById(id)) live(document.getElementById(id), () => designs());
  if (document.getElementById("trials")) drawTrials();
}
