#include "train/head_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/check.h"
#include "support/temp_dir.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

const SampleOrigin kOrigin = {.target = "00ff", .width = 2, .layers = {2, 5, 9}, .prompt_rows = 4};

// Sample `number`: 3 prompt tokens of 6, features of its rows 1 .. 3.
HeadSample SampleOf(int number) {
  HeadSample sample{.request = 1000u + number, .prompt_tokens = 3, .first_row = 1, .rows = 3};
  for (int i = 0; i < 6; ++i) sample.tokens.push_back(Token{10 * number + i});
  return sample;
}

std::vector<float> FeaturesOf(int number) {
  std::vector<float> features;
  for (int i = 0; i < 3 * 6; ++i) features.push_back(static_cast<float>(number) + 0.25f * i);
  return features;
}

class HeadSamplesTest : public ::testing::Test {
 protected:
  void Write(int count) {
    auto samples = HeadSamples::Open(path_, kOrigin);
    ASSERT_TRUE(samples.ok()) << samples.error().message;
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(samples->Append(SampleOf(i), FeaturesOf(i)).ok());
    }
  }

  static void ExpectSamples(const HeadSamples& samples, int count) {
    ASSERT_EQ(std::ssize(samples.samples()), count);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(samples.samples()[i].tokens, SampleOf(i).tokens);
      EXPECT_EQ(samples.samples()[i].request, SampleOf(i).request);
      EXPECT_EQ(samples.samples()[i].first_row, 1);
      const torch::Tensor features = samples.Features(i);
      EXPECT_EQ(features.sizes().vec(), (std::vector<int64_t>{3, 6}));
      const std::vector<float> expected = FeaturesOf(i);
      EXPECT_TRUE(torch::equal(features.flatten(), torch::tensor(expected)));
    }
  }

  std::string OpenError(const SampleOrigin& origin) {
    const auto samples = HeadSamples::Open(path_, origin);
    return samples.ok() ? "opened" : samples.error().message;
  }

  TempDir folder_;
  std::string path_ = folder_.path("samples");
};

TEST_F(HeadSamplesTest, ReadsBackWhatItAppended) {
  Write(0);
  Write(3);
  const auto samples = HeadSamples::Open(path_, kOrigin);
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ExpectSamples(*samples, 3);
}

// Whatever the length that an interruption leaves: whole records stay, and it goes on.
TEST_F(HeadSamplesTest, AnInterruptedRecordIsCutOff) {
  Write(1);
  const auto one = static_cast<int64_t>(fs::file_size(path_));
  fs::remove(path_);
  Write(2);
  const auto two = static_cast<int64_t>(fs::file_size(path_));
  const std::string whole = folder_.path("whole");
  fs::copy_file(path_, whole);
  for (int64_t size = one; size <= two; ++size) {
    SCOPED_TRACE(size);
    fs::copy_file(whole, path_, fs::copy_options::overwrite_existing);
    fs::resize_file(path_, size);
    auto samples = HeadSamples::Open(path_, kOrigin);
    ASSERT_TRUE(samples.ok()) << samples.error().message;
    const int left = size == two ? 2 : 1;
    ExpectSamples(*samples, left);
    ASSERT_TRUE(samples->Append(SampleOf(left), FeaturesOf(left)).ok());
    ExpectSamples(*samples, left + 1);
  }
}

TEST_F(HeadSamplesTest, OtherOriginsAreRefusedByName) {
  Write(1);
  SampleOrigin origin = kOrigin;
  origin.width = 3;
  EXPECT_THAT(OpenError(origin),
              AllOf(HasSubstr("its width is 2, here it is 3"), HasSubstr("--samples")));
  origin = kOrigin;
  origin.target = "00fe";
  EXPECT_THAT(OpenError(origin), HasSubstr("another target"));
  origin = kOrigin;
  origin.layers = {2, 5, 8};
  EXPECT_THAT(OpenError(origin), HasSubstr("its layers is [2,5,9], here it is [2,5,8]"));
  EXPECT_EQ(OpenError(kOrigin), "opened");
}

TEST_F(HeadSamplesTest, OtherFilesAreRefusedAndKept) {
  for (const std::string& content : {std::string("{}\n"), std::string("SFHEADS1"),
                                     "SFHEADS1" + std::string("\x05\0\0\0nojson", 10)}) {
    folder_.Write("samples", content);
    EXPECT_THAT(OpenError(kOrigin), HasSubstr("no file of samples"));
    EXPECT_EQ(fs::file_size(path_), content.size());
  }
  path_ = folder_.path("no/samples");
  EXPECT_THAT(OpenError(kOrigin), HasSubstr("check the path"));
}

TEST_F(HeadSamplesTest, AFileInUseIsRefused) {
  const auto samples = HeadSamples::Open(path_, kOrigin);
  ASSERT_TRUE(samples.ok());
  EXPECT_THAT(OpenError(kOrigin), HasSubstr("in use by another run"));
}

TEST_F(HeadSamplesTest, AFullDiskIsNamed) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  path_ = "/dev/full";
  EXPECT_THAT(OpenError(kOrigin), HasSubstr("free some disk space"));
}

TEST_F(HeadSamplesTest, LargeFeaturesAreCut) {
  auto samples = HeadSamples::Open(path_, kOrigin);
  ASSERT_TRUE(samples.ok());
  std::vector<float> features = FeaturesOf(0);
  features[0] = 1e6f;
  ASSERT_TRUE(samples->Append(SampleOf(0), features).ok());
  EXPECT_EQ(samples->Features(0)[0][0].item<float>(), 65504);
}

TEST_F(HeadSamplesTest, RulesAreChecked) {
  auto samples = HeadSamples::Open(path_, kOrigin);
  ASSERT_TRUE(samples.ok());
  EXPECT_THROW(samples->Append(SampleOf(0), std::vector<float>(5)).ok(), InternalError);
  HeadSample empty = SampleOf(0);
  empty.tokens.resize(3);
  EXPECT_THROW(samples->Append(empty, FeaturesOf(0)).ok(), InternalError);
}

}  // namespace
}  // namespace schemafill
