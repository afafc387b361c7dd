#include "engine/strategy.h"

#include <array>
#include <string>

#include "engine/eagle3.h"
#include "engine/schemafill.h"
#include "engine/toolspec.h"

namespace schemafill {
namespace {

class ArStrategy final : public Strategy {
 public:
  Proposal Propose(const RoundState&) override { return {}; }
};

struct NamedMethod {
  std::string_view name;
  MethodSpec spec;
};

constexpr auto kMethods = std::to_array<NamedMethod>({
    {"ar", {Method::kAr}},
    {"eagle3", {Method::kEagle3}},
    {"toolspec", {Method::kToolSpec}},
    {"schemafill", {Method::kSchemaFill}},
    {"schemafill-b", {Method::kSchemaFill, Stage::kB}},
    {"schemafill-c", {Method::kSchemaFill, Stage::kC}},
    {"schemafill-hint", {Method::kSchemaFill, Stage::kD, Fault::kNone, SideContext::kHint}},
    {"schemafill-lying", {Method::kSchemaFill, Stage::kD, Fault::kLyingSides}},
    {"parallel-fill", {Method::kParallelFill}},
    {"oracle", {Method::kOracle}},
});

}  // namespace

std::string_view Name(const MethodSpec& spec) {
  for (const NamedMethod& method : kMethods) {
    if (method.spec == spec) return method.name;
  }
  return "";
}

Result<MethodSpec> ParseMethod(std::string_view name) {
  std::string known;
  for (const NamedMethod& method : kMethods) {
    if (name == method.name) return method.spec;
    known += (known.empty() ? "" : ", ") + std::string(method.name);
  }
  return BadInput("unknown method '" + std::string(name) + "'; this build has: " + known);
}

Result<Preset> ParsePreset(std::string_view name) {
  if (name == "auto") return Preset::kAuto;
  if (name == "paper") return Preset::kPaper;
  return BadInput("unknown preset '" + std::string(name) + "'; there are: auto, paper");
}

std::unique_ptr<Strategy> MakeStrategy(const MethodSpec& spec, bool with_side,
                                       const DraftSources& sources, const Tokenizer& tokenizer,
                                       Memory* memory) {
  Check(spec.method != Method::kOracle, "MakeOracle makes it");
  if (spec.method == Method::kAr || IsLossy(spec)) return std::make_unique<ArStrategy>();
  if (spec.method == Method::kEagle3) return MakeEagle3();
  if (spec.method == Method::kToolSpec) return MakeToolSpec(sources, tokenizer, memory);
  return MakeSchemaFill({.side = with_side && spec.stage != Stage::kB,
                         .across_calls = spec.stage == Stage::kD,
                         .fault = spec.fault,
                         .branches = {.context = spec.context}},
                        sources, tokenizer);
}

}  // namespace schemafill
