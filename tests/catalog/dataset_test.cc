#include "catalog/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
          testing::StartsWith("mixed.jsonl:4: no record of a known format: bfcl (question and"),
          testing::StartsWith("mixed.jsonl:5: no record of a known format: bfcl (question and"),
          testing::StartsWith("mixed.jsonl:6: messages: must be a list"),
          "mixed.jsonl:7: question: must be a list of turns"));
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
  EXPECT_THAT(message(folder_.string()), HasSubstr("is a folder"));
  EXPECT_THAT(message(Write("empty.jsonl", " \n\n").string()), HasSubstr("holds no request"));
  EXPECT_THAT(message(Write("bad.jsonl", "{}\n[]\n").string()),
              AllOf(HasSubstr("no request could be read"), HasSubstr("bad.jsonl:2: no record of")));
}

// A record of each format, with a request to be called "1" or by its id.
constexpr std::string_view kBfcl =
    R"({"id":"b","question":[[{"role":"user","content":"q"}]],"function":[{"name":"f"}]})";
constexpr std::string_view kOpenAi =
    R"({"id":"o","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]})";
constexpr std::string_view kGlaive =
    R"({"system":"SYSTEM: - {\"name\":\"f\"}","chat":"USER: q\nASSISTANT: <functioncall> {\"name\":\"f\"}"})";
constexpr std::string_view kApiBank =
    R"({"instruction":"{\"name\":\"f\"}","input":"User: q\nGenerate API Request:","expected_output":"[f()]"})";

TEST_F(DatasetTest, EveryFormatInEveryShapeOfFile) {
  struct Row {
    std::string_view format;
    std::string_view record;
    std::string_view id;
  };
  const Row kRows[] = {{"bfcl", kBfcl, "b"},
                       {"openai", kOpenAi, "o"},
                       {"glaive", kGlaive, "2.1"},
                       {"api-bank", kApiBank, "2"}};
  for (const Row& row : kRows) {
    const std::string record(row.record);
    for (const std::string& text :
         {record + "\n" + record, "\xef\xbb\xbf" + record + "\r\n\r\n" + record + "\r\n",
          "[" + record + ",\n" + record + "]\n"}) {
      const std::string file = Write("all.json", text).string();
      for (const std::string_view format : {std::string_view("auto"), row.format}) {
        const Result<Dataset> set =
            LoadDataset(file, folder_, {.format = ParseDataFormat(format).value()});
        ASSERT_TRUE(set.ok()) << set.error().message;
        EXPECT_THAT(set->skipped, ElementsAre());
        ASSERT_EQ(set->requests.size(), 2u);
        EXPECT_EQ(set->requests[1].id, row.id);
        EXPECT_EQ(set->requests[1].messages.size(), 1u);
        EXPECT_EQ(set->requests[1].messages[0].content, "q");
        EXPECT_EQ(set->requests[1].catalog.Dump(), "f()\n");
      }
    }
  }
}

TEST_F(DatasetTest, AnotherFormatThanTheOneAskedFor) {
  const fs::path file = Write("two.jsonl", std::string(kBfcl) + "\n" + std::string(kGlaive));
  const Dataset set = LoadDataset(file.string(), folder_, {.format = DataFormat::kGlaive}).value();
  EXPECT_THAT(Ids(set), ElementsAre("2.1"));
  EXPECT_THAT(
      set.skipped,
      ElementsAre("two.jsonl:1: no record of a known format: glaive (system and chat, or sample)"));
  EXPECT_THAT(ParseDataFormat("xml").error().message,
              HasSubstr("xml is none of auto, bfcl, openai, glaive, api-bank"));
}

TEST_F(DatasetTest, DialoguesOfApiBankAreRefusedByName) {
  const fs::path file =
      Write("Shop-level-1-1.jsonl",
            "{\"role\":\"User\",\"text\":\"q\"}\n{\"role\":\"API\",\"api_name\":\"f\"}");
  EXPECT_THAT(LoadDataset(file.string(), folder_).error().message,
              AllOf(HasSubstr("jsonl:2: a turn of API-Bank's dialogues"),
                    HasSubstr("instruction, input, expected_output")));
}

TEST_F(DatasetTest, RecordsWithoutACallAreCounted) {
  const fs::path file =
      Write("g.jsonl", std::string(kGlaive) + "\n" + R"({"system":"SYSTEM: -","chat":"USER: q"})");
  const Dataset set = LoadDataset(file.string(), folder_).value();
  EXPECT_EQ(set.requests.size(), 1u);
  EXPECT_EQ(set.without_calls, 1);
  EXPECT_THAT(set.skipped, ElementsAre());
}

TEST_F(DatasetTest, ReferencesComeFromTheAnswersBeside) {
  WriteBfcl("parallel", 3);
  WriteBfcl("irrelevance", 1);
  fs::create_directory(folder_ / "possible_answer");
  Write("possible_answer/BFCL_v4_parallel.json",
        R"({"id":"parallel_0","ground_truth":[{"f":{}},{"f":{}}]})"
        "\n"
        R"({"id":"parallel_1","ground_truth":"text"})"
        "\n"
        R"({"id":5,"ground_truth":[]})"
        "\nx");
  const Dataset set = LoadDataset("parallel", folder_).value();
  ASSERT_EQ(set.requests.size(), 3u);
  EXPECT_EQ(set.requests[0].reference_calls, 2);
  EXPECT_EQ(set.requests[1].reference_calls, std::nullopt);
  EXPECT_EQ(set.requests[2].reference_calls, std::nullopt);
  EXPECT_THAT(set.skipped,
              ElementsAre("possible_answer/BFCL_v4_parallel.json:3: must be an object with a "
                          "string id and ground_truth",
                          testing::StartsWith("possible_answer/BFCL_v4_parallel.json:4: JSON: ")));
  EXPECT_EQ(LoadDataset("irrelevance", folder_)->requests[0].reference_calls, 0);
}

std::vector<Request> WithReferences(int count) {
  std::vector<Request> requests(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    requests[static_cast<size_t>(i)].id = std::to_string(i);
    if (i % 7 != 6) requests[static_cast<size_t>(i)].reference_calls = i % 7;
  }
  return requests;
}

TEST(DrawByCallCount, TakesTurnsAndFollowsTheSeed) {
  const auto draw = [](std::vector<Request> from, uint64_t seed) {
    Dataset set;
    set.requests = DrawByCallCount(std::move(from), 5, seed).value();
    return set;
  };
  const Dataset set = draw(WithReferences(70), 1);
  ASSERT_EQ(set.requests.size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(set.requests[i].reference_calls, static_cast<int>(i % 4) + 1);
  }
  const std::vector<std::string> ids = Ids(set);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 20u);
  std::vector<Request> backwards = WithReferences(70);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(Ids(draw(std::move(backwards), 1)), ids);
  EXPECT_NE(Ids(draw(WithReferences(70), 2)), ids);
}

TEST(DrawByCallCount, TooFewIsAnError) {
  EXPECT_THAT(DrawByCallCount(WithReferences(70), 11, 0).error().message,
              HasSubstr("11 requests with 1 reference calls are asked for, and there are 10"));
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
  int calls = 0;
  for (const Request& request : bfcl.requests) calls += request.reference_calls.value();
  EXPECT_EQ(calls, 1335);  // of BFCL v4; the paper counts 1,333 in v3 (C.1)
  for (const Request& request : single.requests) EXPECT_EQ(request.reference_calls, 1);
  const Dataset counts = LoadDataset("call-counts", folder, {.seed = 3}).value();
  EXPECT_EQ(counts.requests.size(), 400u);
  EXPECT_THAT(counts.skipped, ElementsAre());
  struct Row {
    const char* name;
    size_t requests;
    std::optional<int> reference_calls;  // of the first
  };
  const Row kRows[] = {{"live_parallel", 16, 2},
                       {"live_parallel_multiple", 24, 2},
                       {"simple_java", 100, 1},
                       {"simple_javascript", 50, 1},
                       {"exec_simple", 100, 1},
                       {"exec_multiple", 50, 1},
                       {"irrelevance", 240, 0},
                       {"live_irrelevance", 884, 0},
                       {"live_relevance", 16, {}},
                       {"exec_parallel_multiple", 40, 2},
                       {"sql", 100, 1},
                       {"rest", 70, {}}};
  for (const Row& row : kRows) {
    const Dataset set = LoadDataset(row.name, folder).value();
    EXPECT_THAT(set.skipped, ElementsAre()) << row.name;
    EXPECT_EQ(set.requests.size(), row.requests) << row.name;
    EXPECT_EQ(set.requests[0].reference_calls, row.reference_calls) << row.name;
  }
}

}  // namespace
}  // namespace schemafill
