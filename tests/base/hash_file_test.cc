#include "base/hash_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/temp_dir.h"

namespace schemafill {
namespace {

TEST(HashFile, DependsOnEveryByteAndTheLength) {
  const testing::TempDir folder;
  std::set<std::string> hashes;
  const std::string text(20, 'a');
  for (const std::string& content :
       {std::string(), text, text + '\0', "b" + text.substr(1), text.substr(1) + "b"}) {
    const Result<std::string> hash = HashFile(folder.Write("file", content));
    ASSERT_TRUE(hash.ok());
    EXPECT_EQ(hash->size(), 16u);
    EXPECT_EQ(*hash, *HashFile(folder.path("file")));
    hashes.insert(*hash);
  }
  EXPECT_EQ(hashes.size(), 5u);
  EXPECT_THAT(HashFile(folder.path("no")).error().message, ::testing::HasSubstr("can't be read"));
}

}  // namespace
}  // namespace schemafill
