// Which tokens they are.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "model/types.h"

namespace schemafill {

// Depends on every token and their number; against mistakes, not against attackers.
inline uint64_t HashTokens(std::span<const Token> tokens) {
  uint64_t hash = MixBits(tokens.size());
  for (const Token token : tokens) hash = MixBits(hash ^ static_cast<uint64_t>(Index(token)));
  return hash;
}

}  // namespace schemafill
