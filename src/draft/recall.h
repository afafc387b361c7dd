// What earlier answers had: agents call the same tools with the same units, paths and options again
// and again (ToolSpec, Xia et al. 2026). Kept are the arguments of complete calls; looked up is a
// slot, by tool and field. Of the calls that have the slot, those go first that agree with the
// call under way in the fields right in front of it, so that a call that is made again is recalled
// as a whole, value by value.
//
// A recalled value is a hint like any other. Tested by tests/draft/recall_test.cc.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"

namespace schemafill {

struct RecalledValue {
  std::string json;
  double weight = 0;  // all of a lookup's sum to at most 1
};

// Not thread-safe. Lookups cost time in proportion to the last calls of one tool, at most
// kLookedAt.
class Recall {
 public:
  static constexpr size_t kLookedAt = 64;

  // The oldest calls go where the next ones would take more than `max_bytes`.
  explicit Recall(size_t max_bytes = size_t{256} << 10) : max_bytes_(max_bytes) {}

  // Takes in the complete calls of a finished answer.
  void Add(const Answer& answer);

  // Values of `path` for the call under way, the likeliest first, each once. `call` holds the
  // fields in front of the slot.
  std::vector<RecalledValue> Values(const AnswerCall& call, std::string_view path) const;

  // The last call of the tool, null if there is none. Valid until the next Add.
  const AnswerCall* LastCall(std::string_view tool) const;

  size_t calls() const { return order_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  const std::deque<AnswerCall>* CallsOf(std::string_view tool) const;
  void DropOldest();

  size_t max_bytes_;
  size_t bytes_ = 0;
  std::map<std::string, std::deque<AnswerCall>, std::less<>> calls_;  // by tool, the oldest first
  std::deque<std::string> order_;                                     // of all calls, their tools
};

}  // namespace schemafill
