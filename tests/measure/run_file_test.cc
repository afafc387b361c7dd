#include "measure/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/read_file.h"
#include "measure/sample_maker.h"
#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunFileTest : public ::testing::Test {
 protected:
  Result<RunFile> Open(const Json& settings = {{"preset", "paper"}}) const {
    return RunFile::Open(path_, {{"type", "bench"}, {"settings", settings}});
  }
  void Append(std::string_view text) const { std::ofstream(path_, std::ios::app) << text; }

  testing::TempDir folder_;
  const std::string path_ = folder_.path("run.jsonl");
};

TEST_F(RunFileTest, SamplesComeBack) {
  Sample sample = SampleMaker{.method = "schemafill", .launch = 2}.Make();
  sample.calls = 3;
  sample.error = "why";
  sample.stop = "closed";
  sample.token_ids = {1, 2};
  sample.text = "\"ä\n";
  sample.stats.nodes = 7;
  sample.stats.nodes_by_forward = {4, 3};
  sample.stats.kept_bytes = 4096;
  sample.stats.forecast_ms = 0.25;
  {
    Result<RunFile> file = Open();
    ASSERT_TRUE(file.ok()) << file.error().message;
    file->Append(sample);
    EXPECT_TRUE(file->status().ok());
    EXPECT_EQ(file->Find(sample), nullptr);  // of earlier runs only
  }
  const Result<RunRecord> run = ReadRun(path_);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->header["settings"]["preset"], "paper");
  ASSERT_EQ(run->samples.size(), 1u);
  EXPECT_EQ(SampleJson(run->samples[0]), SampleJson(sample));
  EXPECT_EQ(run->samples[0].stats.nodes_by_forward, sample.stats.nodes_by_forward);

  const Result<RunFile> again = Open();
  ASSERT_TRUE(again.ok()) << again.error().message;
  const Sample* found = again->Find(sample);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->resumed);
  Sample other = sample;
  other.launch = 1;
  EXPECT_EQ(again->Find(other), nullptr);
  other = sample;
  other.prompt = "edited";
  EXPECT_EQ(again->Find(other), nullptr);
}

TEST_F(RunFileTest, ALineThatWasCutOffIsTakenAway) {
  { Open()->Append(SampleMaker{}.Make()); }
  Append(R"({"type": "sample", "datas)");
  EXPECT_EQ(ReadRun(path_)->samples.size(), 1u);
  { Open()->Append(SampleMaker{.request = "b"}.Make()); }
  const Result<RunRecord> run = ReadRun(path_);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->samples.size(), 2u);
}

TEST_F(RunFileTest, FilesOfOtherRunsAreRefused) {
  ASSERT_TRUE(Open().ok());
  const Result<RunFile> other = Open({{"preset", "auto"}});
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message,
              AllOf(HasSubstr(path_), HasSubstr("preset \"paper\""), HasSubstr("\"auto\"")));
  const Result<RunFile> verify =
      RunFile::Open(path_, {{"type", "verify"}, {"settings", Json::object()}});
  ASSERT_FALSE(verify.ok());
  EXPECT_THAT(verify.error().message, HasSubstr("`bench`"));
}

TEST_F(RunFileTest, WhatIsNoRunIsRefused) {
  for (const char* text : {"hello\n", "{}\n", "no line end", "[1]\n"}) {
    std::ofstream(path_) << text;
    for (const std::string& message : {Open().error().message, ReadRun(path_).error().message})
      EXPECT_THAT(message, AllOf(HasSubstr(path_), HasSubstr("line 1"))) << text;
  }
  std::ofstream(path_) << "";
  EXPECT_FALSE(ReadRun(path_).ok());
  EXPECT_FALSE(ReadRun(folder_.path("missing")).ok());
}

TEST_F(RunFileTest, ALineThatIsNoSampleIsNamed) {
  ASSERT_TRUE(Open().ok());
  Append("{\"type\": \"sample\", \"dataset\": 1}\n");
  EXPECT_THAT(Open().error().message, HasSubstr("line 2"));
}

TEST_F(RunFileTest, AFolderThatIsNotThere) {
  const Result<RunFile> file =
      RunFile::Open(folder_.path("no/run.jsonl"), {{"type", "x"}, {"settings", Json::object()}});
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("--results"));
}

}  // namespace
}  // namespace schemafill
