#include "base/lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace schemafill {
namespace {

using Numbered = std::vector<std::pair<int, std::string>>;

Numbered All(std::string_view text) {
  Numbered all;
  for (Lines lines(text); lines.Next();) all.emplace_back(lines.number(), lines.line());
  return all;
}

TEST(Lines, SkipsBlankOnesAndCountsThem) {
  EXPECT_EQ(All(""), Numbered{});
  EXPECT_EQ(All("\n \t\r\n"), Numbered{});
  EXPECT_EQ(All("a"), (Numbered{{1, "a"}}));
  EXPECT_EQ(All("a\n"), (Numbered{{1, "a"}}));
  EXPECT_EQ(All("\n a \n\n\nb"), (Numbered{{2, " a "}, {5, "b"}}));
}

}  // namespace
}  // namespace schemafill
