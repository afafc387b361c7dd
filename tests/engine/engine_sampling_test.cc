// At temperature 1 a seed gives the same answer whatever is drafted: any width, preset, strategy,
// rows beside, and requests before. That this answer follows the target's distribution is shown by
// tests/verify/exact_sampling_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine_bench.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

constexpr MethodSpec kDrafting[] = {
    {Method::kSchemaFill},
    {Method::kSchemaFill, Stage::kB},
    {Method::kSchemaFill, Stage::kC},
    {Method::kSchemaFill, Stage::kD, Fault::kNone, SideContext::kHint},
    {Method::kSchemaFill, Stage::kD, Fault::kLyingSides},
};

// The last ones leave the scripted answer seldom enough for drafts to be accepted.
constexpr SamplingOptions kShapes[] = {
    {.temperature = 1},
    {.temperature = 1, .top_k = 2},
    {.temperature = 1, .top_p = 0.5},
    {.temperature = 1, .min_p = 0.016},
};

TEST(EngineSamplingTest, ASeedGivesTheSameAnswerWhateverIsDrafted) {
  EngineBench plain, drafted;
  int accepted = 0, side_rows = 0, off_script = 0;
  for (const AnswerKind kind :
       {AnswerKind::kDumps, AnswerKind::kCompact, AnswerKind::kBareList, AnswerKind::kProse}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const Scenario scenario = MakeScenario(1500 + seed, kind);
      for (EngineBench* const bench : {&plain, &drafted}) bench->Script(scenario);
      KeyedDice dice(seed);
      GenerateOptions options = Options(Method::kAr);
      options.sampling = kShapes[seed];
      options.sampling.seed = seed * 77 + static_cast<uint64_t>(kind);
      const Generation want = plain.Run(scenario, options);
      off_script += want.text != scenario.text ? 1 : 0;
      const auto vary = [&] {
        options.max_nodes = 1 + dice.Roll(40);
        options.max_side_rows = dice.OneIn(2) ? 160 : dice.Roll(60);
        options.preset = dice.OneIn(2) ? Preset::kPaper : Preset::kAuto;
      };
      for (const MethodSpec& spec : kDrafting) {
        vary();
        options.method = spec;
        SCOPED_TRACE(
            fmt::format("{}, {}, {} nodes", scenario.label, Name(spec), options.max_nodes));
        const Generation got = drafted.Run(scenario, options);
        ExpectSame(got, want);
        accepted += got.stats.accepted;
        side_rows += got.stats.side_rows;
      }
      for (const DrafterKind drafter :
           {DrafterKind::kRight, DrafterKind::kForks, DrafterKind::kTwins, DrafterKind::kRandom}) {
        vary();
        SCOPED_TRACE(fmt::format("{}, {}", scenario.label, Name(drafter)));
        ExpectSame(drafted.RunDrafter(drafter, scenario, want.tokens, options, seed,
                                      /*with_sides=*/true),
                   want);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(side_rows, 1000);
  EXPECT_GT(off_script, 10);
}

}  // namespace
}  // namespace schemafill
