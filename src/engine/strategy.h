// A decoding method is a strategy over the one engine: it proposes a tree, the engine has the
// target verify it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commit/session.h"
#include "draft/pieces.h"
#include "model/tokenizer.h"
#include "pack/pack.h"

namespace schemafill {

enum class Method {
  kAr,          // one row a step: the reference for output and for speed
  kSchemaFill,  // schema-guided MAIN path (paper 5.3, stage B) with copied values
};

std::string_view Name(Method method);
// The error lists the methods that there are.
Result<Method> ParseMethod(std::string_view name);

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
  const Session* session = nullptr;
  PackLimits limits;
};

// Not thread-safe; one for a request. A proposal is a hint: it may be empty and never fails.
class Strategy {
 public:
  virtual ~Strategy() = default;
  // At most state.limits.max_nodes nodes and state.limits.max_leaves leaves, whatever they hold.
  virtual Pack Propose(const RoundState& state) = 0;
};

// Makes the strategy of one request. The sources outlive it.
using StrategyMaker =
    std::function<std::unique_ptr<Strategy>(const DraftSources&, const Tokenizer&)>;

// The sources must outlive the strategy.
std::unique_ptr<Strategy> MakeStrategy(Method method, const DraftSources& sources,
                                       const Tokenizer& tokenizer);

}  // namespace schemafill
