#include "draft/recycled.h"

#include <algorithm>
#include <limits>

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
  std::array<float, kWidth> best;  // sorted, the largest first
  best.fill(-std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > best.back())) continue;  // NaN too
    size_t at = kWidth - 1;
    for (; at > 0 && logits[i] > best[at - 1]; --at) {
      best[at] = best[at - 1];
      row[at] = row[at - 1];
    }
    best[at] = logits[i];
    row[at] = Token{static_cast<int>(i)};
  }
}

std::span<const Token> RecycledTokens::Behind(Token token) const {
  if (Index(token) < 0 || static_cast<size_t>(Index(token)) >= behind_.size()) return {};
  const Row& row = behind_[static_cast<size_t>(Index(token))];
  return {row.begin(), std::find(row.begin(), row.end(), kNone)};
}

}  // namespace schemafill
