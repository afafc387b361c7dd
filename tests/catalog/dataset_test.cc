#include "catalog/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace schemafill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

// A folder of its own for each test, removed at its end.
class DatasetTest : public testing::Test {
 protected:
  DatasetTest() {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("schemafill_dataset_") + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~DatasetTest() override { fs::remove_all(folder_); }

  fs::path Write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  // A file of `count` BFCL records "<set>_<i>".
  void WriteBfcl(const std::string& set, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) {
      if (i > 0) text += '\n';
      text += R"({"id":")" + set + "_" + std::to_string(i) +
              R"(","question":[[{"role":"user","content":"q"}]],"function":[{"name":"f"}]})";
    }
    Write("BFCL_v4_" + set + ".json", text);
  }

  fs::path folder_;
};

std::vector<std::string> Ids(const Dataset& set) {
  std::vector<std::string> ids;
  for (const Request& request : set.requests) ids.push_back(request.id);
  return ids;
}

TEST_F(DatasetTest, BfclRecord) {
  Write(
      "BFCL_v4_live_parallel.json",
      R"({"id":"r_1","question":[[{"role":"system","content":"S"},{"role":"user","content":"U"}],)"
      R"([{"role":"user","content":"second turn"}]],)"
      R"("function":[{"name":"a.b","description":"d","parameters":{"type":"dict","properties":)"
      R"({"x":{"type":"float"}},"required":["x"]}}]})");
  const Dataset set = LoadDataset("live_parallel", folder_).value();
  EXPECT_EQ(set.name, "live_parallel");
  EXPECT_THAT(set.skipped, ElementsAre());
  ASSERT_EQ(set.requests.size(), 1u);
  const Request& request = set.requests[0];
  EXPECT_EQ(request.id, "r_1");
  EXPECT_EQ(request.catalog.Dump(), "a.b(x: number)\n");
  ASSERT_EQ(request.messages.size(), 2u);
  EXPECT_EQ(request.messages[0].role, Message::Role::kSystem);
  EXPECT_EQ(request.messages[1].content, "U");
}

TEST_F(DatasetTest, BfclIsThreeFilesInOrder) {
  WriteBfcl("parallel_multiple", 1);
  WriteBfcl("parallel", 2);
  WriteBfcl("exec_parallel", 1);
  WriteBfcl("simple_python", 1);
  EXPECT_THAT(Ids(LoadDataset("bfcl", folder_).value()),
              ElementsAre("exec_parallel_0", "parallel_0", "parallel_1", "parallel_multiple_0"));
}

TEST_F(DatasetTest, SingleIsTheSmallestHashes) {
  for (const char* set : {"simple_python", "multiple", "live_simple", "live_multiple"}) {
    WriteBfcl(set, 200);
  }
  const std::vector<std::string> ids = Ids(LoadDataset("single650", folder_).value());
  ASSERT_EQ(ids.size(), 650u);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end(), [](const auto& a, const auto& b) {
    return RecordHash(a) < RecordHash(b);
  }));
  const std::set<std::string> chosen(ids.begin(), ids.end());
  int left_out = 0;
  for (const char* set : {"simple_python", "multiple", "live_simple", "live_multiple"}) {
    for (int i = 0; i < 200; ++i) {
      const std::string id = std::string(set) + "_" + std::to_string(i);
      if (chosen.contains(id)) continue;
      EXPECT_GT(RecordHash(id), RecordHash(ids.back()));
      ++left_out;
    }
  }
  EXPECT_EQ(left_out, 150);
}

TEST_F(DatasetTest, SingleTakesOneUserTurnWithTools) {
  for (const char* set : {"multiple", "live_simple", "live_multiple"}) WriteBfcl(set, 1);
  Write(
      "BFCL_v4_simple_python.json",
      R"({"id":"two","question":[[{"role":"user","content":"a"},{"role":"user","content":"b"}]],"function":[{"name":"f"}]})"
      "\n"
      R"({"id":"none","question":[[{"role":"user","content":"a"}]],"function":[]})"
      "\n"
      R"({"id":"good","question":[[{"role":"system","content":"s"},{"role":"user","content":"a"}]],"function":[{"name":"f"}]})");
  EXPECT_THAT(
      Ids(LoadDataset("single650", folder_).value()),
      testing::UnorderedElementsAre("good", "multiple_0", "live_simple_0", "live_multiple_0"));
}

TEST(RecordHash, IsFnv1a) {
  EXPECT_EQ(RecordHash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(RecordHash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(RecordHash("foobar"), 0x85944171f73967e8u);
}

TEST_F(DatasetTest, LinesOfBothKinds) {
  const fs::path file =
      Write("mine.jsonl",
            R"({"messages":[{"role":"user","content":"A"}],"id":"body"})"
            "\r\n\n"
            R"({"id":"flat","question":[{"role":"user","content":"B"}],"function":{"name":"f"}})"
            "\n");
  const Dataset set = LoadDataset(file.string(), folder_).value();
  EXPECT_THAT(Ids(set), ElementsAre("body", "flat"));
  EXPECT_THAT(set.skipped, ElementsAre());
  EXPECT_EQ(set.requests[1].catalog.tools.size(), 1u);
}

TEST_F(DatasetTest, OneObjectOverSeveralLines) {
  const fs::path file =
      Write("one.json", "\n{\n  \"messages\": [\n    {\"role\": \"user\"}\n  ]\n}\n");
  EXPECT_EQ(LoadDataset(file.string(), folder_)->requests.size(), 1u);
}

TEST_F(DatasetTest, BadRecordsAreSkippedAndNamed) {
  const fs::path file =
      Write("mixed.jsonl", R"({"messages":[{"role":"user","content":"A"}]})"
                           "\n{\"messages\":\n\n[]\n{}\n"
                           R"({"messages":[]})"
                           "\n"
                           R"({"question":5,"function":[]})"
                           "\n"
                           R"({"id":7,"messages":[{"role":"user","content":"B"}]})");
  const Dataset set = LoadDataset(file.string(), folder_).value();
  EXPECT_THAT(Ids(set), ElementsAre("", ""));
  EXPECT_THAT(
      set.skipped,
      ElementsAre(
          testing::StartsWith("mixed.jsonl:2: JSON: line 1, column 13: syntax error"),
          "mixed.jsonl:4: neither a BFCL record (question, function) nor an OpenAI body (messages)",
          "mixed.jsonl:5: neither a BFCL record (question, function) nor an OpenAI body (messages)",
          testing::StartsWith("mixed.jsonl:6: messages: must be a list"),
          testing::StartsWith("mixed.jsonl:7: messages: must be a list")));
}

TEST_F(DatasetTest, ErrorsSayWhatToDo) {
  const auto message = [&](std::string_view name) {
    const Result<Dataset> set = LoadDataset(name, folder_);
    return set.ok() ? std::string("none") : set.error().message;
  };
  EXPECT_THAT(message("bfcl"), AllOf(HasSubstr("BFCL_v4_exec_parallel.json is missing"),
                                     HasSubstr("run `make setup`"), HasSubstr("--data")));
  EXPECT_THAT(message("wibble"), HasSubstr("data set wibble: "));
  EXPECT_THAT(message("no/such/file"), HasSubstr("no/such/file: can't be read"));
  EXPECT_THAT(message("no_such_file.jsonl"), HasSubstr("no_such_file.jsonl: can't be read"));
  EXPECT_THAT(message(folder_.string()), HasSubstr("can't be read"));
  EXPECT_THAT(message(Write("empty.jsonl", " \n\n").string()), HasSubstr("holds no request"));
  EXPECT_THAT(message(Write("bad.jsonl", "{}\n[]\n").string()),
              AllOf(HasSubstr("no request could be read"), HasSubstr("bad.jsonl:2: neither")));
}

// The real files, where set-up has brought them.
TEST(Bfcl, EveryRecordIsRead) {
  const char* assets = std::getenv("SCHEMAFILL_ASSETS");
  const fs::path folder = fs::path(assets != nullptr ? assets : "assets") / "bfcl";
  if (!fs::exists(folder)) GTEST_SKIP() << "no BFCL files; `make setup` fetches them";
  const Dataset bfcl = LoadDataset("bfcl", folder).value();
  EXPECT_EQ(bfcl.requests.size(), 450u);
  EXPECT_THAT(bfcl.skipped, ElementsAre());
  EXPECT_EQ(bfcl.requests[0].id, "exec_parallel_0");
  EXPECT_EQ(bfcl.requests[50].id, "parallel_0");
  EXPECT_EQ(bfcl.requests[250].id, "parallel_multiple_0");
  const Dataset single = LoadDataset("single650", folder).value();
  EXPECT_EQ(single.requests.size(), 650u);
  EXPECT_THAT(single.skipped, ElementsAre());
  EXPECT_EQ(single.requests[0].id, "live_multiple_323-132-13");
  EXPECT_EQ(single.requests[649].id, "live_multiple_341-133-5");
  for (const char* set :
       {"live_parallel", "live_parallel_multiple", "simple_java", "simple_javascript"}) {
    EXPECT_THAT(LoadDataset(set, folder)->skipped, ElementsAre()) << set;
  }
}

}  // namespace
}  // namespace schemafill
