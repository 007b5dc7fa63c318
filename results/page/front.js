"use strict";
// The front: one objective against another, all other designs of the page greyed where ranges leave them out.
function startFront() {
  const goals = COLUMNS.map((c, at) => at).filter((at) => COLUMNS[at].role === "objective");
  const all = COLUMNS.map((c, at) => at).filter((at) => !COLUMNS[at].labels.length && COLUMNS[at].role !== "bound");
  const choose = { x: goals[0] ?? all[0], y: goals[1] ?? all[1] };
  const picker = (which, word) => {
    const select = make("select", { id: `front-${which}`, onchange: (e) => { choose[which] = Number(e.target.value); draw(); } },
      ...all.map((at) => make("option", { value: at, selected: at === choose[which] }, title(COLUMNS[at]))));
    return make("label", {}, `${word} `, select);
  };
  document.getElementById("front-controls").replaceChildren(picker("x", "across"), picker("y", "up"));
  const box = document.getElementById("front");

  function traces() {
    const [x, y] = [COLUMNS[choose.x], COLUMNS[choose.y]];
    const inside = [], outside = [], pins = [...pinned].sort((a, b) => a - b);
    for (let i = 0; i < POINTS; i++) (kept(i) ? inside : outside).push(i);
    const at = (list) => ({ x: list.map((i) => x.values[i]), y: list.map((i) => y.values[i]), customdata: list });
    const third = goals.length > 2 ? COLUMNS[goals.find((g) => g !== choose.x && g !== choose.y)] : null;
    const colour = third ? { color: inside.map((i) => third.values[i]), colorscale: "Cividis", showscale: true,
      colorbar: { title: { text: plain(title(third)) } } } : { color: PALETTE[0] };
    const short = (list) => list.map((i) => `${plain(x.label)} ${shown(x, i)} ${plain(x.unit)}<br>${plain(y.label)} ${shown(y, i)} ${plain(y.unit)}`);
    const mode = { type: "scatter", hovertemplate: "%{text}<extra></extra>" };
    const found = [];
    const own = goals.includes(choose.x) && goals.includes(choose.y);
    if (own && D.joined.some((j) => j === 1)) found.push(segments(x, y));
    found.push({ ...mode, ...at(outside), text: short(outside), mode: "markers", name: "outside the ranges", marker: { color: "#c8ccd0", size: 6 } });
    found.push({ ...mode, ...at(inside), text: short(inside), mode: "markers", name: "designs",
      marker: { size: 8, symbol: inside.map((i) => SYMBOLS[D.status[i]] || "circle"), ...colour } });
    found.push({ ...mode, ...at(pins), text: short(pins), mode: "markers+text", name: "side by side", texttemplate: "%{customdata}",
      textposition: "top right", marker: { size: 14, symbol: "star", color: PALETTE[4], line: { color: "#000", width: 1 } } });
    if (own && D.knee !== null && kept(D.knee)) found.push({ ...mode, ...at([D.knee]), text: short([D.knee]), mode: "markers", name: "knee",
      marker: { size: 15, symbol: "circle-open", color: PALETTE[1], line: { width: 2.5 } } });
    return found;
  }

  function segments(x, y) {
    const xs = [], ys = [];
    D.joined.forEach((j, i) => { if (j === 1) { xs.push(x.values[i], x.values[i + 1], null); ys.push(y.values[i], y.values[i + 1], null); } });
    return { type: "scatter", x: xs, y: ys, mode: "lines", name: "exact between points", hoverinfo: "skip", line: { color: PALETTE[0], width: 1.5 } };
  }

  function draw() {
    const [x, y] = [COLUMNS[choose.x], COLUMNS[choose.y]];
    const axis = (c) => ({ title: { text: plain(title(c)) }, automargin: true, ...numbers(c) });
    Plotly.react(box, traces(), { xaxis: axis(x), yaxis: axis(y), hovermode: "closest", margin: { l: 70, r: 20, t: 10, b: 55 },
      legend: { orientation: "h", y: 1.06 } }, CONFIG);
  }
  draw();
  const index = (event) => event.points.find((p) => Number.isInteger(p.customdata));
  box.on("plotly_hover", (event) => { const p = index(event); if (p) hover(p.customdata); });
  box.on("plotly_click", (event) => { const p = index(event); if (p) pin(p.customdata); });
  listeners.push(draw);
}
