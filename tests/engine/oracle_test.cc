#include "engine/oracle.h"

#include <gtest/gtest.h>

#include "engine/engine_bench.h"

namespace schemafill {
namespace {

class OracleTest : public ::testing::Test {
 protected:
  Generation Draft(std::span<const Token> answer, int width) {
    GenerateOptions options = Options(Method::kOracle, width);
    options.preset = Preset::kPaper;
    options.known_answer = answer;
    return bench_.Run(scenario_, options);
  }

  const Scenario scenario_ = MakeScenario(7, AnswerKind::kDumps);
  EngineBench bench_;
};

TEST_F(OracleTest, TakesTheFewestForwards) {
  bench_.Script(scenario_);
  const Generation plain = bench_.Run(scenario_, Options(Method::kAr));
  ASSERT_GT(plain.stats.tokens, 12);
  for (const int width : {0, 1, 5, 40}) {
    SCOPED_TRACE(width);
    const Generation known = Draft(plain.tokens, width);
    ExpectSame(known, plain);
    EXPECT_EQ(known.stats.forwards, (plain.stats.tokens + width) / (width + 1));
    EXPECT_EQ(known.stats.accepted, known.stats.nodes);
  }
}

TEST_F(OracleTest, AWrongAnswerCostsSpeedOnly) {
  bench_.Script(scenario_);
  const Generation plain = bench_.Run(scenario_, Options(Method::kAr));
  std::vector<Token> wrong = plain.tokens;
  wrong[wrong.size() / 2] = Token{Index(wrong[wrong.size() / 2]) == 3 ? 4 : 3};
  ExpectSame(Draft(wrong, 8), plain);
  wrong.resize(4);
  ExpectSame(Draft(wrong, 8), plain);
  const Generation unknown = Draft({}, 8);
  ExpectSame(unknown, plain);
  EXPECT_EQ(unknown.stats.forwards, plain.stats.forwards);
}

}  // namespace
}  // namespace schemafill
