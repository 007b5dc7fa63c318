"use strict";
// Designs as tables: the one looked at, those side by side, and all that the ranges leave.
const ROWS_PER_PAGE = 50;
const PRINTED_COLUMNS = 12;  // page.css hides the others on paper
let page = 0;

const placeOf = (i) => (D.places || []).find((p) => i >= p.first && i < p.first + p.count);

// What stands beside an answer (ranges, sensitivities, next changes) is told of the designs that are looked at only
const explains = (c) => c.role === "explained";
const told = (c, i) => !explains(c) || (c.values[i] !== null && shown(c, i) !== "");

// One design as a table of its own: what is decided first, then what comes of it
function facts(i) {
  const body = make("table", {}, make("caption", {}, `${D.kind === "front" ? "design" : "point"} ${i}: ${status(i)}`));
  const row = (head, cell, about, words) => body.append(make("tr", {}, make("th", { scope: "row", title: about || null }, head), make("td", { class: words ? null : "number" }, cell)));
  for (const c of COLUMNS.filter((c) => told(c, i))) row(c.label, shown(c, i) + (c.unit && c.values[i] !== null ? ` ${c.unit}` : ""), c.about, c.labels.length > 0);
  const rate = exchange(i);
  if (rate) row("exchange rate", rate, "", true);
  if (limits(i).length) row(status(i) === "infeasible" ? "in conflict" : "binding", limits(i).join(", "), "", true);
  return body;
}

function exchange(i) {
  const place = placeOf(i);
  const changes = place ? place.exchange[i - place.first] : null;
  if (!changes) return "";
  const [a, b] = COLUMNS.filter((c) => c.role === "objective").map((c, k) => `${Math.abs(changes[k])} % ${changes[k] < 0 ? "less" : "more"} ${c.label}`);
  return `${changes[0] === 1 ? "at the mean slope up to" : "up to"} the next design, ${a} brings ${b}`;
}

function hover(i) {
  const card = document.getElementById("hover");
  if (card) card.replaceChildren(facts(i));
}

function drawPins() {
  const table = document.getElementById("pins");
  const all = [...pinned].sort((a, b) => a - b);
  document.getElementById("no-pins").hidden = all.length > 0;
  document.getElementById("unpin").hidden = all.length === 0;
  table.replaceChildren();
  if (!all.length) return;
  table.append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "quantity"),
    ...all.map((i) => make("th", { scope: "col", class: "number" }, `design ${i} `,
      make("button", { type: "button", "aria-label": `remove design ${i}`, onclick: () => pin(i) }, "×"))))));
  const body = make("tbody", {});
  const row = (head, cells, about) => body.append(make("tr", {}, make("th", { scope: "row", title: about || null }, head),
    ...cells.map((cell) => make("td", { class: cell.length < 24 ? "number" : "text" }, cell))));
  row("status", all.map(status));
  for (const c of COLUMNS.filter((c) => all.some((i) => told(c, i)))) {
    const cells = all.map((i) => shown(c, i));
    row(title(c), cells, c.about);
    if (new Set(cells).size > 1) body.lastChild.className = "differs";
  }
  if (all.some((i) => limits(i).length)) row("binding limits", all.map((i) => limits(i).join(", ") || "–"));
  if (all.some(exchange)) row("exchange rate", all.map((i) => exchange(i) || "–"));
  table.append(body);
}

// What is told of designs beside their numbers
function further() {
  const found = [];
  if (D.limits.texts.some((names) => names.length)) found.push(["binding, or in conflict", (i) => limits(i).join(", ")]);
  if ((D.places || []).some((p) => p.exchange.some((changes) => changes !== null))) found.push(["exchange rate", exchange]);
  return found;
}

// A row has one line: a long text is cut, and stands whole where the pointer rests and in the design's own table
function long(text, cut = text) {
  return make("td", { class: "text", title: text.length > 24 ? text : null }, cut);
}

function drawDesigns() {
  const left = inside();
  const pages = Math.max(1, Math.ceil(left.length / ROWS_PER_PAGE));
  page = Math.min(page, pages - 1);
  const out = D.left_out ? ` (${D.left_out} more points of the dataset were left out of this page)` : "";
  // of a sweep not every point has a design
  const designs = left.filter(answered).length;
  const having = D.kind === "front" || designs === left.length ? "" : `, ${designs} of them ${evaluates() ? "within the limits" : "with a design"}`;
  document.getElementById("count").textContent = `${left.length} of ${POINTS} ${D.kind === "front" ? "designs" : "points"}${having}${out}`;
  const more = further();
  const listed = COLUMNS.filter((c) => !explains(c));
  const cells = listed.map((c) => apart(c.labels, CELL_LETTERS));
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "design"), make("th", { scope: "col" }, "status"),
    ...listed.map((c) => make("th", { scope: "col", class: c.labels.length ? "" : "number", title: c.about || null }, title(c))),
    ...more.map(([name]) => make("th", { scope: "col" }, name))));
  const body = make("tbody", {});
  for (const i of left.slice(page * ROWS_PER_PAGE, (page + 1) * ROWS_PER_PAGE)) {
    const button = make("button", { type: "button", "aria-pressed": pinned.has(i) ? "true" : "false", "data-design": i,
      "aria-label": `put design ${i} side by side`, onclick: () => pin(i), onfocus: () => look(i) }, `${i}`);
    body.append(make("tr", { class: pinned.has(i) ? "pinned" : null, onmouseenter: () => look(i) },
      make("td", {}, button), make("td", {}, status(i)),
      ...listed.map((c, k) => (c.labels.length ? long(shown(c, i), cells[k][c.values[i]] ?? shown(c, i)) : make("td", { class: "number" }, shown(c, i)))),
      ...more.map(([, cell]) => long(cell(i)))));
  }
  document.getElementById("designs").replaceChildren(head, body);
  // what the style sheet and the pages of the table leave out where the page is printed
  const columns = listed.length + more.length + 2, rows = body.childElementCount;
  const cut = [...(rows < left.length ? [`rows ${page * ROWS_PER_PAGE + 1} to ${page * ROWS_PER_PAGE + rows} of ${left.length}`] : []),
    ...(columns > PRINTED_COLUMNS ? [`the first ${PRINTED_COLUMNS} of ${columns} columns`] : [])];
  document.getElementById("onpaper").textContent = cut.length ? `On paper: ${cut.join(", ")}. All of them: this page on a screen, or dse export.` : "";
  const go = (to) => { page = to; drawDesigns(); };
  document.getElementById("pages").replaceChildren(
    make("button", { type: "button", disabled: page === 0, onclick: () => go(page - 1) }, "previous"),
    make("span", {}, `page ${page + 1} of ${pages}`),
    make("button", { type: "button", disabled: page === pages - 1, onclick: () => go(page + 1) }, "next"));
}

// Pins change the look of rows only: whoever stands on a button keeps standing there
function markPins() {
  for (const button of document.querySelectorAll("#designs button[data-design]")) {
    const is = pinned.has(Number(button.dataset.design));
    button.setAttribute("aria-pressed", is ? "true" : "false");
    button.closest("tr").className = is ? "pinned" : "";
  }
}

function startTables() {
  document.getElementById("unpin").addEventListener("click", () => { pinned.clear(); changed("pins"); });
  const dropped = D.dropped || [];
  if (dropped.length) document.getElementById("dropped").textContent = `Left out to limit the size of this page: ${dropped.join(", ")}.`;
  drawPins();
  drawDesigns();
  listeners.push((what) => {
    if (what === "pins") { drawPins(); markPins(); }
    else if (what !== "current") { page = 0; drawDesigns(); }
  });
}
