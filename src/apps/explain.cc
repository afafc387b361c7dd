#include "apps/explain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "api/generation_json.h"
#include "apps/columns.h"
#include "base/utf8.h"
#include "json/json.h"

namespace schemafill {
namespace {

constexpr size_t kRejectedShown = 4;   // branches
constexpr size_t kRejectedWidth = 60;  // bytes of one

struct Palette {
  const char* accepted;
  const char* corrected;
  const char* rejected;
  const char* dim;
  const char* off;
};

constexpr Palette kColours = {"\x1b[32m", "\x1b[1;33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"};
// Without colours, brackets tell the parts apart.
constexpr Palette kPlain = {"", "", "", "", ""};

// One line: line breaks as \n, half characters as U+FFFD.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : ReplaceInvalidUtf8(text)) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

std::string ToolName(const Catalog& catalog, int tool) {
  return catalog.tools[static_cast<size_t>(tool)].name;
}

// Texts of the rejected branches, each from where it left the accepted path, the likeliest first.
std::vector<std::string> RejectedBranches(const RoundTrace& round, const Tokenizer& tokenizer) {
  const auto& nodes = round.proposal.pack.nodes;
  std::vector<bool> accepted(nodes.size(), false);
  for (const int node : round.verdict.path) accepted[static_cast<size_t>(node)] = true;
  std::vector<bool> has_child(nodes.size(), false);
  for (const PackedNode& node : nodes) {
    if (node.node.parent >= 0) has_child[static_cast<size_t>(node.node.parent)] = true;
  }
  std::vector<std::pair<double, std::string>> branches;
  for (size_t leaf = 0; leaf < nodes.size(); ++leaf) {
    if (has_child[leaf] || accepted[leaf]) continue;
    std::string text;
    int at = static_cast<int>(leaf);
    for (; at >= 0 && !accepted[static_cast<size_t>(at)];
         at = nodes[static_cast<size_t>(at)].node.parent) {
      text.insert(0, tokenizer.Piece(nodes[static_cast<size_t>(at)].node.token));
    }
    branches.emplace_back(nodes[leaf].probability, std::move(text));
  }
  std::stable_sort(branches.begin(), branches.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (auto& [probability, text] : branches) texts.push_back(std::move(text));
  return texts;
}

void ExplainForecast(std::FILE* out, const Catalog& catalog, const Forecast& forecast) {
  std::string text;
  for (const CallGroup& group : forecast.groups) {
    text += fmt::format("{}#{} {}(", text.empty() ? "" : " ", group.call + 1,
                        ToolName(catalog, group.tool));
    for (size_t i = 0; i < group.slots.size(); ++i) {
      const Slot& slot = group.slots[i];
      text += fmt::format("{}{}{}: {}", i == 0 ? "" : ", ", slot.path, slot.required ? "" : "?",
                          Name(slot.type));
    }
    text += ")";
  }
  Columns(out, "forecast").PutWords(catalog.tools.empty() ? "no tools" : text);
}

// `create_event#1.title`: the slot that a branch or a transition is about.
std::string SlotName(const Catalog& catalog, int tool, int call, std::string_view field) {
  return fmt::format("{}#{}{}{}", ToolName(catalog, tool), call + 1, field.empty() ? "" : ".",
                     field);
}

// What each SIDE branch did: accepted text, the correction in brackets, what was refused.
void ExplainSide(std::FILE* out, const Palette& colour, const Catalog& catalog,
                 const Tokenizer& tokenizer, const RoundTrace& round) {
  for (size_t i = 0; i < round.side_verdicts.size(); ++i) {
    const SideVerdict& verdict = round.side_verdicts[i];
    const PreparedValue& value = round.news.side[i].value;
    const std::span<const Token> draft = round.proposal.side[i].draft;
    const size_t accepted = static_cast<size_t>(verdict.accepted);
    Columns line(out, "  side");
    line.Put(SlotName(catalog, value.tool, value.call, value.field) + " ", colour.dim, colour.off);
    line.Put(OneLine(tokenizer.Decode(draft.first(accepted))), colour.accepted, colour.off);
    line.Put("[");
    line.Put(OneLine(tokenizer.Piece(verdict.correction)), colour.corrected, colour.off);
    line.Put("]");
    line.Put(OneLine(tokenizer.Decode(draft.subspan(accepted))), colour.rejected, colour.off);
    if (value.complete) line.PutWords("  ready: " + OneLine(value.json));
  }
}

// What MAIN's draft had from SIDE branches, and what the verified text did to the schedule.
void ExplainSlots(std::FILE* out, const Catalog& catalog, const RoundTrace& round) {
  std::string prepared;
  for (const PreparedValue& value : round.proposal.prepared) {
    prepared += fmt::format("{}{} {}{}", prepared.empty() ? "" : ", ",
                            SlotName(catalog, value.tool, value.call, value.field),
                            OneLine(value.json), value.complete ? "" : "...");
  }
  if (!prepared.empty()) Columns(out, "  prepared").PutWords(prepared);
  std::string events;
  for (const ScheduleEvent& event : round.news.events)
    events += (events.empty() ? "" : "; ") + event.Dump(catalog);
  if (!events.empty()) Columns(out, "  slots").PutWords(events);
}

void ExplainRound(std::FILE* out, const Palette& colour, const Catalog& catalog,
                  const Tokenizer& tokenizer, const RoundTrace& round) {
  const size_t accepted = std::min(round.committed.size(), round.verdict.path.size());
  const std::span<const Token> committed = round.committed;
  Columns(out, fmt::format("round {}", round.round))
      .Put(fmt::format("{} of {} accepted{}, {:.1f} ms", round.verdict.path.size(),
                       round.proposal.pack.nodes.size(),
                       round.side_rows > 0 ? fmt::format(", {} SIDE rows", round.side_rows) : "",
                       round.draft_ms + round.verify_ms),
           colour.dim, colour.off);
  {
    Columns line(out, "  main");
    line.Put(OneLine(tokenizer.Decode(committed.first(accepted))), colour.accepted, colour.off);
    line.Put("[");
    line.Put(OneLine(tokenizer.Decode(committed.subspan(accepted))), colour.corrected, colour.off);
    line.Put("]");
  }
  const std::vector<std::string> rejected = RejectedBranches(round, tokenizer);
  for (size_t i = 0; i < std::min(rejected.size(), kRejectedShown); ++i) {
    std::string text = OneLine(rejected[i]);
    if (text.size() > kRejectedWidth)
      text = text.substr(0, WholeCharacters(text.substr(0, kRejectedWidth))) + "...";
    Columns(out, "  not").Put(text, colour.rejected, colour.off);
  }
  if (rejected.size() > kRejectedShown) {
    Columns(out, "  not")
        .Put(fmt::format("{} more", rejected.size() - kRejectedShown), colour.dim, colour.off);
  }
  ExplainSide(out, colour, catalog, tokenizer, round);
  ExplainSlots(out, catalog, round);
}

void WriteLine(std::FILE* out, const Json& line) { fmt::print(out, "{}\n", DumpLine(line)); }

Json ForecastJson(const Catalog& catalog, const Forecast& forecast) {
  Json groups = Json::array();
  for (const CallGroup& group : forecast.groups) {
    Json slots = Json::array();
    for (const Slot& slot : group.slots) {
      slots.push_back(
          {{"path", slot.path}, {"type", Name(slot.type)}, {"required", slot.required}});
    }
    groups.push_back(
        {{"call", group.call}, {"tool", ToolName(catalog, group.tool)}, {"slots", slots}});
  }
  Json ranking = Json::array();
  for (const RankedTool& ranked : forecast.ranking) {
    ranking.push_back({{"tool", ToolName(catalog, ranked.tool)}, {"score", ranked.score}});
  }
  return {{"type", "forecast"}, {"ranking", ranking}, {"groups", groups}};
}

Json TokenJson(const Tokenizer& tokenizer, Token token) {
  return {{"token", Index(token)}, {"text", tokenizer.Piece(token)}};
}

Json ValueJson(const Catalog& catalog, const PreparedValue& value) {
  return {{"call", value.call},
          {"tool", ToolName(catalog, value.tool)},
          {"field", value.field},
          {"json", value.json},
          {"complete", value.complete}};
}

Json SideJson(const Catalog& catalog, const Tokenizer& tokenizer, const SideDraft& draft,
              const SideVerdict& verdict, const SideView& view) {
  Json context = Json::array();
  for (const Token token : draft.context) context.push_back(TokenJson(tokenizer, token));
  Json drafted = Json::array();
  for (size_t i = 0; i < draft.draft.size(); ++i) {
    drafted.push_back(TokenJson(tokenizer, draft.draft[i]));
    drafted.back()["accepted"] = i < static_cast<size_t>(verdict.accepted);
  }
  return {{"branch", draft.branch},    {"group", view.group},
          {"call", view.value.call},   {"tool", ToolName(catalog, view.value.tool)},
          {"field", view.value.field}, {"context", context},
          {"draft", drafted},          {"correction", TokenJson(tokenizer, verdict.correction)},
          {"value", view.value.json},  {"complete", view.value.complete}};
}

Json EventJson(const Catalog& catalog, const ScheduleEvent& event) {
  return {{"transition", Name(event.transition)},
          {"group", event.group},
          {"call", event.call},
          {"tool", ToolName(catalog, event.tool)},
          {"field", event.field}};
}

Json RoundJson(const Catalog& catalog, const Tokenizer& tokenizer, const RoundTrace& round) {
  std::vector<bool> accepted(round.proposal.pack.nodes.size(), false);
  for (const int node : round.verdict.path) accepted[static_cast<size_t>(node)] = true;
  Json nodes = Json::array();
  for (size_t i = 0; i < round.proposal.pack.nodes.size(); ++i) {
    const PackedNode& node = round.proposal.pack.nodes[i];
    nodes.push_back({{"token", Index(node.node.token)},
                     {"text", tokenizer.Piece(node.node.token)},
                     {"parent", node.node.parent},
                     {"probability", node.probability},
                     {"kind", Name(node.kind)},
                     {"accepted", static_cast<bool>(accepted[i])}});
  }
  Json committed = Json::array();
  for (const Token token : round.committed) committed.push_back(TokenJson(tokenizer, token));
  Json side = Json::array();
  for (size_t i = 0; i < round.side_verdicts.size(); ++i) {
    side.push_back(SideJson(catalog, tokenizer, round.proposal.side[i], round.side_verdicts[i],
                            round.news.side[i]));
  }
  Json prepared = Json::array();
  for (const PreparedValue& value : round.proposal.prepared)
    prepared.push_back(ValueJson(catalog, value));
  Json events = Json::array();
  for (const ScheduleEvent& event : round.news.events) events.push_back(EventJson(catalog, event));
  return {{"type", "round"},
          {"round", round.round},
          {"nodes", nodes},
          {"committed", committed},
          {"side", side},
          {"side_rows", round.side_rows},
          {"prepared", prepared},
          {"events", events},
          {"draft_ms", round.draft_ms},
          {"verify_ms", round.verify_ms},
          {"cells",
           {{"prefix", round.cells.prefix},
            {"verified", round.cells.verified},
            {"side", round.cells.side},
            {"parked", round.cells.parked},
            {"peak", round.cells.peak}}}};
}

}  // namespace

TraceSink ExplainTo(std::FILE* out, const Catalog& catalog, const Tokenizer& tokenizer) {
  const Palette& colour = isatty(fileno(out)) != 0 ? kColours : kPlain;
  return {.forecast =
              [=, &catalog](const Forecast& forecast) { ExplainForecast(out, catalog, forecast); },
          .round =
              [=, &catalog, &tokenizer](const RoundTrace& round) {
                ExplainRound(out, colour, catalog, tokenizer, round);
              }};
}

TraceSink TraceTo(std::FILE* out, const Catalog& catalog, const Tokenizer& tokenizer) {
  return {.forecast =
              [=, &catalog](const Forecast& forecast) {
                WriteLine(out, ForecastJson(catalog, forecast));
              },
          .round =
              [=, &catalog, &tokenizer](const RoundTrace& round) {
                WriteLine(out, RoundJson(catalog, tokenizer, round));
              }};
}

void TraceResult(std::FILE* out, const Generation& generation, std::string_view method) {
  WriteLine(out, {{"type", "result"},
                  {"method", method},
                  {"text", generation.text},
                  {"stop", Name(generation.stop)},
                  {"stats", StatsJson(generation.stats)}});
}

TraceSink Join(TraceSink first, TraceSink second) {
  return {.forecast =
              [a = first.forecast, b = second.forecast](const Forecast& forecast) {
                if (a) a(forecast);
                if (b) b(forecast);
              },
          .round =
              [a = first.round, b = second.round](const RoundTrace& round) {
                if (a) a(round);
                if (b) b(round);
              }};
}

}  // namespace schemafill
