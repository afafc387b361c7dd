#include "draft/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace schemafill {
namespace {

constexpr int kElsewhere = -2;

// A node whose continuations are still to be found.
struct Open {
  int node = -1;
  double probability = 1;
  DraftPoint point;
  int characters = 0;
  int head = kElsewhere;  // the head's node that it is, -1: the answer so far, which they hang on
};

struct LessProbable {
  bool operator()(const Open& a, const Open& b) const {
    return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
  }
};

bool InCall(const Answer& answer) {
  return answer.place() == Place::kCall || answer.place() == Place::kArguments;
}

double Surest(const std::vector<Piece>& pieces) {
  double surest = 0;
  for (const Piece& piece : pieces) surest = std::max(surest, piece.probability);
  return surest;
}

// Where the pieces are not sure of themselves, what the head says counts.
double HeadShare(const std::vector<Piece>& pieces) {
  return std::clamp(1 - Surest(pieces), 0.05, 0.6);
}

// A step behind a node: a piece, or a node of the head.
struct Step {
  Piece piece;
  int head = kElsewhere;
};

std::vector<Step> StepsBehind(const DraftSources& sources, const Open& open) {
  std::vector<Step> steps;
  std::vector<Piece> pieces = NextPieces(sources, open.point.answer, open.point.reached);
  if (open.head != kElsewhere) {
    const double share = HeadShare(pieces);
    for (int i = 0; i < static_cast<int>(sources.head.size()); ++i) {
      const HeadText& node = sources.head[static_cast<size_t>(i)];
      if (node.parent != open.head || node.text.empty()) continue;
      steps.push_back({{node.text, share * node.share, PieceKind::kHead}, i});
    }
    for (Piece& piece : pieces) piece.probability *= steps.empty() ? 1 : 1 - share;
  }
  for (Piece& piece : pieces) steps.push_back({std::move(piece)});
  return steps;
}

}  // namespace

bool IsSure(const DraftSources& sources, const Answer& answer) {
  constexpr double kSure = 0.9;
  const DraftPoint point = StartAt(answer, *sources.source);
  return Surest(NextPieces(sources, point.answer, point.reached)) >= kSure;
}

Draft ExpandDraft(const DraftSources& sources, const Answer& answer, const ExpandLimits& limits) {
  Draft draft;
  std::priority_queue<Open, std::vector<Open>, LessProbable> open;
  open.push(
      {.point = StartAt(answer, *sources.source), .head = sources.head.empty() ? kElsewhere : -1});
  // Without packing across calls a path ends with the call that it starts in, or the first one.
  const size_t last_call = answer.calls().size() + (InCall(answer) ? 0 : 1);
  while (!open.empty() && static_cast<int>(draft.nodes.size()) < limits.max_nodes) {
    const Open best = open.top();
    open.pop();
    if (best.characters >= limits.max_characters) continue;
    const Answer& so_far = best.point.answer;
    const bool ends = best.node >= 0 && !InCall(so_far) && so_far.calls().size() >= last_call;
    if (!limits.across_calls && ends) continue;
    for (const auto& [piece, head] : StepsBehind(sources, best)) {
      const double probability = best.probability * piece.probability;
      if (probability < limits.min_probability) continue;
      const size_t room = static_cast<size_t>(limits.max_characters - best.characters);
      const int node = static_cast<int>(draft.nodes.size());
      draft.nodes.push_back({best.node, piece.text.substr(0, room), probability, piece.kind});
      if (piece.text.size() > room) continue;  // a long word of the request: nobody gets behind it
      Open next{node, probability, best.point,
                best.characters + static_cast<int>(piece.text.size()), head};
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
