// The sections of the page, and the page itself.

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
  return chip(node.text, fate, wayOf(node.kind), () => ({ title: `Candidate ${node.at + 1} of round ${round.name}, ${FATES[fate]}`, round, facts: [
    ["text", literal(node.text)], ["token", String(node.token ?? "")], ["probability", node.probability != null ? probability(node.probability) : null],
    ["kind", KINDS[node.kind] || node.kind],
    ["behind", node.parent < 0 ? "the last committed token" : [`candidate ${node.parent + 1} `, literal(round.nodes[node.parent].text)]]] }));
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
  const context = list(branch.context);
  if (context.length) line.append(chip(joined(context), "given", "", () => ({ title: `SIDE branch ${branch.branch ?? ""}, ${branch.field}: context`, round, facts: [
    ["text", literal(joined(context))], ["tokens", context.map(token => token.token).join(", ")], ["why", FATES.given]] })));
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
    make("p", { class: "note" }, make("br", {}), `Draft ${ms(number(round.draft_ms))}, forward ${ms(number(round.verify_ms))} of ${plural(1 + round.nodes.length + number(round.side_rows), "row")}`
      + (round.side_rows ? `, ${round.side_rows} of them SIDE` : ""),
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
