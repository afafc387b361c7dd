// A decoding method is a strategy over the one engine: it proposes rows, the engine has the target
// verify them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commit/session.h"
#include "draft/head_drafter.h"
#include "draft/pieces.h"
#include "draft/side.h"
#include "engine/memory.h"
#include "model/tokenizer.h"
#include "pack/pack.h"
#include "plan/schedule.h"

namespace schemafill {

enum class Method {
  kAr,            // one row a step: the reference for output and for speed
  kSchemaFill,    // the paper's method
  kEagle3,        // a head's token tree along the emitted prefix: stage A
  kToolSpec,      // schema, retrieval and recycled tokens, within one call (Xia et al. 2026)
  kParallelFill,  // LOSSY: `ar`'s skeleton, filled slot by slot apart (engine/parallel_fill.h)
  kOracle,        // the answer is known: the limit of any drafter (engine/oracle.h)
};

// How much of the method is in use: the cumulative ablation of the paper's Table 2. Its stage A is
// another method, `eagle3`.
enum class Stage {
  kB,  // the schema-guided MAIN path, within one call
  kC,  // and SIDE branches
  kD,  // and packing across calls: all of SchemaFill
};

// Faults for tests of losslessness on a real model: they cost speed, never a token.
enum class Fault {
  kNone,
  kLyingSides,  // what SIDE branches have ready is replaced by another value
};

// What runs under a method's name. A Method by itself is all of it, without faults.
struct MethodSpec {
  constexpr MethodSpec(Method method, Stage stage = Stage::kD, Fault fault = Fault::kNone,
                       SideContext context = SideContext::kGuess)
      : method(method), stage(stage), fault(fault), context(context) {}
  friend bool operator==(const MethodSpec&, const MethodSpec&) = default;

  Method method;
  Stage stage;
  Fault fault;
  SideContext context;
};

// `ar`, `eagle3`, `toolspec`, `schemafill`; `schemafill-b` and `schemafill-c` for the earlier
// stages; `schemafill-hint` with SIDE branches behind the paper's prefix; `schemafill-lying` with
// Fault::kLyingSides; `parallel-fill`; `oracle`.
std::string_view Name(const MethodSpec& spec);

// Whether the method may give another answer than `ar`: it is no strategy over verified tokens, and
// has no acceptance length.
inline bool IsLossy(const MethodSpec& spec) { return spec.method == Method::kParallelFill; }

// The error lists the names that there are.
Result<MethodSpec> ParseMethod(std::string_view name);

// How much is drafted.
enum class Preset {
  kAuto,  // what pays on this machine by its cost curve; never slower than `ar` by more than a miss
          // now and then
  kPaper,  // a fixed number of nodes, whatever a row costs: for figures that compare across
           // machines
};

Result<Preset> ParsePreset(std::string_view name);

// What a strategy may look at in a round. All of it public or verified.
struct RoundState {
  std::span<const Token> tokens;  // prompt and committed output
  int prompt_tokens = 0;          // of them, the prompt
  const Session* session = nullptr;
  PackLimits limits;            // of MAIN's tree
  int side_rows = 0;            // most rows of SIDE branches
  int side_branches = 0;        // most branches that may begin
  HeadDrafter* head = nullptr;  // where the committed output stands; null without a head
};

// What the next forward should verify. A proposal is a hint: it may be empty and never fails.
struct Proposal {
  Pack pack;                            // MAIN
  std::vector<SideDraft> side;          // SIDE branches, each once
  std::vector<PreparedValue> prepared;  // what MAIN's draft could use, for the trace
};

// What became of a proposal. Its views live until Observe returns.
struct RoundResult {
  const Session* session = nullptr;            // with what MAIN committed
  std::span<const int> path;                   // accepted nodes of the proposal's pack
  std::span<const SideVerdict> side_verdicts;  // on the proposal's branches, in its order
  // [vocab_size] of row 0 (the root) or i + 1 (node i of the pack).
  std::function<std::span<const float>(int)> logits;
};

// What a strategy made of the target's verdicts.
struct RoundNews {
  std::vector<int> done;              // branches that end here
  std::vector<SideView> side;         // each branch of the proposal, as it stands now
  std::vector<ScheduleEvent> events;  // what happened to the schedule
};

// Not thread-safe; one for a request.
class Strategy {
 public:
  virtual ~Strategy() = default;
  // At most state.limits.max_nodes nodes, state.limits.max_leaves leaves and state.side_rows SIDE
  // rows, whatever they hold.
  virtual Proposal Propose(const RoundState& state) = 0;
  // Whether it drafts with a head where there is one. What the head needs is kept only then.
  virtual bool uses_head() const { return false; }
  virtual RoundNews Observe(const RoundResult&) { return {}; }  // of the last proposal
};

// Makes the strategy of one request. The sources outlive it.
using StrategyMaker =
    std::function<std::unique_ptr<Strategy>(const DraftSources&, const Tokenizer&)>;

// The sources must outlive the strategy, and so must `memory`, which may be null. `with_side`: SIDE
// rows pay here. For a lossy method: the strategy of what it starts from.
std::unique_ptr<Strategy> MakeStrategy(const MethodSpec& spec, bool with_side,
                                       const DraftSources& sources, const Tokenizer& tokenizer,
                                       Memory* memory = nullptr);

}  // namespace schemafill
