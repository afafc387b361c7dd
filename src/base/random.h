// Random numbers keyed by where they are used, not drawn in order: the same (seed, stream,
// position) gives the same number whatever was drafted or batched before it, so sampled output does
// not depend on the draft width. Tested by tests/base/random_test.cc.
#pragma once

#include <cstdint>

namespace schemafill {

// What a random number is for. `stream` separates uses at one position.
struct CoinKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
  uint64_t position = 0;  // index of the output token
};

// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection on 64 bits that passes statistical
// tests as a hash.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t KeyedBits(const CoinKey& key) {
  return MixBits(MixBits(MixBits(key.seed) ^ key.stream) ^ key.position);
}

// Uniform in [0, 1), 53 bits.
constexpr double Coin(const CoinKey& key) {
  return static_cast<double>(KeyedBits(key) >> 11) * 0x1.0p-53;
}

}  // namespace schemafill
