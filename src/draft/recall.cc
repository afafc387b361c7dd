#include "draft/recall.h"

#include <algorithm>
#include <array>
#include <span>

namespace schemafill {
namespace {

constexpr size_t kMostValues = 3;
// Weight of a call by how many fields in front of the slot it agrees in, and what a newer call
// takes off it. By hand.
constexpr std::array<double, 4> kAgreementWeight = {1, 3, 6, 12};
constexpr double kAging = 0.9;

size_t BytesOf(const AnswerCall& call) {
  // The name is kept twice: as the key and in the order.
  size_t bytes = sizeof(AnswerCall) + 2 * (sizeof(std::string) + call.name.size());
  for (const AnswerField& field : call.fields)
    bytes += sizeof(AnswerField) + field.path.size() + field.raw.size();
  return bytes;
}

// How many fields both end with.
size_t Agreement(std::span<const AnswerField> a, std::span<const AnswerField> b) {
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && same + 1 < kAgreementWeight.size()) {
    const AnswerField& x = a[a.size() - 1 - same];
    const AnswerField& y = b[b.size() - 1 - same];
    if (x.path != y.path || x.raw != y.raw) break;
    ++same;
  }
  return same;
}

void AddWeight(const std::string& json, double weight, std::vector<RecalledValue>* values) {
  for (RecalledValue& value : *values) {
    if (value.json != json) continue;
    value.weight += weight;
    return;
  }
  values->push_back({json, weight});
}

}  // namespace

void Recall::Add(const Answer& answer) {
  for (const AnswerCall& call : answer.calls()) {
    if (call.name.empty() || call.arguments_end == call.arguments_begin) continue;
    const size_t bytes = BytesOf(call);
    if (bytes > max_bytes_) continue;
    while (bytes_ + bytes > max_bytes_) DropOldest();
    calls_[call.name].push_back(call);
    order_.push_back(call.name);
    bytes_ += bytes;
  }
}

void Recall::DropOldest() {
  const auto tool = calls_.find(order_.front());
  bytes_ -= BytesOf(tool->second.front());
  tool->second.pop_front();
  if (tool->second.empty()) calls_.erase(tool);
  order_.pop_front();
}

const std::deque<AnswerCall>* Recall::CallsOf(std::string_view tool) const {
  const auto found = calls_.find(tool);
  return found == calls_.end() ? nullptr : &found->second;
}

const AnswerCall* Recall::LastCall(std::string_view tool) const {
  const std::deque<AnswerCall>* calls = CallsOf(tool);
  return calls == nullptr ? nullptr : &calls->back();
}

std::vector<RecalledValue> Recall::Values(const AnswerCall& call, std::string_view path) const {
  std::vector<RecalledValue> values;
  const std::deque<AnswerCall>* calls = CallsOf(call.name);
  if (calls == nullptr) return values;
  const size_t looked_at = std::min(calls->size(), kLookedAt);
  double fresh = 1;
  for (auto earlier = calls->rbegin(); earlier != calls->rbegin() + static_cast<long>(looked_at);
       ++earlier, fresh *= kAging) {
    const std::span<const AnswerField> fields = earlier->fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].path != path) continue;
      const size_t same = Agreement(fields.first(i), call.fields);
      AddWeight(fields[i].raw, fresh * kAgreementWeight[same], &values);
    }
  }
  double sum = 0;
  for (const RecalledValue& value : values) sum += value.weight;
  for (RecalledValue& value : values) value.weight /= sum;
  std::stable_sort(
      values.begin(), values.end(),
      [](const RecalledValue& a, const RecalledValue& b) { return a.weight > b.weight; });
  if (values.size() > kMostValues) values.resize(kMostValues);
  return values;
}

}  // namespace schemafill
