#include <gmock/gmock.h>
#include <schemafill/version.h>

namespace schemafill {
namespace {

TEST(VersionTest, HasThreeNumbers) {
  EXPECT_THAT(std::string(Version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace schemafill
