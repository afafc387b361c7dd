// The walk through a verified tree, on logits that are given.
#include <vector>

#include "benchmarks/inputs.h"
#include "verify/verify.h"

namespace schemafill {
namespace {

constexpr size_t kVocabulary = 49152;  // of the default target

// Logits of a row that leave no chance to any token but `row`.
class GivenLogits {
 public:
  explicit GivenLogits(int rows) {
    for (int row = 0; row < rows; ++row) {
      rows_.emplace_back(kVocabulary, 0.0f);
      rows_.back()[static_cast<size_t>(row)] = 100;
    }
  }
  std::span<const float> operator()(int row) const { return rows_[static_cast<size_t>(row)]; }

 private:
  std::vector<std::vector<float>> rows_;
};

// A chain that is accepted to its end: each node is looked at.
void VerifyByPath(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  std::vector<TreeNode> tree;
  for (int i = 0; i < nodes; ++i) tree.push_back({.token = Token{i}, .parent = i - 1});
  const GivenLogits logits(nodes + 1);
  const SamplingOptions sampling{.temperature = static_cast<double>(state.range(1))};
  for (auto _ : state)
    benchmark::DoNotOptimize(VerifyTree(tree, std::cref(logits), sampling, 0).correction);
  state.SetComplexityN(nodes);
}
void ByPath(benchmark::internal::Benchmark* bench, int temperature) {
  for (const int nodes : {1, 4, 16, 64}) bench->Args({nodes, temperature});
  bench->Complexity()->Unit(benchmark::kMicrosecond);
}
BENCHMARK(VerifyByPath)->Apply([](auto* bench) { ByPath(bench, 0); });
BENCHMARK(VerifyByPath)->Name("VerifyByPathSampled")->Apply([](auto* bench) { ByPath(bench, 1); });

// Siblings of which the last is taken: wide trees.
void VerifyByWidth(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  std::vector<TreeNode> tree;
  for (int i = 0; i < nodes; ++i) tree.push_back({.token = Token{nodes - i}, .parent = -1});
  tree.back().token = Token{0};
  const GivenLogits logits(nodes + 1);
  for (auto _ : state)
    benchmark::DoNotOptimize(VerifyTree(tree, std::cref(logits), {}, 0).correction);
  state.SetComplexityN(nodes);
}
BENCHMARK(VerifyByWidth)->Apply(Growing<1, 256>);

}  // namespace
}  // namespace schemafill
