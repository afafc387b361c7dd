// Lanes: fields of call groups as rows, rounds as columns.

// Transitions of the schedule: the word in a cell, and what it means.
const EVENTS = {
  bound: ["bound", "the call came as forecast"],
  rebound: ["rebound", "a prepared group moved to this call"],
  added: ["added", "a call that nobody forecast"],
  other_tool: ["other tool", "the call came with another tool"],
  written: ["written", "MAIN has begun the value"],
  skipped: ["skipped", "MAIN went past the field, though it is required"],
  omitted: ["omitted", "MAIN went past the optional field"],
  call_closed: ["closed", "the call is complete"],
  list_ended: ["no more", "the list of calls ended"],
};
const eventOf = event => EVENTS[event.transition] || [event.transition, "in this round"];
// After these a value that was prepared is not waited for any more.
const ENDS = new Set(["written", "skipped", "omitted", "call_closed", "list_ended", "other_tool"]);

// The groups in the order of their calls: {call, tool, rows, events}. A row is a field with a cell for each
// round. A group keeps its number while its place among the calls changes.
function buildLanes() {
  const groups = new Map();
  const groupOf = (id, call, tool) => {
    if (id == null) {  // a prepared value names its place only
      for (const group of groups.values()) if (group.call === call && group.tool === tool) return group;
      id = `at ${call} ${tool}`;
    }
    if (!groups.has(id)) groups.set(id, { call, tool, rows: new Map(), events: rounds.map(() => []) });
    return Object.assign(groups.get(id), call != null && { call }, tool && { tool });
  };
  const cellOf = (round, group, field) => {
    if (!group.rows.has(field)) group.rows.set(field, { field, cells: rounds.map(() => ({ events: [] })) });
    return group.rows.get(field).cells[round.i];
  };
  // Two groups change places.
  const swap = event => {
    const moved = groups.get(event.group);
    if (!moved || moved.call == null) return;
    for (const group of groups.values()) if (group !== moved && group.call === event.call) group.call = moved.call;
  };

  list(forecast.groups).forEach((group, id) => groupOf(id, number(group.call), String(group.tool)));
  let before = "";
  for (const round of rounds) {
    for (const branch of round.side)
      cellOf(round, groupOf(branch.group, branch.call, branch.tool), branch.field).side = branch;
    for (const value of round.prepared)
      cellOf(round, groupOf(null, value.call, value.tool), value.field).prepared = value;
    for (const { value, chain } of packedValues(round, before))
      cellOf(round, groupOf(null, value.call, value.tool), value.field).packed = chain;
    for (const event of round.events) {
      if (event.transition === "rebound") swap(event);
      const group = groupOf(event.group, event.call, event.tool);
      (event.field ? cellOf(round, group, event.field).events : group.events[round.i]).push(event);
    }
    before += joined(round.committed);
  }
  const shown = [...groups.values()].filter(group => group.rows.size || group.events.some(events => events.length));
  shown.sort((a, b) => number(a.call) - number(b.call));
  for (const group of shown) for (const row of group.rows.values()) setStates(row, group);
  return shown;
}

// Prepared values in the draft of MAIN: the nodes of each. A node doesn't say whose value it holds; the call
// and the key that stand in front of it do. `before`: the answer up to this round.
function packedValues(round, before) {
  const isPrepared = node => node && node.kind === "prepared";
  const valueOf = (chain, text) => {
    const drafted = joined(chain).trim();
    const call = (text.match(/"arguments"\s*:/g) || []).length - 1;
    const key = (text.match(/"([^"\\]*)"\s*:\s*"?$/) || [])[1];
    const fits = round.prepared.filter(value => {
      const json = String(value.json ?? "");
      return json.startsWith(drafted) || drafted.startsWith(json) || json.startsWith('"' + drafted);
    });
    const here = value => value.call === call && value.field === key;
    return fits.find(here) || fits.find(value => value.field === key) || fits[0] || round.prepared.find(here);
  };
  const found = [];
  const walk = (node, text) => {
    if (isPrepared(node) && !isPrepared(round.nodes[node.parent])) {
      const chain = [];
      for (let at = node; at; at = at.children.find(isPrepared)) chain.push(at);
      const value = valueOf(chain, text);
      if (value) found.push({ value, chain });
    }
    for (const child of node.children) walk(child, text + node.text);
  };
  for (const root of round.roots) walk(root, before);
  return found;
}

// The background of a row: a value is being prepared, is ready, is used up.
function setStates(row, group) {
  let state = "", over = false;
  rounds.forEach((round, i) => {
    const cell = row.cells[i];
    if (cell.side) over = false;
    if (cell.side) state = cell.side.complete ? "ready" : "prep";
    else if (cell.prepared && !over) state = cell.prepared.complete ? "ready" : "prep";
    cell.state = over ? "" : state;
    over = over || [...cell.events, ...group.events[i]].some(event => ENDS.has(event.transition));
  });
}

// ---------- cells ----------
// A sign for each token: what was accepted, the correction, what was refused.
function marks(whose, drafted, correction) {
  const signs = drafted.filter(token => token.accepted).map(() => make("i", { class: "a" }));
  if (correction) signs.push(make("i", { class: "c" }));
  signs.push(...drafted.filter(token => !token.accepted).map(() => make("i", {})));
  return make("span", { class: `marks ${whose}`, "aria-hidden": true }, signs);
}
const word = (text, quiet) => span(`word${quiet ? " quiet" : ""}`, text);
const words = events => events.map(event => word(eventOf(event)[0], true));

function cell(facts, ...content) {
  const button = make("button", { class: "cell", type: "button", tabindex: -1 }, content);
  const { title, facts: pairs } = facts();
  const said = pairs.filter(pair => pair && typeof pair[1] === "string").map(pair => pair.join(" "));
  button.setAttribute("aria-label", [title, ...said].join("; "));
  return make("td", {}, mark(button, facts));
}

function mainCell(round, most) {
  const bar = make("span", { class: "bar", "aria-hidden": true });
  if (round.committed.length > round.taken) bar.append(make("i", { class: "c" }));
  const accepted = make("i", { class: "a" });
  accepted.style.height = `${Math.round(38 * round.taken / most)}px`;
  bar.append(accepted);
  const facts = () => ({ title: `MAIN, round ${round.name}`, round, facts: [
    ["in", linkTo(round)], ["drafted", String(round.nodes.length)], ["accepted", String(round.taken)],
    ["committed", literal(joined(round.committed))], ["time", ms(round.ms)]] });
  return cell(facts, bar, word(`+${round.committed.length}`),
    drafting ? word(`${round.taken}/${round.nodes.length}`, true) : null);
}

function callCell(group, round) {
  const events = group.events[round.i];
  if (!events.length) return make("td", {});
  return cell(() => ({ title: `${placeOf(group)}, round ${round.name}`, round,
    facts: [["in", linkTo(round)], ...events.map(eventOf)] }), words(events));
}

function slotCell(group, row, round) {
  const { side, prepared, packed, events, state } = row.cells[round.i];
  if (!side && !packed && !events.length) return make("td", { class: state });
  const drafted = side ? list(side.draft) : [];
  const share = tokens => `${tokens.filter(token => token.accepted).length} of ${tokens.length}`;
  const facts = () => ({ title: `${placeOf(group)}.${row.field}, round ${round.name}`, round, facts: [
    ["in", linkTo(round)],
    drafted.length ? ["SIDE drafted", literal(joined(drafted))] : null,
    drafted.length ? ["accepted", share(drafted)] : null,
    side && side.correction ? ["corrected to", literal(side.correction.text)] : null,
    side && side.value ? [side.complete ? "value, complete" : "value so far", literal(side.value)] : null,
    !side && prepared ? [prepared.complete ? "prepared" : "prepared so far", literal(prepared.json)] : null,
    packed ? ["packed on MAIN", literal(joined(packed))] : null,
    packed ? ["of it accepted", share(packed)] : null,
    ...events.map(eventOf)] });
  const filled = cell(facts,
    side ? marks("bySide", drafted, side.correction) : null,
    packed ? marks("byMain", packed) : null,
    side && side.complete ? word("complete") : null,
    packed ? word("packed") : null, words(events));
  filled.className = state;
  return filled;
}

// ---------- the table ----------
// Rounds `from` to `to`, without the last.
function lanesTable(groups, from, to) {
  const part = rounds.slice(from, to);
  const most = Math.max(...rounds.map(round => round.committed.length), 1);
  const head = (...content) => make("th", { class: "head", scope: "row" }, content);
  const line = (kind, first, cellOf) => make("tr", { class: kind }, first, part.map(cellOf));
  const jump = round => make("th", { scope: "col" }, make("button", {
    type: "button", tabindex: -1, title: `Go to round ${round.name}`, onclick: () => goTo(round) }, String(round.name)));
  const body = make("tbody", {}, line("main", head("MAIN", word(drafting ? "committed," : "committed", true),
    drafting ? word("accepted/drafted", true) : null), round => mainCell(round, most)));
  for (const group of groups) {
    body.append(line("call", head(span("soft", `#${number(group.call) + 1} `), visible(group.tool)),
      round => callCell(group, round)));
    for (const row of group.rows.values())
      body.append(line("slot", head(span("mono", visible(row.field))), round => slotCell(group, row, round)));
  }
  const table = make("table", { class: "lanes", "data-group": "grid" },
    make("thead", {}, make("tr", {}, make("th", { class: "head", scope: "col" }, "round"), part.map(jump))), body);
  oneStop(table);
  return table;
}

const PRINTED_ROUNDS = 11;  // side by side on a page of paper

function lanesSection() {
  const groups = buildLanes();
  const box = make("div", { class: "scroll" });
  const draw = width => {
    box.replaceChildren();
    for (let from = 0; from < rounds.length; from += width)
      box.append(lanesTable(groups, from, Math.min(rounds.length, from + width)));
  };
  draw(rounds.length);
  window.addEventListener("beforeprint", () => draw(PRINTED_ROUNDS));
  window.addEventListener("afterprint", () => draw(rounds.length));
  if (!groups.length) {
    const own = drafting ? "; the model\u2019s own one in amber" : "";
    return section("Lanes", `Tokens committed a round${own}. This trace has no SIDE branches.`, box);
  }
  const key = (sign, text) => make("li", {}, make("i", { class: sign, "aria-hidden": true }), text);
  return section("Lanes", "MAIN on top: tokens committed a round, the model\u2019s own one in amber. Below: argument "
    + "values that SIDE branches prepare ahead, field by field.",
    make("ul", { class: "legend" }, key("box full", "SIDE token accepted"), key("box", "rejected"),
      key("box dia", "corrected"), key("box dot", "prepared token on MAIN"),
      key("box hatch", "value being prepared"), key("box solid", "value complete")), box);
}

