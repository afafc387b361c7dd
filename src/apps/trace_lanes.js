// Lanes: fields of call groups as rows, rounds as columns.

const EVENTS = {
  bound: ["bound", "the call came as forecast"], rebound: ["rebound", "a prepared group moved to this call"],
  added: ["added", "a call that nobody forecast"], other_tool: ["other tool", "the call came with another tool"],
  written: ["written", "MAIN has begun the value"], skipped: ["skipped", "MAIN went past the field, though it is required"],
  omitted: ["omitted", "MAIN went past the optional field"], call_closed: ["closed", "the call is complete"],
  list_ended: ["no more", "the list of calls ended"],
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

