#include "model/llama/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr SequenceId kMain{0};
constexpr SequenceId kSibling{1};
constexpr SequenceId kSide{2};
constexpr SequenceId kParking{3};

class SelfTest {
 public:
  SelfTest(TargetModel& model, const SelfTestSize& size) : model_(model), size_(size) {
    Check(size.path >= 2 && model.info().max_sequences >= 4, "a self-test that is too small");
  }

  SelfTestResult Run() {
    std::vector<Token> prompt;
    for (int i = 0; i < size_.prompt; ++i) prompt.push_back(TokenAt(i));
    model_.Prefill(prompt, 0, kMain);
    DecodeAlone();
    model_.Drop(kMain, size_.prompt, -1);
    CompareTree();
    AcceptPath();
    CompareNextRow();
    for (const SequenceId sequence : {kMain, kSibling, kSide, kParking})
      model_.Drop(sequence, 0, -1);
    result_.equal = different_ == 0;
    result_.summary =
        result_.equal
            ? fmt::format("{} rows in a tree are bit for bit those of plain decoding", result_.rows)
            : fmt::format(
                  "{} of {} rows in a tree differ from plain decoding, logits by up to {:.2g}",
                  different_, result_.rows, result_.worst);
    return result_;
  }

 private:
  // Any tokens will do; these differ from position to position.
  Token TokenAt(int position) const {
    return Token{(17 + position * 37) % model_.info().vocab_size};
  }
  // The token at `position` on another branch.
  Token OtherTokenAt(int position) const {
    return Token{(100 + position * 41) % model_.info().vocab_size};
  }

  void DecodeAlone() {
    for (int i = 0; i <= size_.path; ++i) {
      const Row row{
          .token = TokenAt(size_.prompt + i), .position = size_.prompt + i, .sequences = {kMain}};
      model_.Forward({&row, 1});
      const std::span<const float> logits = model_.Logits(0);
      expected_.emplace_back(logits.begin(), logits.end());
    }
  }

  // The path's root, then a sibling of its second row with a child, then the rest of the path, then
  // SIDE rows: more than 8 rows in all, where some kernels change over.
  void CompareTree() {
    const int start = size_.prompt;
    model_.Share(kMain, kSibling, 0, start);
    model_.Share(kMain, kSide, 0, start);
    std::vector<Row> rows = {{TokenAt(start), start, {kMain, kSibling}},
                             {OtherTokenAt(start + 1), start + 1, {kSibling}},
                             {OtherTokenAt(start + 2), start + 2, {kSibling}}};
    for (int i = 1; i < size_.path; ++i) rows.push_back({TokenAt(start + i), start + i, {kMain}});
    for (int i = 0; i < 3; ++i) rows.push_back({OtherTokenAt(start + i), start + i, {kSide}});
    model_.Forward(rows);
    for (int i = 0; i < size_.path; ++i) Compare(expected_[i], model_.Logits(i == 0 ? 0 : i + 2));
  }

  void AcceptPath() {
    const int start = size_.prompt;
    model_.Share(kSibling, kParking, start + 1, -1);
    model_.Drop(kSibling, 0, -1);
    model_.Drop(kSide, 0, -1);
  }

  void CompareNextRow() {
    const int position = size_.prompt + size_.path;
    const Row row{.token = TokenAt(position), .position = position, .sequences = {kMain}};
    model_.Forward({&row, 1});
    Compare(expected_[size_.path], model_.Logits(0));
  }

  void Compare(const std::vector<float>& expected, std::span<const float> logits) {
    ++result_.rows;
    if (std::memcmp(expected.data(), logits.data(), logits.size_bytes()) == 0) return;
    ++different_;
    for (size_t i = 0; i < expected.size(); ++i) {
      result_.worst =
          std::max(result_.worst, static_cast<double>(std::fabs(expected[i] - logits[i])));
    }
  }

  TargetModel& model_;
  const SelfTestSize size_;
  std::vector<std::vector<float>> expected_;  // [path + 1] rows of logits
  int different_ = 0;
  SelfTestResult result_;
};

}  // namespace

SelfTestResult RunSelfTest(TargetModel& model, const SelfTestSize& size) {
  return SelfTest(model, size).Run();
}

}  // namespace schemafill
