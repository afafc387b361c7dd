#include "draft/expand.h"

#include <fmt/format.h>

#include <queue>

namespace schemafill {
namespace {

// A node whose continuations are still to be found.
struct Open {
  int node = -1;
  double probability = 1;
  DraftPoint point;
  int characters = 0;
};

struct LessProbable {
  bool operator()(const Open& a, const Open& b) const {
    return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
  }
};

bool InCall(const Answer& answer) {
  return answer.place() == Place::kCall || answer.place() == Place::kArguments;
}

}  // namespace

Draft ExpandDraft(const DraftSources& sources, const Answer& answer, const ExpandLimits& limits) {
  Draft draft;
  std::priority_queue<Open, std::vector<Open>, LessProbable> open;
  open.push({.point = StartAt(answer, *sources.source)});
  // Without packing across calls a path ends with the call that it starts in, or the first one.
  const size_t last_call = answer.calls().size() + (InCall(answer) ? 0 : 1);
  while (!open.empty() && static_cast<int>(draft.nodes.size()) < limits.max_nodes) {
    const Open best = open.top();
    open.pop();
    if (best.characters >= limits.max_characters) continue;
    const Answer& so_far = best.point.answer;
    const bool ends = best.node >= 0 && !InCall(so_far) && so_far.calls().size() >= last_call;
    if (!limits.across_calls && ends) continue;
    for (const Piece& piece : NextPieces(sources, so_far, best.point.reached)) {
      const double probability = best.probability * piece.probability;
      if (probability < limits.min_probability) continue;
      const size_t room = static_cast<size_t>(limits.max_characters - best.characters);
      const int node = static_cast<int>(draft.nodes.size());
      draft.nodes.push_back({best.node, piece.text.substr(0, room), probability, piece.kind});
      if (piece.text.size() > room) continue;  // a long word of the request: nobody gets behind it
      Open next{node, probability, best.point,
                best.characters + static_cast<int>(piece.text.size())};
      Follow(piece, *sources.source, &next.point);
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
