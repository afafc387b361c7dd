// The trace that stands in the page, and the tools to draw it. Text of the trace only ever becomes text
// nodes and attribute values, never markup. Fields that older traces lack are left out.

// ---------- the trace ----------
const trace = JSON.parse(document.getElementById("trace").textContent);
const list = value => Array.isArray(value) ? value : [];
const number = value => typeof value === "number" && isFinite(value) ? value : 0;
const ofType = type => trace.lines.filter(line => line.type === type);
const forecast = ofType("forecast")[0] || {};
const result = ofType("result").pop() || {};
const stats = result.stats || {};

// How a token came: class, name in the legend.
const WAYS = {
  format: "format", names: "names and keys", values: "values from schema, request or earlier answers",
  side: "values that SIDE prepared", guess: "tokens that a head or earlier rounds guessed", own: "the model\u2019s own token",
};
const WAY_OF_KIND = {
  scaffold: "format", name: "names", key: "names", value: "values", copy: "values", recall: "values",
  prepared: "side", recycled: "guess", head: "guess",
};
const KINDS = {
  scaffold: "format of the answer", name: "tool name", key: "argument key", value: "value from the schema",
  copy: "value copied from the request", prepared: "value that a SIDE branch prepared",
  recall: "text of an earlier answer", recycled: "token that was likely behind the same one before",
  head: "token that a draft head proposed",
};
const wayOf = kind => WAY_OF_KIND[kind] || "format";

// Where a SIDE branch, a prepared value or an event belongs.
const placed = item => ({ ...item, tool: String(item.tool ?? ""), field: item.field == null ? "" : String(item.field) });

const rounds = ofType("round").map((line, i) => {
  const nodes = list(line.nodes).map((node, at) => ({
    ...node, text: String(node.text ?? ""), at, children: [],
    parent: Number.isInteger(node.parent) && node.parent >= 0 && node.parent < at ? node.parent : -1,
  }));
  for (const node of nodes) if (node.parent >= 0) nodes[node.parent].children.push(node);
  const path = nodes.filter(node => node.accepted);
  const committed = list(line.committed).map((token, at) => ({
    token: token.token, text: String(token.text ?? ""), node: path[at] || null,
    way: path[at] ? wayOf(path[at].kind) : "own",
  }));
  const event = item => ({ ...placed(item), transition: String(item.transition ?? "").replace(/ /g, "_") });
  return { ...line, i, name: line.round ?? i + 1, nodes, path, committed,
    roots: nodes.filter(node => node.parent < 0), side: list(line.side).map(placed),
    prepared: list(line.prepared).map(placed), events: list(line.events).map(event),
    ms: number(line.draft_ms) + number(line.verify_ms), taken: Math.min(path.length, committed.length) };
});
const drafting = rounds.some(round => round.nodes.length || round.side.length);
if (!drafting) for (const round of rounds) for (const token of round.committed) token.way = "plain";
const sum = of => rounds.reduce((total, round) => total + of(round), 0);
const tokens = rounds.flatMap(round => round.committed.map((token, at) => ({ ...token, round, at })));

// ---------- small tools ----------
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(child => child != null && child !== false));
  return element;
}
const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
const fixed = (value, digits) => value.toFixed(digits);
const seconds = value => `${fixed(value / 1000, value < 10000 ? 2 : 1)} s`;
const ms = value => value >= 1000 ? seconds(value) : `${fixed(value, value < 100 ? 1 : 0)} ms`;
const probability = value => `${fixed(100 * number(value), value < 0.1 ? 1 : 0)} %`;
const joined = tokens => tokens.map(token => String(token.text ?? "")).join("");
const span = (kind, ...content) => make("span", { class: kind }, content);
const placeOf = item => `#${number(item.call) + 1} ${item.tool}${item.field ? `.${item.field}` : ""}`;

// Marks that turn the direction of the text around them, and others without a shape.
const SHAPELESS = /[\u0080-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff]/;

// A token's text with what is not seen made visible. Copied text stays the token's own.
function visible(text) {
  if (text === "") return [make("span", { class: "cut" }, "\u2039no text\u203a")];
  const out = [];
  let plain = "";
  const flush = () => { if (plain) out.push(plain); plain = ""; };
  const sign = (shown, behind = "") => { flush(); out.push(make("span", { class: "cut" }, shown), behind); };
  for (const c of text) {
    const code = c.codePointAt(0);
    if (c === " ") { flush(); out.push(make("span", { class: "sp" }, " ")); }
    else if (c === "\n") sign("\u21b5", "\n");
    else if (c === "\t") sign("\u21e5", "\t");
    else if (code < 0x20 || code === 0x7f) sign(String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code));
    else if (code === 0xfffd) sign("\ufffd");
    else if (SHAPELESS.test(c)) sign("U+" + code.toString(16).toUpperCase().padStart(4, "0"));
    else plain += c;
  }
  flush();
  return out;
}
const place = item => span("mono", `#${number(item.call) + 1} `, visible(placeOf(item).replace(/^\S+ /, "")));
const literal = text => make("span", { class: "mono", dir: "ltr" }, visible(String(text ?? "")));

// ---------- the detail bar ----------
const about = new WeakMap();  // element -> () => {title, facts: [[name, text or node]]}
const bar = document.getElementById("detail");
let selected = null;
let shut = false;  // closed by the user: comes back on the next click
function mark(element, facts) { about.set(element, facts); element.classList.add("i"); return element; }
function show(element) {
  if (element === selected && !bar.hidden) return;
  if (selected) selected.classList.remove("sel");
  selected = element;
  if (!element.closest(".answer")) element.classList.add("sel");
  const { title, facts, round } = about.get(element)();
  lightUp(element.closest(".answer") ? round : null);
  bar.replaceChildren(make("div", { class: "in" }, make("h4", {}, title),
    make("dl", {}, facts.filter(fact => fact && fact[1] != null && fact[1] !== "").map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    make("button", { class: "close", type: "button", "aria-label": "Close the details", onclick: hide }, "\u00d7")));
  bar.hidden = false;
}
function hide() {
  bar.hidden = true; shut = true;
  if (selected) selected.classList.remove("sel");
  selected = null;
  lightUp(null);
}
const pointed = event => event.target.closest ? event.target.closest(".i") : null;
document.addEventListener("mouseover", event => { const at = pointed(event); if (at && !shut) show(at); });
document.addEventListener("focusin", event => { const at = pointed(event); if (at) show(at); });
document.addEventListener("click", event => { const at = pointed(event); if (at) { shut = false; show(at); } });
document.addEventListener("keydown", event => {
  if (event.key === "Escape" && !bar.hidden) return hide();
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 }[event.key];
  const group = event.target.closest && event.target.closest("[data-group]");
  if (!step || !group || !about.has(event.target)) return;
  // One stop of the Tab key a group; arrows move inside.
  const items = [...group.querySelectorAll(".i")];
  let to = items.indexOf(event.target) + step;
  if (group.dataset.group === "grid" && event.key.match(/Up|Down/)) {
    const row = event.target.closest("tr"), column = event.target.closest("td").cellIndex;
    for (let next = row; (next = step > 0 ? next.nextElementSibling : next.previousElementSibling);) {
      const cell = next.cells[column] && next.cells[column].querySelector(".i");
      if (cell) { to = items.indexOf(cell); break; }
    }
  }
  const next = items[Math.max(0, Math.min(items.length - 1, to))];
  event.target.tabIndex = -1; next.tabIndex = 0; next.focus(); event.preventDefault();
});
function oneStop(group) {
  const first = group.querySelector(".i");
  if (first) first.tabIndex = 0;
}
const linkTo = round => make("a", { href: `#round-${round.name}`,
  onclick: event => { event.preventDefault(); goTo(round); } }, `round ${round.name}`);
function goTo(round) {
  const details = document.getElementById(`round-${round.name}`);
  details.open = true;
  fill(details, round);
  details.scrollIntoView({ block: "start" });
  details.querySelector("summary").focus({ preventScroll: true });
}

