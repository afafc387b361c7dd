#include "draft/expand.h"

#include <fmt/format.h>

#include <queue>

#include "draft/values.h"

namespace schemafill {
namespace {

// A node whose continuations are still to be found: the answer as it would then stand.
struct Open {
  int node = -1;
  double probability = 1;
  Answer answer;
  size_t reached = 0;
  int characters = 0;
};

struct LessProbable {
  bool operator()(const Open& a, const Open& b) const {
    return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
  }
};

Open Follow(const Open& from, const Piece& piece, const SourceText& source) {
  Open next = from;
  next.answer.Feed(piece.text);
  next.characters += static_cast<int>(piece.text.size());
  if (piece.ends_scalar) next.answer.FinishScalar();
  const auto& calls = next.answer.calls();
  const bool value = piece.kind == PieceKind::kValue || piece.kind == PieceKind::kPrepared;
  if (value && !calls.empty() && !calls.back().fields.empty()) {
    next.reached = Advance(source, from.reached, calls.back().fields.back().raw);
  }
  return next;
}

}  // namespace

Draft ExpandDraft(const DraftSources& sources, const Answer& answer, const ExpandLimits& limits) {
  Draft draft;
  std::priority_queue<Open, std::vector<Open>, LessProbable> open;
  open.push({.answer = answer, .reached = ReachedBy(*sources.source, answer.calls())});
  // Without packing across calls a path ends with the call that it starts in, or the first one.
  const bool in_call = answer.place() == Place::kCall || answer.place() == Place::kArguments;
  const size_t last_call = answer.calls().size() + (in_call ? 0 : 1);
  while (!open.empty() && static_cast<int>(draft.nodes.size()) < limits.max_nodes) {
    const Open best = open.top();
    open.pop();
    if (best.characters >= limits.max_characters) continue;
    if (!limits.across_calls && best.node >= 0 && best.answer.place() != Place::kCall &&
        best.answer.place() != Place::kArguments && best.answer.calls().size() >= last_call) {
      continue;
    }
    for (const Piece& piece : NextPieces(sources, best.answer, best.reached)) {
      const double probability = best.probability * piece.probability;
      if (probability < limits.min_probability) continue;
      const size_t room = static_cast<size_t>(limits.max_characters - best.characters);
      if (piece.text.size() > room) {  // a long word of the request: nobody gets behind its end
        draft.nodes.push_back({best.node, piece.text.substr(0, room), probability, piece.kind});
        continue;
      }
      Open next = Follow(best, piece, *sources.source);
      next.probability = probability;
      next.node = static_cast<int>(draft.nodes.size());
      draft.nodes.push_back({best.node, piece.text, next.probability, piece.kind});
      open.push(std::move(next));
    }
  }
  return draft;
}

std::string Draft::Dump() const {
  std::vector<int> depths;
  std::string out;
  for (const DraftNode& node : nodes) {
    const int depth = node.parent < 0 ? 0 : depths[static_cast<size_t>(node.parent)] + 1;
    depths.push_back(depth);
    out += fmt::format("{:{}}{:.2f} {} {}\n", "", 2 * depth, node.probability, Name(node.kind),
                       node.text);
  }
  return out;
}

}  // namespace schemafill
