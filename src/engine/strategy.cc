#include "engine/strategy.h"

#include <array>
#include <string>

#include "draft/expand.h"

namespace schemafill {
namespace {

class ArStrategy final : public Strategy {
 public:
  Pack Propose(const RoundState&) override { return {}; }
};

class SchemaFillStrategy final : public Strategy {
 public:
  SchemaFillStrategy(const DraftSources& sources, const Tokenizer& tokenizer)
      : sources_(sources), tokenizer_(tokenizer) {}

  Pack Propose(const RoundState& state) override {
    const Draft draft = ExpandDraft(sources_, state.session->answer, {});
    return PackDraft(draft, state.tokens, tokenizer_, state.limits);
  }

 private:
  const DraftSources sources_;
  const Tokenizer& tokenizer_;
};

constexpr std::array kMethods = {Method::kAr, Method::kSchemaFill};

}  // namespace

std::string_view Name(Method method) {
  switch (method) {
    case Method::kAr:
      return "ar";
    case Method::kSchemaFill:
      return "schemafill";
  }
  return "";
}

Result<Method> ParseMethod(std::string_view name) {
  std::string known;
  for (const Method method : kMethods) {
    if (name == Name(method)) return method;
    known += (known.empty() ? "" : ", ") + std::string(Name(method));
  }
  return BadInput("unknown method '" + std::string(name) + "'; this build has: " + known);
}

Result<Preset> ParsePreset(std::string_view name) {
  if (name == "auto") return Preset::kAuto;
  if (name == "paper") return Preset::kPaper;
  return BadInput("unknown preset '" + std::string(name) + "'; there are: auto, paper");
}

std::unique_ptr<Strategy> MakeStrategy(Method method, const DraftSources& sources,
                                       const Tokenizer& tokenizer) {
  if (method == Method::kAr) return std::make_unique<ArStrategy>();
  return std::make_unique<SchemaFillStrategy>(sources, tokenizer);
}

}  // namespace schemafill
