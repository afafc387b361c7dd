#include "draft/recycled.h"

#include <algorithm>

#include "sample/sampler.h"

namespace schemafill {

void RecycledTokens::Learn(Token token, std::span<const float> logits) {
  if (behind_.size() < logits.size()) {
    Row unknown;
    unknown.fill(kNone);
    behind_.resize(logits.size(), unknown);
  }
  if (Index(token) < 0 || static_cast<size_t>(Index(token)) >= behind_.size()) return;
  Row& row = behind_[static_cast<size_t>(Index(token))];
  row.fill(kNone);
  std::ranges::copy(LargestLogits(logits, kWidth), row.begin());
}

std::span<const Token> RecycledTokens::Behind(Token token) const {
  if (Index(token) < 0 || static_cast<size_t>(Index(token)) >= behind_.size()) return {};
  const Row& row = behind_[static_cast<size_t>(Index(token))];
  return {row.begin(), std::find(row.begin(), row.end(), kNone)};
}

}  // namespace schemafill
