#include "apps/data_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kThreeAndABadOne =
    R"({"id":"a","messages":[{"role":"user","content":"q"}]})"
    "\n{\"messages\":5}\n"
    R"({"id":"b","messages":[{"role":"user","content":"q"}]})"
    "\n"
    R"({"id":"c","messages":[{"role":"user","content":"q"}]})";

// What a command with these words runs, and what it says.
struct Outcome {
  Result<Dataset> set;
  std::string said;
};

Outcome Load(std::vector<std::string> words) {
  CLI::App app;
  DataOptions options;
  AddDataOptions(app, &options);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  app.parse(std::move(words));
  ::testing::internal::CaptureStderr();
  Result<Dataset> set = LoadData(options);
  return {std::move(set), ::testing::internal::GetCapturedStderr()};
}

TEST(DataOptions, MalformedRecordsAreNamedAndCounted) {
  const testing::TempDir folder;
  const std::string file = folder.Write("d.jsonl", kThreeAndABadOne);
  const Outcome outcome = Load({"--dataset", file, "--limit", "2"});
  ASSERT_TRUE(outcome.set.ok());
  ASSERT_EQ(outcome.set->requests.size(), 2u);
  EXPECT_EQ(outcome.set->requests[0].id, "a");
  EXPECT_EQ(outcome.set->requests[1].id, "b");
  EXPECT_THAT(outcome.said, ::testing::StartsWith("skipped: d.jsonl:2: messages: must be a list"));
  EXPECT_THAT(outcome.said, HasSubstr("\nskipped: 1 malformed record of "));
}

TEST(DataOptions, StrictDataIsAnError) {
  const testing::TempDir folder;
  const std::string file = folder.Write("d.jsonl", kThreeAndABadOne);
  const Outcome outcome = Load({"--dataset", file, "--strict-data"});
  ASSERT_FALSE(outcome.set.ok());
  EXPECT_THAT(outcome.set.error().message, HasSubstr("d.jsonl:2: messages: must be a list"));
  EXPECT_EQ(outcome.said, "");
}

TEST(DataOptions, ManyMalformedRecordsAreNamedInPart) {
  const testing::TempDir folder;
  std::string text(kThreeAndABadOne);
  for (int i = 0; i < 100; ++i) text += "\n{}";
  const Outcome outcome = Load({"--dataset", folder.Write("d.jsonl", text)});
  EXPECT_EQ(outcome.set->requests.size(), 3u);
  EXPECT_THAT(outcome.said, HasSubstr("skipped: 101 malformed records of "));
  EXPECT_EQ(std::count(outcome.said.begin(), outcome.said.end(), '\n'), 21);
}

TEST(DataOptions, FormatIsOneOfFive) {
  EXPECT_THROW(Load({"--format", "xml"}), CLI::ValidationError);
  const testing::TempDir folder;
  const std::string file = folder.Write("d.jsonl", kThreeAndABadOne);
  EXPECT_THAT(Load({"--dataset", file, "--format", "glaive"}).set.error().message,
              HasSubstr("no record of a known format: glaive"));
}

}  // namespace
}  // namespace schemafill
