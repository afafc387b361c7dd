// The sections of the page, and the page itself.

function section(title, note, ...children) {
  return make("section", { "aria-label": title }, make("h2", {}, title), make("p", { class: "note" }, note), children);
}

// ---------- totals ----------
function totals() {
  const taken = sum(round => round.taken), drafted = sum(round => round.nodes.length);
  const side = rounds.flatMap(round => round.side.flatMap(branch => list(branch.draft)));
  const decode = stats.decode_ms ?? sum(round => round.ms);
  const cells = stats.peak_cells ?? Math.max(0, ...rounds.map(round => number(round.cells && round.cells.peak)));
  const share = (part, whole) => whole ? [`${Math.round(100 * part / whole)} %`, `${part} of ${whole}`]
    : ["\u2013", "nothing drafted"];
  const figures = [
    ["Tokens", String(tokens.length), stats.prompt_tokens ? `prompt ${stats.prompt_tokens}` : ""],
    ["Target forwards", String(rounds.length), ""],
    ["AL", fixed(tokens.length / rounds.length, 2), "tokens a forward"],
    ["Accepted on MAIN", ...share(taken, drafted)],
    side.length ? ["Accepted on SIDE", ...share(side.filter(token => token.accepted).length, side.length)] : null,
    ["Decoding", ms(decode), decode > 0 ? `${Math.round(1000 * tokens.length / decode)} tokens/s` : ""],
    stats.total_ms ? ["In all", ms(stats.total_ms), stats.prefill_ms ? `prefill ${ms(stats.prefill_ms)}` : ""] : null,
    cells ? ["KV cells, at most", String(cells), ""] : null,
  ];
  return make("dl", { class: "totals" }, figures.filter(Boolean).map(([name, value, small]) => make("div", {},
    make("dt", {}, name), make("dd", {}, value, small ? make("small", {}, small) : null))));
}

// ---------- the answer ----------
// Tokens that hold parts of one character are one run, with the whole character from the result's text.
function runs() {
  const broken = token => token.text.includes("\ufffd");
  let full = typeof result.text === "string" ? result.text : null;
  let at = 0;  // in `full`; null when the tokens don't follow it
  const out = [];
  for (let i = 0; i < tokens.length;) {
    let end = i + 1;
    if (broken(tokens[i])) while (end < tokens.length && broken(tokens[end])) ++end;
    const run = tokens.slice(i, end);
    let text = joined(run);
    if (full !== null && broken(run[0])) {
      // Up to where the next whole tokens begin.
      let behind = "";
      for (let k = end; k < tokens.length && behind.length < 40 && !broken(tokens[k]); ++k) behind += tokens[k].text;
      const to = behind ? full.indexOf(behind, at) : end >= tokens.length ? full.length : -1;
      if (to >= at) { text = full.slice(at, to); at = to; } else full = null;
    } else if (full !== null) {
      if (full.startsWith(text, at)) at += text.length; else full = null;
    }
    out.push({ text, tokens: run });
    i = end;
  }
  return out;
}

// The tokens of the round that the pointed token belongs to.
const spansOfRound = rounds.map(() => []);
let lit = null;
function lightUp(round) {
  if (lit === round) return;
  if (lit) for (const token of spansOfRound[lit.i]) token.classList.remove("same");
  if (round) for (const token of spansOfRound[round.i]) token.classList.add("same");
  lit = round;
}

function runFacts(run) {
  const last = run.tokens[run.tokens.length - 1], { round, node } = last;
  if (run.tokens.length > 1) {
    return { title: `${run.tokens.length} tokens that make up ${run.text}`, round, facts: [
      ["tokens", run.tokens.map(token => token.token).join(", ")], ["committed in", linkTo(round)],
      ["the last came as", last.node ? KINDS[node.kind] || node.kind : WAYS.own]] };
  }
  return { title: "Token of the answer", round, facts: [
    ["text", literal(last.text)], ["token", String(last.token ?? "")], ["committed in", linkTo(round)],
    ["place", `${last.at + 1} of ${round.committed.length}`],
    ["came as", node ? KINDS[node.kind] || node.kind : "the model\u2019s own choice, not drafted"],
    node && node.probability != null ? ["probability", probability(node.probability)] : null] };
}

function answer() {
  const box = make("div", { class: "answer mono", "data-group": "line", role: "group", dir: "auto",
    "aria-label": "The answer, token by token" });
  let before = null;  // the round of the token in front
  for (const run of runs()) {
    const { way, round } = run.tokens[run.tokens.length - 1];
    const first = run.tokens[0].round !== before;
    const shown = make("span", { class: `t ${way}${first ? " first" : ""}`, tabindex: -1 }, visible(run.text));
    before = round;
    box.append(mark(shown, () => runFacts(run)));
    for (const token of run.tokens) spansOfRound[token.round.i].push(shown);
  }
  oneStop(box);
  const count = way => tokens.filter(token => token.way === way).length;
  const legend = Object.entries(WAYS).filter(([way]) => count(way)).map(([way, name]) =>
    make("li", {}, span(`t key ${way}`, "Aa"), span("", name), make("b", {}, String(count(way)))));
  const note = drafting ? "Fill and underline say how each token came."
    : "Nothing was drafted: each token is a forward of its own.";
  return section("Answer", `${note} A thin bar starts a round; point at a token, or walk with the arrow keys, for more.`,
    make("ul", { class: "legend" }, legend), box);
}

// ---------- the forecast ----------
function forecastSection() {
  const ranking = list(forecast.ranking), groups = list(forecast.groups);
  if (!ranking.length && !groups.length) return null;
  const best = Math.max(...ranking.map(entry => number(entry.score)), 0);
  const rank = entry => {
    const track = make("i", {});
    track.style.width = `${best > 0 ? Math.round(100 * number(entry.score) / best) : 0}%`;
    return make("li", { class: "rank" }, span("mono", visible(String(entry.tool))),
      make("span", { class: "track", "aria-hidden": true }, track), span("score", fixed(number(entry.score), 2)));
  };
  const slot = (one, i) => [i ? ", " : "", visible(String(one.path)), one.required ? "" : "?",
    span("soft", ": ", visible(String(one.type)))];
  const call = group => make("li", { class: "mono" }, span("soft", `#${number(group.call) + 1} `),
    visible(String(group.tool)), "(", list(group.slots).map(slot), ")");
  return section("Forecast",
    "Before the first round: which tools the request\u2019s words point to (BM25), and the calls to prepare for.",
    make("div", { class: "forecast" },
      make("div", {}, make("h3", {}, "Ranking"), make("ol", {}, ranking.map(rank))),
      make("div", {}, make("h3", {}, "Call groups"), make("ol", {}, groups.map(call)))));
}

// ---------- rounds ----------
// What became of a token of a tree.
const FATES = {
  acc: "accepted", cor: "the target\u2019s own choice here", rej: "rejected", given: "put in front, not drafted",
};
function chip(text, fate, way, facts) {
  const kind = fate === "acc" ? way : fate === "cor" ? "own" : "";
  return mark(make("button", { type: "button", tabindex: -1, dir: "auto", class: `t ${fate} ${kind}`,
    "aria-label": `${text === "" ? "no text" : text}, ${FATES[fate]}` }, visible(text)), facts);
}

function nodeChip(round, node) {
  const fate = node.accepted ? "acc" : "rej";
  const parent = round.nodes[node.parent];
  return chip(node.text, fate, wayOf(node.kind), () => ({
    title: `Candidate ${node.at + 1} of round ${round.name}, ${FATES[fate]}`, round, facts: [
      ["text", literal(node.text)], ["token", String(node.token ?? "")],
      node.probability != null ? ["probability", probability(node.probability)] : null,
      ["kind", KINDS[node.kind] || node.kind],
      ["behind", parent ? [`candidate ${node.parent + 1} `, literal(parent.text)] : "the last committed token"]] }));
}

function ownChip(round) {
  const token = round.committed[round.taken];
  const why = round.nodes.length ? "the target\u2019s choice, which no candidate carried here" : "nothing was drafted";
  return chip(token.text, "cor", "own", () => ({
    title: `Round ${round.name}: ${round.nodes.length ? "correction" : "the model\u2019s own token"}`, round,
    facts: [["text", literal(token.text)], ["token", String(token.token ?? "")], ["why", why]] }));
}

// The trunk is what the target took; candidates that it didn't take hang below the place where they left it.
function mainTree(round) {
  const tree = make("div", { class: "tree", "data-group": "line", role: "group",
    "aria-label": `Candidates of round ${round.name}` });
  const hang = (nodes, into) => {
    const below = nodes.map(node => {
      const item = make("li", {});
      branch(node, item);
      return item;
    });
    if (below.length) into.append(make("ul", {}, below));
  };
  // A line of tokens, and below it the branches that leave it.
  const branch = (node, into) => {
    const line = make("div", {});
    into.append(line);
    for (; ; node = node.children[0]) {
      line.append(nodeChip(round, node));
      if (node.children.length !== 1) return hang(node.children, into);
    }
  };
  let line = make("div", {});
  tree.append(line);
  for (let children = round.roots; ;) {
    const next = children.find(child => child.accepted);
    const others = children.filter(child => child !== next);
    if (!next && round.committed[round.taken]) line.append(ownChip(round));
    hang(others, tree);
    if (!next) break;
    if (others.length) { line = make("div", {}); tree.append(line); }
    line.append(nodeChip(round, next));
    children = next.children;
  }
  oneStop(tree);
  return tree;
}

function sideTree(round, branch) {
  const line = make("div", { class: "tree", "data-group": "line", role: "group",
    "aria-label": `SIDE branch of ${placeOf(branch)}` });
  const token = (one, fate) => chip(String(one.text ?? ""), fate, "side", () => ({
    title: `${placeOf(branch)}, SIDE branch ${branch.branch ?? ""}`, round,
    facts: [["text", literal(one.text)], ["token", String(one.token ?? "")], ["outcome", FATES[fate]]] }));
  const context = list(branch.context), drafted = list(branch.draft);
  if (context.length) line.append(chip(joined(context), "given", "", () => ({
    title: `${placeOf(branch)}, SIDE branch ${branch.branch ?? ""}`, round, facts: [
      ["text", literal(joined(context))], ["tokens", context.map(one => one.token).join(", ")],
      ["outcome", FATES.given]] })));
  line.append(...drafted.filter(one => one.accepted).map(one => token(one, "acc")));
  if (branch.correction) line.append(token(branch.correction, "cor"));
  line.append(...drafted.filter(one => !one.accepted).map(one => token(one, "rej")));
  oneStop(line);
  const state = branch.complete ? "complete: " : branch.value ? "so far: " : "no value yet";
  return make("div", {}, make("div", { class: "branchname" }, place(branch),
    span("soft", state), branch.value ? literal(branch.value) : null), line);
}

function fill(details, round) {
  if (details.querySelector(".body")) return;
  const titled = (title, ...content) => [make("h3", {}, title), content];
  const plain = items => make("ul", { class: "plain" }, items.map(item => make("li", {}, item)));
  const cells = round.cells || {};
  const cellNames = { prefix: "prompt", verified: "verified", side: "SIDE", parked: "parked", peak: "at most so far" };
  const held = Object.entries(cellNames).filter(([name]) => cells[name] != null);
  const rows = `${plural(1 + round.nodes.length + number(round.side_rows), "row")}`
    + (round.side_rows ? `, ${round.side_rows} of them SIDE` : "");
  details.append(make("div", { class: "body" },
    round.side.length ? make("h3", {}, "MAIN") : null, mainTree(round),
    round.side.length ? titled(`SIDE, ${plural(round.side.length, "branch", "branches")}`,
      round.side.map(branch => sideTree(round, branch))) : null,
    round.prepared.length ? titled("Prepared values that this draft could use", plain(round.prepared.map(value =>
      [place(value), " = ", literal(value.json),
        value.complete ? "" : span("soft", " unfinished")]))) : null,
    round.events.length ? titled("What the verified text changed", plain(round.events.map(event =>
      [place(event), ` ${eventOf(event)[0]}`, span("soft", `: ${eventOf(event)[1]}`)]))) : null,
    make("p", { class: "note foot" },
      `Draft ${ms(number(round.draft_ms))}, forward ${ms(number(round.verify_ms))} of ${rows}.`,
      held.length ? ` KV cells: ${held.map(([name, text]) => `${text} ${cells[name]}`).join(", ")}.` : "")));
}

const OPEN_ROUNDS = 12;  // up to so many stand open from the start

function roundsSection() {
  const all = rounds.map(round => {
    const preview = round.committed.map(token => span(`t ${token.way}`, visible(token.text.replace(/\n/g, "\u21b5"))));
    const figures = [round.nodes.length ? `${round.taken} of ${round.nodes.length} accepted` : "",
      round.side.length ? `${round.side.length} SIDE` : "", ms(round.ms)].filter(Boolean).join(" \u00b7 ");
    const details = make("details", { class: "round", id: `round-${round.name}` }, make("summary", {},
      span("", `Round ${round.name}`), span("preview", preview), span("figures", figures)));
    details.addEventListener("toggle", () => { if (details.open) fill(details, round); });
    return { details, round };
  });
  const setAll = open => {
    for (const { details, round } of all) { if (open) fill(details, round); details.open = open; }
  };
  if (rounds.length <= OPEN_ROUNDS) setAll(true);
  const legend = !drafting ? null : make("ul", { class: "legend" },
    make("li", {}, span("t key names acc", "accepted"), "by how it came"),
    make("li", { class: "tree" }, span("t own cor", "own"), "the target\u2019s own choice"),
    make("li", { class: "tree" }, span("t rej", "rejected"), "refused"));
  return section("Rounds", "One target forward each. MAIN\u2019s candidates as a tree: the top line is what the target "
    + "took, what it refused hangs below the place where it left.", legend,
    make("div", { class: "tools" }, make("button", { type: "button", onclick: () => setAll(true) }, "Open all"),
      make("button", { type: "button", onclick: () => setAll(false) }, "Close all")),
    make("div", {}, all.map(({ details }) => details)));
}

// ---------- the page ----------
const STOPS = {
  closed: "the answer\u2019s outer object closed", end: "the model ended its turn", length: "cut at the token limit",
};
const subtitle = ["SchemaFill trace", result.method || (drafting ? "" : "plain decoding"),
  result.stop ? STOPS[result.stop] || result.stop : ""];
document.title = `${trace.file}: SchemaFill trace`;
document.getElementById("page").replaceChildren(...[
  make("header", {}, make("h1", {}, trace.file), make("p", { class: "soft" }, subtitle.filter(Boolean).join(" \u00b7 ")),
    totals()),
  answer(), forecastSection(), lanesSection(), roundsSection()].filter(Boolean));
const wanted = rounds.find(round => `#round-${round.name}` === location.hash);
if (wanted) goTo(wanted);
