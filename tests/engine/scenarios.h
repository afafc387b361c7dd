// Requests and what a model might answer to them, of every kind that matters to a drafter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catalog/request.h"
#include "model/scripted/scripted_model.h"

namespace schemafill {

// A vocabulary in which prompts and answers of the scenarios are short.
std::shared_ptr<const ScriptedTokenizer> ScenarioTokenizer();

enum class AnswerKind {
  kDumps,       // as json.dumps spells it
  kCompact,     // without white space
  kIndented,    // pretty-printed
  kOddSpace,    // white space anywhere
  kOther,       // tools and keys that the catalog doesn't have
  kShuffled,    // keys in any order and some twice, arguments in front of the name
  kProse,       // no call
  kProseFirst,  // words, then the calls
  kFenced,      // ```json
  kBroken,      // damaged JSON
  kBareCall,    // one call without the list around it
  kBareList,    // the list alone
  kEmpty,       // the end at once
  kTextBehind,  // more behind the closing bracket
  kOddValues,   // numbers, escapes and characters that readers trip over
  kUnfinished,  // the end in the middle
  kCount,
};

std::string_view Name(AnswerKind kind);

struct Scenario {
  std::string label;
  Request request;
  std::string text;           // the answer
  std::vector<Token> answer;  // the same as tokens, not always as the tokenizer would write it
};

// The same for a seed on every machine.
Scenario MakeScenario(uint64_t seed, AnswerKind kind);

}  // namespace schemafill
