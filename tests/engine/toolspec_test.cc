#include "engine/toolspec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engine/engine_bench.h"

namespace schemafill {
namespace {

int CountKind(const std::vector<RoundTrace>& rounds, PieceKind kind) {
  int count = 0;
  for (const RoundTrace& round : rounds) {
    count +=
        static_cast<int>(std::ranges::count(round.proposal.pack.nodes, kind, &PackedNode::kind));
  }
  return count;
}

// Fails when drafting is broken: the schema alone saves half of the forwards.
TEST(ToolSpecTest, TheSchemaSavesForwards) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  const Generation drafted = bench.Run(scenario, Options(Method::kToolSpec));
  ExpectSame(drafted, plain);
  EXPECT_LT(drafted.stats.forwards, plain.stats.forwards / 2);
  EXPECT_EQ(drafted.stats.side_rows, 0);
  EXPECT_EQ(CountKind(bench.rounds(), PieceKind::kRecall), 0);
  const Generation schemafill = bench.Run(scenario, Options(Method::kSchemaFill));
  EXPECT_LT(schemafill.stats.forwards, drafted.stats.forwards);
}

// What SchemaFill has and ToolSpec has not: values from the request, and drafts across calls.
TEST(ToolSpecTest, NothingIsCopiedFromTheRequestOrDraftedAcrossCalls) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  (void)bench.Run(scenario, Options(Method::kToolSpec));
  for (const RoundTrace& round : bench.rounds()) {
    const auto& nodes = round.proposal.pack.nodes;
    for (size_t leaf = 0; leaf < nodes.size(); ++leaf) {
      std::string text;
      bool recycled = false;
      for (int at = static_cast<int>(leaf); at >= 0;
           at = nodes[static_cast<size_t>(at)].node.parent) {
        const PackedNode& node = nodes[static_cast<size_t>(at)];
        recycled |= node.kind == PieceKind::kRecycled;
        text.insert(0, ScenarioTokenizer()->Piece(node.node.token));
      }
      if (recycled) continue;
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("London")));
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("\"name\": \"get_weather\", \"arguments\": "
                                                        "{\"city\": \"Paris\", \"days\": 3}}, {")));
    }
  }
}

TEST(ToolSpecTest, WithAMemoryTheSameCallTakesFewForwards) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  for (const MethodSpec& method :
       {MethodSpec(Method::kToolSpec), MethodSpec(Method::kSchemaFill)}) {
    SCOPED_TRACE(Name(method));
    const Generation want = bench.Run(scenario, Options(Method::kAr));
    Memory memory;
    GenerateOptions options = Options(method);
    options.memory = &memory;
    const Generation first = bench.Run(scenario, options);
    EXPECT_EQ(memory.recall.calls(), 2u);
    const Generation again = bench.Run(scenario, options);
    const Generation alone = bench.Run(scenario, Options(method));
    ExpectSame(first, want);
    ExpectSame(again, want);
    EXPECT_EQ(alone.stats.forwards, first.stats.forwards) << "without one each stands alone";
    if (method.method == Method::kToolSpec) {
      EXPECT_LT(again.stats.forwards, first.stats.forwards);
      EXPECT_GT(memory.recycled.bytes(), 0u);
    } else {
      EXPECT_LE(again.stats.forwards, first.stats.forwards);
    }
  }
}

// What the model wrote in text that no schema knows comes back as tokens.
TEST(ToolSpecTest, RecycledTokensGoOnInProse) {
  Scenario scenario = Weather();
  scenario.text = "and in and in and in and in and in and in and in and in and in and in.";
  scenario.answer = ScenarioTokenizer()->Encode(scenario.text);
  EngineBench bench;
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  const Generation drafted = bench.Run(scenario, Options(Method::kToolSpec));
  ExpectSame(drafted, plain);
  EXPECT_GT(CountKind(bench.rounds(), PieceKind::kRecycled), 0);
  EXPECT_LT(drafted.stats.forwards, plain.stats.forwards);
}

TEST(ToolSpecTest, EveryWidth) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  Memory memory;
  for (int width = 0; width <= 40; ++width) {
    SCOPED_TRACE(width);
    GenerateOptions options = Options(Method::kToolSpec, width);
    options.preset = width % 2 == 0 ? Preset::kPaper : Preset::kAuto;
    if (width % 3 == 0) options.memory = &memory;
    const Generation drafted = bench.Run(scenario, options);
    ExpectSame(drafted, plain);
    EXPECT_LE(drafted.stats.forwards, plain.stats.forwards);
  }
}

}  // namespace
}  // namespace schemafill
