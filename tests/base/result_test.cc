#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace schemafill {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return BadInput("odd");
  return number / 2;
}

Status Need(bool fine) {
  if (!fine) return Unavailable("no memory");
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(Half(4).ok());
  EXPECT_EQ(Half(4).value(), 2);
  EXPECT_EQ(*Half(4), 2);
  ASSERT_FALSE(Half(3));
  EXPECT_EQ(Half(3).error().message, "odd");
  EXPECT_EQ(Half(3).error().kind, ErrorKind::kBadInput);
}

TEST(Result, AnErrorMayBeTheValue) {
  const Result<std::string> text = std::string("fine");
  EXPECT_TRUE(text.ok());
  EXPECT_EQ(text->size(), 4u);
}

TEST(Result, MovesOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> pointer = std::move(result).value();
  EXPECT_EQ(*pointer, 5);
}

TEST(Result, ValueOfAnErrorIsOurBug) {
  EXPECT_THROW(static_cast<void>(Half(3).value()), InternalError);
}

TEST(Result, WithoutAValue) {
  EXPECT_TRUE(Need(true).ok());
  ASSERT_FALSE(Need(false));
  EXPECT_EQ(Need(false).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(Need(false).error().message, "no memory");
}

TEST(Check, NamesWhatAndWhere) {
  Check(true, "fine");
  try {
    Check(false, "rows in order");
    FAIL() << "Check(false) returned";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::MatchesRegex(
                                  "internal error: rows in order \\(result_test\\.cc:[0-9]+\\)"));
  }
}

}  // namespace
}  // namespace schemafill
