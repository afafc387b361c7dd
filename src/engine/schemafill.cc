#include "engine/schemafill.h"

#include "draft/encode.h"
#include "draft/expand.h"
#include "draft/head_drafter.h"
#include "engine/head_limits.h"

namespace schemafill {
namespace {

// Least probability of a drafted path. Where rows cost, a less likely one never pays, and drafting
// it takes time; where their number is fixed, it fills what is left.
constexpr double kWorthARow = 0.05;
constexpr double kWorthANode = 0.01;

// Another value of the same kind, whatever the slot.
void Lie(std::vector<PreparedValue>* prepared) {
  for (PreparedValue& value : *prepared) {
    const bool text = value.json.front() == '"';
    value.json = text ? "\"not so\"" : value.json + "7";
    value.complete = true;
  }
}

class SchemaFill final : public Strategy {
 public:
  SchemaFill(const SchemaFillOptions& options, const DraftSources& sources,
             const Tokenizer& tokenizer)
      : options_(options),
        sources_(sources),
        tokenizer_(tokenizer),
        schedule_(*sources.catalog, *sources.forecast),
        branches_(sources, tokenizer_, options.branches) {}

  Proposal Propose(const RoundState& state) override {
    Proposal proposal;
    if (options_.side && state.side_rows > 0) {
      // A snapshot from before the round: what branches finish now, MAIN gets in a later one.
      proposal.prepared = branches_.Prepared(schedule_);
      if (options_.fault == Fault::kLyingSides) Lie(&proposal.prepared);
      const MainState main{&state.session->answer, state.tokens, state.prompt_tokens};
      proposal.side = branches_.Propose(main, schedule_, proposal.prepared, state.side_rows,
                                        state.side_branches, GuessSides(state));
    }
    DraftSources sources = sources_;
    sources.prepared = proposal.prepared;
    const std::vector<HeadText> head = AskHead(state, sources);
    sources.head = head;
    const bool rows_cost = !state.limits.cost.points.empty();
    const Draft draft = ExpandDraft(sources, state.session->answer,
                                    {.min_probability = rows_cost ? kWorthARow : kWorthANode,
                                     .across_calls = options_.across_calls});
    proposal.pack = PackDraft(draft, state.tokens, tokenizer_, state.limits);
    drafts_ = proposal.side;
    return proposal;
  }

  bool uses_head() const override { return true; }

  RoundNews Observe(const RoundResult& result) override {
    RoundNews news;
    news.done = branches_.Take(result.side_verdicts, drafts_);
    news.events = schedule_.Align(result.session->answer);
    for (const int branch : branches_.Retire(schedule_)) news.done.push_back(branch);
    for (const SideVerdict& verdict : result.side_verdicts)
      news.side.push_back(branches_.View(verdict.branch, schedule_));
    return news;
  }

 private:
  // The head's tree as text, where it may know more than the scaffold.
  std::vector<HeadText> AskHead(const RoundState& state, const DraftSources& sources) const {
    std::vector<HeadText> texts;
    if (state.head == nullptr || IsSure(sources, state.session->answer)) return texts;
    const std::vector<HeadNode> nodes = state.head->Draft(LimitsOf(state.limits));
    for (const HeadNode& node : nodes) {
      const double reached =
          node.parent < 0 ? 1 : nodes[static_cast<size_t>(node.parent)].probability;
      texts.push_back(
          {node.parent, std::string(tokenizer_.Piece(node.token)), node.probability / reached});
    }
    return texts;
  }

  std::map<int, HeadGuess> GuessSides(const RoundState& state) const {
    if (state.head == nullptr) return {};
    return state.head->DraftBranches(branches_.AsksHead());
  }

  const SchemaFillOptions options_;
  const DraftSources sources_;
  const MemoTokenizer tokenizer_;
  Schedule schedule_;
  SideBranches branches_;
  std::vector<SideDraft> drafts_;  // of the last proposal
};

}  // namespace

std::unique_ptr<Strategy> MakeSchemaFill(const SchemaFillOptions& options,
                                         const DraftSources& sources, const Tokenizer& tokenizer) {
  return std::make_unique<SchemaFill>(options, sources, tokenizer);
}

}  // namespace schemafill
