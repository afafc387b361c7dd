// Shows at load whether a model's rows are the same bits in any company.
// Tested by tests/model/llama_model_test.cc and, with a model that breaks the rule, by
// tests/model/self_test_test.cc.
#pragma once

#include <string>

#include "model/target_model.h"

namespace schemafill {

struct SelfTestSize {
  int prompt = 32;  // tokens of context
  int path = 5;     // rows of the verified path, at least 2
};

struct SelfTestResult {
  bool equal = false;
  int rows = 0;         // compared
  double worst = 0;     // largest difference between two logits
  std::string summary;  // one line
};

// Decodes some tokens one row at a time, then the same tokens as a path of a tree with siblings and
// with rows of another sequence in one forward, accepts the path with a rejected cell parked in
// front of it, and decodes on. Whole logits rows are compared bit by bit. Leaves the cache as it
// found it: empty. REQUIRES: an empty cache; model.info().max_sequences >= 4.
SelfTestResult RunSelfTest(TargetModel& model, const SelfTestSize& size);

}  // namespace schemafill
