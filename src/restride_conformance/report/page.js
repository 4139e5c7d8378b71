"use strict";

// The fragment is the state: #verdict=FAILED&op=slice&type=u8&layouts=...&search=...&sort=...&page=2.
// Links and the form change it, and every change of it draws the list anew. Text goes in as text, never as markup.

const report = JSON.parse(document.getElementById("data").textContent);
const PAGE = 100;
const SLOWEST = 10;
const REASONS = 15;
const MANY = 7; // more operations are drawn in narrower columns
const NOT_RIGHT = "not right";
const ORDERS = {
  "": "worst and smallest first", run: "as they ran", slow: "slowest run", call: "slowest call", copy: "least of the copy's rate",
};
const severity = new Map(report.verdicts.map((verdict, place) => [verdict.name, place]));
const isGood = new Map(report.verdicts.map((verdict) => [verdict.name, verdict.good]));
const hasSpeeds = report.cases.some((one) => one.speed);
for (const one of report.cases) one.text = `${one.case}\n${one.message || ""}`.toLowerCase();

const byId = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en");

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Lines break between words only, unless a word is wider than its place: a browser would break behind every hyphen.
function words(text, between = " ") {
  return text.split(between).flatMap((word) => [make("span", { className: "word" }, word), " "]).slice(0, -1);
}

// The name of an operation, which may go on in the next line after each "_".
function parts(name) {
  return name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]).slice(0, -1);
}

function time(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${(seconds * 1e6).toFixed(0)} µs`;
}

function rate(gigabytes) {
  return gigabytes >= 0.1 ? `${gigabytes.toPrecision(3)} GB/s` : `${(gigabytes * 1e3).toPrecision(3)} MB/s`;
}

function fragment(wanted) {
  const set = Object.entries(wanted).filter(([, value]) => value);
  return `#${new URLSearchParams(set)}` === "#" ? "#all" : `#${new URLSearchParams(set)}`;
}

function counted(cases) {
  const found = new Map();
  for (const { verdict } of cases) found.set(verdict, (found.get(verdict) || 0) + 1);
  return [...found].sort(([a], [b]) => severity.get(b) - severity.get(a));
}

// The head of the page.

function drawHead() {
  const facts = Object.fromEntries(report.facts);
  const shader = facts["shader under test"];
  byId("device").textContent = [facts.device, facts.driver, shader && `shader ${shader}`].filter(Boolean).join(", ");
  byId("headline").textContent = report.headline;
  byId("headline").className = report.tone;
  byId("counts").append(make("a", { href: "#all" }, "all ", make("b", {}, count(report.cases.length))));
  for (const [verdict, number] of counted(report.cases)) {
    byId("counts").append(
      make("a", { href: fragment({ verdict }), className: verdict }, `${verdict} `, make("b", {}, count(number))),
    );
  }
  const pairs = (list) => list.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  byId("facts").append(...pairs(report.facts));
  byId("limits").querySelector("dl").append(...pairs(report.limits));
  const ran = report.cases.filter((one) => one.verdict !== "SKIPPED");
  const slowest = ran.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  byId("slowest").append(...slowest.map((one) => line(time(one.seconds), one.case, { search: one.case })));
  const smallest = report.cases.filter((one) => !isGood.get(one.verdict)).sort((a, b) => a.elements - b.elements)[0];
  byId("smallest").hidden = !smallest;
  if (smallest) byId("smallest").querySelector("ol").append(row(smallest));
  byId("reasons").hidden = !report.skipped.length;
  byId("reasons").querySelector("ol").append(
    ...report.skipped.slice(0, REASONS).map(([why, number]) => line(count(number), why, { verdict: "SKIPPED", search: why })),
  );
  if (report.skipped.length > REASONS) {
    const others = report.skipped.slice(REASONS).reduce((sum, [, number]) => sum + number, 0);
    byId("reasons").querySelector("ol").append(line(count(others), "for other reasons", { verdict: "SKIPPED" }));
  }
}

function line(number, text, wanted) {
  return make("li", {}, make("span", {}, number), make("a", { href: fragment(wanted) }, ...words(text)));
}

// A matrix: a row for each value of `key`, a column for each operation.

function drawMatrix(place, key, first, names) {
  const cells = new Map();
  for (const one of report.cases) {
    const name = `${one.op}\n${one[key]}`;
    if (!cells.has(name)) cells.set(name, []);
    cells.get(name).push(one);
  }
  const head = make("tr", {}, make("th", { scope: "col" }, first));
  // Columns of equal width, unless one needs more.
  const width = `width: ${85 / report.ops.length}%`;
  head.append(...report.ops.map((op) => make("th", { scope: "col", style: width }, ...parts(op))));
  const body = names.map((name) => {
    const row = make("tr", {}, make("th", { scope: "row" }, ...words(name.replace(" →", "\u00a0→"))));
    row.append(...report.ops.map((op) => cell(cells.get(`${op}\n${name}`), { op, [key]: name })));
    return row;
  });
  document.documentElement.style.setProperty("--columns", report.ops.length);
  const caption = "✓ passed, ✗ not right, of those that ran";
  const className = report.ops.length > MANY ? "many" : "";
  place.append(make("table", { className }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body)));
}

function cell(cases, wanted) {
  if (!cases) return make("td");
  const verdicts = counted(cases);
  const [worst] = verdicts[0];
  const bad = cases.filter((one) => !isGood.get(one.verdict)).length;
  const passed = cases.filter((one) => one.verdict === "PASSED").length;
  const skipped = cases.filter((one) => one.verdict === "SKIPPED").length;
  const all = verdicts.map(([verdict, number]) => `${count(number)} ${verdict}`).join(", ");
  const kinds = verdicts.filter(([verdict]) => verdict !== "PASSED").map(([verdict, number]) => `${count(number)} ${verdict.toLowerCase()}`);
  const [sign, number] = bad ? ["✗", ` ${count(bad)} of ${count(cases.length - skipped)}`] : passed ? ["✓", ` ${count(passed)}`] : ["", ""];
  const ran = sign + number;
  const said = make("span", { className: "said" }, number);
  const link = make("a", { href: fragment(wanted), title: all }, sign || make("span", { className: "sign only" }, "–"), said);
  link.setAttribute("aria-label", `${Object.values(wanted).join(", ")}: ${[ran, ...kinds].filter(Boolean).join(", ")}`);
  const others = kinds.filter((kind) => kind !== `${count(bad)} failed`);  // which the sign and its number show
  if (ran && others.length) said.append(" ", make("small", {}, ...words(others.join(",\n"), "\n")));
  else said.append(...others);
  const td = make("td", { className: !bad && passed ? "PASSED" : worst }, link);
  td.dataset.op = wanted.op;
  return td;
}

// The list.

function wantedNow() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function chosen(wanted) {
  const words = (wanted.search || "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = report.cases.filter((one) =>
    (!wanted.verdict || one.verdict === wanted.verdict || (wanted.verdict === NOT_RIGHT && !isGood.get(one.verdict)))
    && (!wanted.op || one.op === wanted.op)
    && (!wanted.type || one.type === wanted.type)
    && (!wanted.layouts || one.layouts === wanted.layouts)
    && words.every((word) => one.text.includes(word)));
  const order = {
    "": (a, b) => severity.get(b.verdict) - severity.get(a.verdict) 
      || (isGood.get(a.verdict) ? 0 : a.elements - b.elements),
    slow: (a, b) => b.seconds - a.seconds,
    call: (a, b) => (b.speed?.seconds ?? -1) - (a.speed?.seconds ?? -1),
    copy: (a, b) => (a.speed?.share_of_copy ?? Infinity) - (b.speed?.share_of_copy ?? Infinity) || 0,
  }[wanted.sort || ""];
  return order ? found.sort(order) : found;
}

function draw() {
  const wanted = wantedNow();
  const found = chosen(wanted);
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(pages, Math.max(1, parseInt(wanted.page, 10) || 1));
  const first = (page - 1) * PAGE;
  for (const field of byId("filters").elements) {
    if (field.name && field !== document.activeElement) field.value = wanted[field.name] || "";
  }
  const shown = found.slice(first, first + PAGE);
  const parts = counted(found).map(([verdict, number]) => `${count(number)} ${verdict}`);
  byId("found").textContent = found.length
    ? `${count(found.length)} of ${count(report.cases.length)} cases: ${parts.join(", ")}` : "No case is like that.";
  byId("list").replaceChildren(...shown.map(row));
  byId("pages").hidden = pages === 1;
  byId("page").textContent = `${count(first + 1)} to ${count(first + shown.length)} of ${count(found.length)}`;
  step("previous", page > 1, { ...wanted, page: page - 1 });
  step("next", page < pages, { ...wanted, page: page + 1 });
  for (const link of document.querySelectorAll("td a, #counts a")) {
    if (link.hash === location.hash) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function step(id, possible, wanted) {
  byId(id).hidden = !possible;
  byId(id).href = fragment(wanted);
}

function row(one) {
  const numbers = make("span", { className: "numbers" }, make("span", { title: "wall time of the case: filling, reference and building pipelines included" }, time(one.seconds)));
  if (one.speed) {
    numbers.append(
      make("span", {}, `call ${time(one.speed.seconds)}`),
      make("span", {}, rate(one.speed.gigabytes_per_second)),
      make("span", {}, `${(one.speed.share_of_copy * 100).toFixed(0)}% of copy`),
    );
  }
  const head = make("summary", {}, make("span", { className: "verdict" }, one.verdict), make("code", {}, ...words(one.case)), numbers);
  const details = make("details", {}, head);
  const fill = () => { if (details.children.length === 1) details.append(body(one)); };
  details.addEventListener("toggle", fill);
  if (!isGood.get(one.verdict)) {
    fill();
    details.open = true;
  }
  return make("li", { className: one.verdict }, details);
}

function body(one) {
  const [before, after] = report.repro;
  const command = make("code", {}, ...words(`${before}'${one.case.replaceAll("'", `'"'"'`)}'${after}`));
  const copy = make("button", { type: "button" }, "Copy");
  copy.setAttribute("aria-label", "Copy the command that reruns the case");
  copy.addEventListener("click", () => copyText(command, copy));
  const parts = [make("div", { className: "repro" }, command, copy)];
  if (one.message) parts.unshift(make("pre", { className: "message" }, one.message));
  if (one.wrong) {
    const figure = picture(one.wrong, "wrong elements in red; the last axis goes across, all others down");
    figure.className = "wrong";
    parts.push(make("div", { className: "pictures" }, figure));
  }
  if (one.pictures) {
    const { expected, actual, difference, gain } = one.pictures;
    parts.push(make("div", { className: "pictures" },
      picture(expected, "expected"),
      picture(actual, "actual"),
      picture(difference, `difference x ${gain < 1e6 ? count(gain) : `2^${Math.log2(gain)}`}`)));
  }
  return make("div", { className: "body" }, ...parts);
}

function picture(png, name) {
  return make("figure", {}, make("img", { src: `data:image/png;base64,${png}`, alt: name }), make("figcaption", {}, name));
}

async function copyText(element, button) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "Copied";
  } catch {
    // Not every browser lets a local file write to the clipboard.
    getSelection().selectAllChildren(element);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  }
  byId("copied").textContent = `${button.textContent}: ${element.textContent}`;
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// Wiring.

function offer(name, options) {
  byId("filters").elements[name].append(...options.map(([value, text]) => make("option", { value }, text)));
}

function replaceFragment() {
  const fields = [...new FormData(byId("filters"))].map(([name, value]) => [name, value.trim()]);
  location.replace(fragment(Object.fromEntries(fields)));
}

let typing = 0;
byId("filters").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(replaceFragment, 120);
});
byId("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  replaceFragment();
});
window.addEventListener("hashchange", draw);
document.addEventListener("click", (event) => {
  // A link that filters also leads to the list, even where the fragment is already that one.
  const link = event.target.closest("a[href^='#']");
  if (!link || link.id === "reset") return;
  byId("cases").focus({ preventScroll: true });
  byId("cases").scrollIntoView();
  if (link.className === "skip") event.preventDefault();
});
document.addEventListener("focusin", ({ target }) => {
  // Chromium leaves a cell that shows an edge where it is, and with it its words out of sight.
  if (target.closest("td")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
});

const same = (values) => values.map((value) => [value, value]);
offer("verdict", [["", "any"], [NOT_RIGHT, NOT_RIGHT], ...same(report.verdicts.map((verdict) => verdict.name))]);
offer("op", [["", "any"], ...same(report.ops)]);
offer("type", [["", "any"], ...same(report.types)]);
offer("layouts", [["", "any"], ...same(report.layouts)]);
offer("sort", Object.entries(ORDERS).filter(([name]) => hasSpeeds || !["call", "copy"].includes(name)));
drawHead();
drawMatrix(byId("types"), "type", "type", report.types);
// Of many rows some are out of sight: those with something to mend come first.
const wanting = new Set(report.cases.filter((one) => !isGood.get(one.verdict)).map((one) => one.layouts));
drawMatrix(byId("layouts"), "layouts", "layouts", [...report.layouts].sort((a, b) => wanting.has(b) - wanting.has(a)));
draw();
