// Draws the trace that stands in the page. Text of the trace only ever becomes text nodes and attribute
// values, never markup. Fields that older traces lack are left out.
"use strict";
(() => {
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
  format: "format", names: "names and keys", values: "values from schema or request",
  side: "values that SIDE prepared", own: "the model\u2019s own token",
};
const WAY_OF_KIND = { scaffold: "format", name: "names", key: "names", value: "values", copy: "values", prepared: "side" };
const KINDS = {
  scaffold: "format of the answer", name: "tool name", key: "argument key", value: "value from the schema",
  copy: "value copied from the request", prepared: "value that a SIDE branch prepared",
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
    token: token.token, text: String(token.text ?? ""), node: path[at] || null, way: path[at] ? wayOf(path[at].kind) : "own",
  }));
  return { ...line, i, name: line.round ?? i + 1, nodes, path, committed, roots: nodes.filter(node => node.parent < 0),
    side: list(line.side).map(placed), prepared: list(line.prepared).map(placed),
    events: list(line.events).map(placed).map(event => ({ ...event, transition: String(event.transition ?? "") })),
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
    else if (value !== false && value != null) element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child != null && child !== false));
  return element;
}
const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
const fixed = (value, digits) => value.toFixed(digits);
const ms = value => value >= 10000 ? `${fixed(value / 1000, 1)} s` : value >= 1000 ? `${fixed(value / 1000, 2)} s` : `${fixed(value, value < 100 ? 1 : 0)} ms`;

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
    // Marks that would turn the direction of the page's own text, and others without a shape.
    else if (code === 0xfffd) sign("\ufffd");
    else if (/[\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff]/.test(c) || (code >= 0x80 && code < 0xa0))
      sign("U+" + code.toString(16).toUpperCase().padStart(4, "0"));
    else plain += c;
  }
  flush();
  return out;
}
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
const linkTo = round => make("a", { href: `#round-${round.name}`, onclick: event => { event.preventDefault(); goTo(round); } }, `round ${round.name}`);
function goTo(round) {
  const details = document.getElementById(`round-${round.name}`);
  details.open = true;
  fill(details, round);
  details.scrollIntoView({ block: "start" });
  details.querySelector("summary").focus({ preventScroll: true });
}

// ---------- totals ----------
function totals() {
  const drafted = sum(round => round.nodes.length), taken = sum(round => round.taken);
  const sideDrafted = sum(round => round.side.reduce((n, branch) => n + list(branch.draft).length, 0));
  const sideTaken = sum(round => round.side.reduce((n, branch) => n + list(branch.draft).filter(t => t.accepted).length, 0));
  const decode = stats.decode_ms ?? sum(round => round.ms);
  const cells = stats.peak_cells ?? Math.max(0, ...rounds.map(round => number(round.cells && round.cells.peak)));
  const share = (part, whole) => whole ? [`${Math.round(100 * part / whole)} %`, `${part} of ${whole}`] : ["\u2013", "nothing drafted"];
  const figures = [
    ["Tokens", tokens.length, stats.prompt_tokens ? `prompt ${stats.prompt_tokens}` : ""],
    ["Target forwards", rounds.length, ""],
    ["AL", fixed(tokens.length / rounds.length, 2), "tokens a forward"],
    ["Accepted on MAIN", ...share(taken, drafted)],
    sideDrafted ? ["Accepted on SIDE", ...share(sideTaken, sideDrafted)] : null,
    ["Decoding", ms(decode), decode > 0 ? `${Math.round(1000 * tokens.length / decode)} tokens/s` : ""],
    stats.total_ms ? ["In all", ms(stats.total_ms), stats.prefill_ms ? `prefill ${ms(stats.prefill_ms)}` : ""] : null,
    cells ? ["KV cells, at most", cells, ""] : null,
  ];
  return make("dl", { class: "totals" }, figures.filter(Boolean).map(([name, value, small]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, String(value), small ? make("small", {}, small) : null))));
}

// ---------- the answer ----------
// Tokens that hold parts of one character are one run, with the whole character from the result's text.
function runs() {
  let full = typeof result.text === "string" ? result.text : null;
  let at = 0;
  const out = [];
  for (let i = 0; i < tokens.length;) {
    let end = i + 1;
    let text = tokens[i].text;
    if (text.includes("\ufffd")) {
      while (end < tokens.length && tokens[end].text.includes("\ufffd")) text += tokens[end++].text;
      if (full !== null) {
        let behind = "";
        for (let k = end; k < tokens.length && behind.length < 40 && !tokens[k].text.includes("\ufffd"); ++k) behind += tokens[k].text;
        const to = behind ? full.indexOf(behind, at) : end >= tokens.length ? full.length : -1;
        if (to >= at) { text = full.slice(at, to); at = to; } else full = null;
      }
    } else if (full !== null) {
      if (full.startsWith(text, at)) at += text.length; else full = null;
    }
    out.push({ text, tokens: tokens.slice(i, end) });
    i = end;
  }
  return out;
}
const spansOfRound = rounds.map(() => []);
let lit = null;
function lightUp(round) {
  if (lit === round) return;
  if (lit) for (const span of spansOfRound[lit.i]) span.classList.remove("same");
  if (round) for (const span of spansOfRound[round.i]) span.classList.add("same");
  lit = round;
}
function tokenFacts(token) {
  const { round, node } = token;
  return [
    ["text", literal(token.text)], ["token", String(token.token ?? "")], ["committed in", linkTo(round)],
    ["place", `${token.at + 1} of ${round.committed.length}`],
    ["came as", node ? KINDS[node.kind] || node.kind : "the model\u2019s own choice, not drafted"],
    node && node.probability != null ? ["probability", probability(node.probability)] : null,
  ];
}
const probability = value => `${fixed(100 * number(value), value < 0.1 ? 1 : 0)} %`;
function answer() {
  const box = make("div", { class: "answer mono", "data-group": "line", role: "group", dir: "auto", "aria-label": "The answer, token by token" });
  let before = null;
  for (const run of runs()) {
    const last = run.tokens[run.tokens.length - 1], round = run.tokens[0].round;
    const span = make("span", { class: `t ${last.way}${round !== before ? " first" : ""}`, tabindex: -1 }, visible(run.text));
    before = last.round;
    mark(span, () => run.tokens.length === 1
      ? { title: "Token of the answer", facts: tokenFacts(last), round }
      : { title: `${run.tokens.length} tokens that make up ${run.text}`, round,
          facts: [["tokens", run.tokens.map(token => token.token).join(", ")], ["committed in", linkTo(round)], ["last came as", WAYS[last.way]]] });
    for (const token of run.tokens) spansOfRound[token.round.i].push(span);
    box.append(span);
  }
  oneStop(box);
  const count = way => tokens.filter(token => token.way === way).length;
  const legend = make("ul", { class: "legend" }, Object.entries(WAYS).filter(([way]) => count(way)).map(([way, name]) =>
    make("li", {}, make("span", { class: `t key ${way}` }, "Aa"), make("span", {}, name), make("b", {}, String(count(way))))));
  return section("Answer", (drafting ? "Fill and underline say how each token came. " : "Nothing was drafted: each token is a forward of its own. ")
    + "A thin bar starts a round; point at a token, or walk with the arrow keys, for more.", legend, box);
}

function section(title, note, ...children) {
  return make("section", { "aria-label": title }, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null, ...children);
}

// ---------- the forecast ----------
function forecastSection() {
  const ranking = list(forecast.ranking), groups = list(forecast.groups);
  if (!ranking.length && !groups.length) return null;
  const best = Math.max(...ranking.map(entry => number(entry.score)), 0);
  return section("Forecast", "Before the first round: which tools the request\u2019s words point to (BM25), and the calls to prepare for.",
    make("div", { class: "forecast" },
      make("div", {}, make("h3", {}, "Ranking"), make("ol", {}, ranking.map(entry => {
        const track = make("i", {});
        track.style.width = `${best > 0 ? Math.round(100 * number(entry.score) / best) : 0}%`;
        return make("li", { class: "rank" }, make("span", { class: "mono" }, visible(String(entry.tool))),
          make("span", { class: "track", "aria-hidden": true }, track), make("span", { class: "score" }, fixed(number(entry.score), 2)));
      }))),
      make("div", {}, make("h3", {}, "Call groups"), make("ol", {}, groups.map(group =>
        make("li", { class: "mono" }, make("span", { class: "soft" }, `#${number(group.call) + 1} `), visible(String(group.tool)), "(",
          list(group.slots).flatMap((slot, i) => [i ? ", " : "", ...visible(String(slot.path)), slot.required ? "" : "?",
            make("span", { class: "soft" }, ": ", ...visible(String(slot.type)))]), ")"))))));
}

// ---------- lanes ----------
const EVENTS = {
  bound: ["bound", "the call came as forecast"], rebound: ["rebound", "a prepared group moved to this call"],
  added: ["added", "a call that nobody forecast"], other_tool: ["other tool", "the call came with another tool"],
  written: ["written", "MAIN has begun the value"], skipped: ["skipped", "MAIN went past the field, though it is required"],
  omitted: ["omitted", "MAIN went past the optional field"], call_closed: ["closed", "the call is complete"],
  list_ended: ["no more", "no more calls come"],
};
const ENDS = new Set(["written", "skipped", "omitted", "call_closed", "list_ended", "other_tool"]);

// Rows are fields of call groups; a group keeps its number while its place among the calls changes.
function buildLanes() {
  const groups = new Map();  // group -> {call, tool, rows: Map(field -> row), events: [per round]}
  let loose = 0;
  const groupOf = (id, call, tool) => {
    if (id == null) {
      for (const [known, group] of groups) if (group.call === call && group.tool === tool) return groups.get(known);
      id = `loose ${loose++}`;
    }
    if (!groups.has(id)) groups.set(id, { call, tool, rows: new Map(), events: rounds.map(() => []) });
    const group = groups.get(id);
    if (call != null) group.call = call;
    if (tool != null) group.tool = tool;
    return group;
  };
  const rowOf = (group, field) => {
    if (!group.rows.has(field)) group.rows.set(field, { field, cells: rounds.map(() => ({ events: [] })) });
    return group.rows.get(field);
  };
  list(forecast.groups).forEach((group, id) => groupOf(id, number(group.call), String(group.tool)));
  let before = "";
  for (const round of rounds) {
    for (const branch of round.side) rowOf(groupOf(branch.group, branch.call, branch.tool), branch.field).cells[round.i].side = branch;
    for (const value of round.prepared) rowOf(groupOf(null, value.call, value.tool), value.field).cells[round.i].prepared = value;
    for (const pack of packedValues(round, before)) rowOf(groupOf(null, pack.value.call, pack.value.tool), pack.value.field).cells[round.i].packed = pack;
    for (const event of round.events) {
      if (event.transition === "rebound") {
        const moved = groups.get(event.group), from = moved && moved.call;
        for (const [id, group] of groups) if (id !== event.group && group.call === event.call && from != null) group.call = from;
      }
      const group = groupOf(event.group, event.call, event.tool);
      if (event.field) rowOf(group, event.field).cells[round.i].events.push(event);
      else group.events[round.i].push(event);
    }
    before += round.committed.map(token => token.text).join("");
  }
  const shown = [...groups.values()].filter(group => group.rows.size || group.events.some(events => events.length));
  shown.sort((a, b) => number(a.call) - number(b.call));
  for (const group of shown) for (const row of group.rows.values()) setStates(row, group);
  return shown;
}

// Prepared values in the draft of MAIN: the tokens of each, by the key that stands in front of them.
function packedValues(round, before) {
  const found = [];
  const walk = (node, text) => {
    const behind = text + node.text;
    if (node.kind === "prepared") {
      const parent = node.parent >= 0 ? round.nodes[node.parent] : null;
      if (!parent || parent.kind !== "prepared") {
        const chain = [];
        for (let at = node; at && at.kind === "prepared"; at = at.children.find(child => child.kind === "prepared")) chain.push(at);
        const drafted = chain.map(at => at.text).join("").trim();
        const call = (text.match(/"arguments"\s*:/g) || []).length - 1;
        const key = (text.match(/"([^"\\]*)"\s*:\s*"?$/) || [])[1];
        const fits = round.prepared.filter(value => {
          const json = String(value.json ?? "");
          return json.startsWith(drafted) || drafted.startsWith(json) || json.startsWith('"' + drafted);
        });
        const value = fits.find(v => v.call === call && v.field === key) || fits.find(v => v.field === key) || fits[0]
          || round.prepared.find(v => v.call === call && v.field === key);
        if (value) found.push({ value, chain });
      }
    }
    for (const child of node.children) walk(child, behind);
  };
  for (const root of round.roots) walk(root, before);
  return found;
}

// The background of a row: a value is being prepared, is ready, is used up.
function setStates(row, group) {
  let state = "";
  rounds.forEach((round, i) => {
    const cell = row.cells[i];
    if (cell.side && state !== "ready") state = "prep";
    if (cell.side) state = cell.side.complete ? "ready" : "prep";
    if (cell.prepared) state = cell.prepared.complete ? "ready" : state || "prep";
    cell.state = state;
    const over = [...cell.events, ...group.events[i]].some(event => ENDS.has(event.transition));
    if (over) state = "";
  });
}

const marksOf = (branchClass, drafted, correction) => make("span", { class: `marks ${branchClass}`, "aria-hidden": true },
  drafted.filter(token => token.accepted).map(() => make("i", { class: "a" })), correction ? make("i", { class: "c" }) : null,
  drafted.filter(token => !token.accepted).map(() => make("i", {})));
const words = events => events.map(event => make("span", { class: "word quiet" }, (EVENTS[event.transition] || [event.transition])[0]));
const eventFacts = events => events.map(event => [(EVENTS[event.transition] || [event.transition])[0], (EVENTS[event.transition] || ["", "in this round"])[1]]);
const joined = items => items.map(item => String(item.text ?? "")).join("");

function slotCell(group, row, round) {
  const cell = row.cells[round.i];
  const { side, prepared, packed, events } = cell;
  const finished = side && side.complete;
  if (!side && !packed && !events.length) return make("td", { class: cell.state });
  const button = make("button", { class: "cell", type: "button", tabindex: -1 },
    side ? marksOf("bySide", list(side.draft), side.correction) : null,
    packed ? marksOf("byMain", packed.chain) : null,
    finished ? make("span", { class: "word" }, "complete") : null,
    packed ? make("span", { class: "word" }, "packed") : null, words(events));
  const accepted = side ? list(side.draft).filter(token => token.accepted) : [];
  const used = packed ? packed.chain.filter(node => node.accepted) : [];
  const title = `#${number(group.call) + 1} ${group.tool} \u00b7 ${row.field}, round ${round.name}`;
  button.setAttribute("aria-label", [title, side && `SIDE drafted ${list(side.draft).length}, accepted ${accepted.length}${side.correction ? ", 1 corrected" : ""}`,
    finished && "complete", packed && `packed, MAIN accepted ${used.length} of ${packed.chain.length}`, ...events.map(event => event.transition)].filter(Boolean).join("; "));
  mark(button, () => ({ title, round, facts: [
    ["in", linkTo(round)],
    side && list(side.draft).length ? ["SIDE drafted", literal(joined(list(side.draft)))] : null,
    side && list(side.draft).length ? ["accepted", accepted.length ? [literal(joined(accepted)), ` (${accepted.length} of ${list(side.draft).length})`] : `none of ${list(side.draft).length}`] : null,
    side && side.correction ? ["corrected to", literal(side.correction.text)] : null,
    side && side.value != null ? [side.complete ? "value, complete" : "value so far", literal(side.value)] : null,
    !side && prepared ? [prepared.complete ? "prepared value" : "prepared so far", literal(prepared.json)] : null,
    packed ? ["packed on MAIN", [literal(joined(packed.chain)), ` (${used.length} of ${packed.chain.length} accepted)`]] : null,
    ...eventFacts(events)] }));
  return make("td", { class: cell.state }, button);
}

function lanesTable(groups, from, to) {
  const part = rounds.slice(from, to);
  const most = Math.max(...rounds.map(round => round.committed.length), 1);
  const mainCell = round => {
    const bar = make("span", { class: "bar", "aria-hidden": true });
    bar.style.height = "44px";
    const accepted = make("i", { class: "a" });
    accepted.style.height = `${Math.round(38 * round.taken / most)}px`;
    if (round.committed.length > round.taken) bar.append(make("i", { class: "c" }));
    if (round.taken) bar.append(accepted);
    const button = make("button", { class: "cell", type: "button", tabindex: -1,
      "aria-label": `MAIN, round ${round.name}: ${round.nodes.length} drafted, ${round.taken} accepted, ${round.committed.length} committed` }, bar,
      make("span", { class: "word" }, `+${round.committed.length}`), make("span", { class: "word quiet" }, drafting ? `${round.taken}/${round.nodes.length}` : ""));
    mark(button, () => ({ title: `MAIN, round ${round.name}`, round, facts: [["in", linkTo(round)], ["drafted", String(round.nodes.length)],
      ["accepted", String(round.taken)], ["committed", literal(joined(round.committed))], ["time", ms(round.ms)]] }));
    return make("td", {}, button);
  };
  const body = make("tbody", {}, make("tr", { class: "main" }, make("th", { class: "head", scope: "row" }, "MAIN",
    make("span", { class: "word quiet" }, drafting ? "committed," : "committed"), drafting ? make("span", { class: "word quiet" }, "accepted/drafted") : null), part.map(mainCell)));
  for (const group of groups) {
    body.append(make("tr", { class: "call" }, make("th", { class: "head", scope: "row" }, make("span", { class: "soft" }, `#${number(group.call) + 1} `), visible(String(group.tool))),
      part.map(round => {
        const events = group.events[round.i];
        if (!events.length) return make("td", {});
        const button = make("button", { class: "cell", type: "button", tabindex: -1 }, words(events));
        button.style.minHeight = "0";
        mark(button, () => ({ title: `#${number(group.call) + 1} ${group.tool}, round ${round.name}`, round, facts: [["in", linkTo(round)], ...eventFacts(events)] }));
        return make("td", {}, button);
      })));
    for (const row of group.rows.values())
      body.append(make("tr", { class: "slot" }, make("th", { class: "head mono", scope: "row" }, visible(String(row.field))), part.map(round => slotCell(group, row, round))));
  }
  const table = make("table", { class: "lanes", "data-group": "grid" },
    make("thead", {}, make("tr", {}, make("th", { class: "head", scope: "col" }, "round"), part.map(round =>
      make("th", { scope: "col" }, make("button", { type: "button", tabindex: -1, title: `Go to round ${round.name}`, onclick: () => goTo(round) }, String(round.name)))))), body);
  oneStop(table);
  return table;
}

function lanesSection() {
  const groups = buildLanes();
  const box = make("div", { class: "scroll" });
  const draw = width => {
    box.replaceChildren();
    for (let from = 0; from < rounds.length; from += width) box.append(lanesTable(groups, from, Math.min(rounds.length, from + width)));
  };
  draw(rounds.length);
  window.addEventListener("beforeprint", () => draw(11));
  window.addEventListener("afterprint", () => draw(rounds.length));
  const key = (sign, text) => make("li", {}, make("i", { class: sign, "aria-hidden": true }), text);
  const legend = groups.length ? make("ul", { class: "legend" }, key("box full", "SIDE token accepted"), key("box", "rejected"), key("box dia", "corrected"),
    key("box dot", "prepared token on MAIN"), key("box hatch", "value being prepared"), key("box solid", "value complete")) : null;
  return section("Lanes", groups.length ? "MAIN on top: tokens committed a round, the model\u2019s own one in amber. Below: argument values that SIDE branches prepare ahead, field by field."
    : `Tokens committed a round${drafting ? "; the model\u2019s own one in amber" : ""}. This trace has no SIDE branches.`, legend, box);
}

// ---------- rounds ----------
const FATES = { acc: "accepted", cor: "the target\u2019s own choice here", rej: "rejected", given: "put in front, not drafted" };
// A token of a tree. `fate`: what became of it.
function chip(text, fate, way, facts) {
  const element = make("button", { type: "button", tabindex: -1, dir: "auto", class: `t ${fate} ${fate === "acc" ? way : fate === "cor" ? "own" : ""}` }, visible(text));
  element.setAttribute("aria-label", `${text === "" ? "no text" : text}, ${FATES[fate]}`);
  return mark(element, facts);
}
function nodeChip(round, node) {
  const fate = node.accepted ? "acc" : "rej";
  return chip(node.text, fate, wayOf(node.kind), () => ({ title: `Candidate ${node.at} of round ${round.name}, ${FATES[fate]}`, round, facts: [
    ["text", literal(node.text)], ["token", String(node.token ?? "")], ["probability", node.probability != null ? probability(node.probability) : null],
    ["kind", KINDS[node.kind] || node.kind],
    ["behind", node.parent < 0 ? "the last committed token" : [`candidate ${node.parent} `, literal(round.nodes[node.parent].text)]]] }));
}

// The trunk is what the target took; candidates that it didn't take hang below the place where they left it.
function mainTree(round) {
  const tree = make("div", { class: "tree", "data-group": "line", role: "group", "aria-label": `Candidates of round ${round.name}` });
  const own = round.committed[round.taken] ? () => {
    const token = round.committed[round.taken];
    return chip(token.text, "cor", "own", () => ({ title: `Round ${round.name}: ${round.nodes.length ? "correction" : "the model\u2019s own token"}`, round, facts: [
      ["text", literal(token.text)], ["token", String(token.token ?? "")],
      ["why", round.nodes.length ? "the target\u2019s choice, which no candidate carried here" : "nothing was drafted"]] }));
  } : null;
  // A line of tokens, and below it the branches that leave it.
  const branch = (node, into) => {
    const line = make("div", {});
    into.append(line);
    for (let at = node; at;) {
      line.append(nodeChip(round, at));
      if (at.children.length <= 1) { at = at.children[0]; continue; }
      const below = make("ul", {});
      for (const child of at.children) { const item = make("li", {}); branch(child, item); below.append(item); }
      into.append(below);
      at = null;
    }
  };
  let line = make("div", {});
  tree.append(line);
  let children = round.roots;
  for (;;) {
    const next = children.find(child => child.accepted);
    const others = children.filter(child => child !== next);
    if (!next && own) line.append(own());
    if (others.length) {
      const below = make("ul", {});
      for (const child of others) { const item = make("li", {}); branch(child, item); below.append(item); }
      tree.append(below);
      if (next) { line = make("div", {}); tree.append(line); }
    }
    if (!next) break;
    line.append(nodeChip(round, next));
    children = next.children;
  }
  if (!tree.querySelector(".t")) return make("p", { class: "note" }, "Nothing was drafted.");
  oneStop(tree);
  return tree;
}

function sideTree(round, branch) {
  const line = make("div", { class: "tree", "data-group": "line", role: "group", "aria-label": `SIDE branch of ${branch.field}` });
  const facts = (token, fate, title) => () => ({ title: `SIDE branch ${branch.branch ?? ""}, ${branch.field}: ${title}`, round, facts: [
    ["text", literal(token.text)], ["token", String(token.token ?? "")], ["outcome", FATES[fate]]] });
  for (const token of list(branch.context)) line.append(chip(String(token.text ?? ""), "given", "", facts(token, "given", "context")));
  for (const token of list(branch.draft)) {
    const fate = token.accepted ? "acc" : "rej";
    line.append(chip(String(token.text ?? ""), fate, "side", facts(token, fate, "draft")));
  }
  // The correction stands where the first rejected token stood.
  if (branch.correction) {
    const own = chip(String(branch.correction.text ?? ""), "cor", "own", facts(branch.correction, "cor", "correction"));
    line.insertBefore(own, line.querySelector(".rej"));
  }
  oneStop(line);
  return make("div", {}, make("div", { class: "branchname" }, make("span", { class: "mono" }, `#${number(branch.call) + 1} `, visible(`${branch.tool}.${branch.field}`)),
    make("span", { class: "soft" }, branch.complete ? "complete: " : branch.value ? "so far: " : "no value yet"), branch.value ? literal(branch.value) : null), line);
}

function fill(details, round) {
  if (details.querySelector(".body")) return;
  const cells = round.cells || {};
  const cellNames = [["prefix", "prompt"], ["verified", "verified"], ["side", "SIDE"], ["parked", "parked"], ["peak", "at most so far"]];
  details.append(make("div", { class: "body" }, round.side.length ? make("h3", {}, "MAIN") : null, mainTree(round),
    round.side.length ? [make("h3", {}, `SIDE, ${plural(round.side.length, "branch", "branches")}`), round.side.map(branch => sideTree(round, branch))] : null,
    round.prepared.length ? [make("h3", {}, "Prepared values that this draft could use"), make("ul", { class: "plain" }, round.prepared.map(value =>
      make("li", {}, make("span", { class: "mono" }, `#${number(value.call) + 1} `, visible(`${value.tool}.${value.field}`), " = "), literal(value.json),
        value.complete ? null : make("span", { class: "soft" }, " unfinished"))))] : null,
    round.events.length ? [make("h3", {}, "What the verified text changed"), make("ul", { class: "plain" }, round.events.map(event => {
      const [name, meaning] = EVENTS[event.transition] || [String(event.transition), ""];
      return make("li", {}, make("span", { class: "mono" }, `#${number(event.call) + 1} `, visible([event.tool, event.field].filter(Boolean).join("."))), ` ${name}`,
        meaning ? make("span", { class: "soft" }, `: ${meaning}`) : null);
    }))] : null,
    make("p", { class: "note" }, make("br", {}), `Draft ${ms(number(round.draft_ms))}, forward ${ms(number(round.verify_ms))}`,
      round.cells ? `. KV cells: ${cellNames.filter(([name]) => cells[name] != null).map(([name, word]) => `${word} ${cells[name]}`).join(", ")}.` : ".")));
}

function roundsSection() {
  const all = [];
  const LONG = 12;  // fewer rounds stand open from the start
  const box = make("div", {}, rounds.map(round => {
    const preview = make("span", { class: "preview" }, round.committed.map(token => make("span", { class: `t ${token.way}` }, visible(token.text.replace(/\n/g, "\u21b5")))));
    const details = make("details", { class: "round", id: `round-${round.name}` }, make("summary", {}, make("span", {}, `Round ${round.name}`), preview,
      make("span", { class: "figures" }, [round.nodes.length ? `${round.taken} of ${round.nodes.length} accepted` : "", round.side.length ? `${round.side.length} SIDE` : "", ms(round.ms)].filter(Boolean).join(" \u00b7 "))));
    details.addEventListener("toggle", () => { if (details.open) fill(details, round); });
    if (rounds.length <= LONG) { fill(details, round); details.open = true; }
    all.push([details, round]);
    return details;
  }));
  const setAll = open => { for (const [details, round] of all) { if (open) fill(details, round); details.open = open; } };
  return section("Rounds", "One target forward each. MAIN\u2019s candidates as a tree: the top line is what the target took, what it refused hangs below the place where it left.",
    !drafting ? null : make("ul", { class: "legend" }, make("li", {}, make("span", { class: "t key names acc" }, "accepted"), "by how it came"),
      make("li", { class: "tree" }, make("span", { class: "t own cor" }, "own"), "the target\u2019s own choice"),
      make("li", { class: "tree" }, make("span", { class: "t rej" }, "rejected"), "refused")),
    make("div", { class: "tools" }, make("button", { type: "button", onclick: () => setAll(true) }, "Open all"),
      make("button", { type: "button", onclick: () => setAll(false) }, "Close all")), box);
}

// ---------- the page ----------
const method = result.method || stats.method || (drafting ? "" : "plain decoding");
document.title = `${trace.file}: SchemaFill trace`;
const stop = result.stop || stats.stop;
const STOPS = { closed: "the answer\u2019s outer object closed", end: "the model ended its turn", length: "cut at the token limit" };
document.getElementById("page").replaceChildren(...[
  make("header", {}, make("h1", {}, trace.file), make("p", { class: "soft" }, ["SchemaFill trace", method, stop ? STOPS[stop] || stop : ""].filter(Boolean).join(" \u00b7 ")), totals()),
  answer(), forecastSection(), lanesSection(), roundsSection()].filter(Boolean));
if (location.hash.startsWith("#round-")) {
  const wanted = rounds.find(round => `#round-${round.name}` === location.hash);
  if (wanted) goTo(wanted);
}
})();
