#include "engine/eagle3.h"

#include "draft/head_drafter.h"
#include "engine/head_limits.h"

namespace schemafill {
namespace {

class Eagle3 final : public Strategy {
 public:
  bool uses_head() const override { return true; }

  Proposal Propose(const RoundState& state) override {
    Proposal proposal;
    if (state.head == nullptr) return proposal;
    std::vector<PackedNode> nodes;
    for (const HeadNode& node : state.head->Draft(LimitsOf(state.limits)))
      nodes.push_back({{node.token, node.parent}, node.probability, PieceKind::kHead});
    proposal.pack = PackTree(nodes, state.limits);
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeEagle3() { return std::make_unique<Eagle3>(); }

}  // namespace schemafill
