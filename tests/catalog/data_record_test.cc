#include "catalog/data_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace schemafill {
namespace {

// "1:{...} 3:{...}"
std::string Shown(std::string_view text) {
  std::string shown;
  for (const RecordText& record : SplitRecords(text)) {
    if (!shown.empty()) shown += ' ';
    shown += std::to_string(record.line) + ":" + std::string(record.text);
  }
  return shown;
}

TEST(SplitRecords, InEveryShapeOfFile) {
  struct Row {
    std::string_view text;
    std::string_view records;
  };
  const Row kRows[] = {
      {"", ""},
      {" \r\n\t\n", ""},
      {"{}", "1:{}"},
      {"{\"a\":1}\n{\"b\":2}\n", "1:{\"a\":1} 2:{\"b\":2}"},
      {"\xef\xbb\xbf{}\r\n\r\n{\"a\":1}\r\n", "1:{} 3:{\"a\":1}"},
      {"\n{\n\"a\":\n1}\n", "2:{\n\"a\":\n1}"},     // one object over several lines
      {"{\"a\":\n{}\n{}", "1:{\"a\": 2:{} 3:{}"},   // a broken first line
      {"{\"a\":\"}\"}\nx", "1:{\"a\":\"}\"} 2:x"},  // a brace in a string
      {"[]", ""},
      {"[{}, {\"a\":[1,2]}]", "1:{} 1:{\"a\":[1,2]}"},
      {"\xef\xbb\xbf[\r\n  {\"a\":\r\n1},\r\n  {}\r\n]\r\n", "2:{\"a\":\r\n1} 4:{}"},
      {"[{\"a\":\"]},{\\\"\"}\n, 7\n]", "1:{\"a\":\"]},{\\\"\"} 2:7"},
      {"[{}]\ntext", "1:{} 2:text"},
      {"[{},\n", "1:{} 2:"},  // the list doesn't end
      {"[{}, {\"a\":\n", "1:{} 1:{\"a\": 2:"},
      {"x\ny", "1:x 2:y"},
  };
  for (const Row& row : kRows) EXPECT_EQ(Shown(row.text), row.records) << row.text;
}

TEST(SplitRecords, LongLines) {
  const std::string long_text(3'000'000, 'x');
  const std::string line = "{\"a\":\"" + long_text + "\"}";
  for (const std::string& file : {line + "\n" + line, "[" + line + ",\n" + line + "]"}) {
    const std::vector<RecordText> records = SplitRecords(file);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[1].text, line);
    EXPECT_EQ(records[1].line, 2);
  }
}

TEST(SplitTurns, AtLineStartsOrElseBehindSpace) {
  struct Row {
    std::string_view text;
    std::string_view turns;
  };
  const Row kRows[] = {
      {"", ""},
      {"no marker", "no marker"},
      {"A: x\n\nB: y\n", "|A:x|B:y"},
      {"{}\nA: x\nmore of x\nB:", "{}|A:x\nmore of x|B:"},
      {"A: say B: in line\nB: y", "|A:say B: in line|B:y"},
      {"A: x B: y A: z", "|A:x|B:y|A:z"},
      {"A: xB: y", "|A:xB: y"},
  };
  for (const Row& row : kRows) {
    const MarkedText marked = SplitTurns(row.text, {"A:", "B:"});
    std::string shown(marked.before);
    for (const MarkedText::Turn& turn : marked.turns) {
      shown += "|" + std::string(turn.marker) + std::string(turn.text);
    }
    EXPECT_EQ(shown, row.turns) << row.text;
  }
}

}  // namespace
}  // namespace schemafill
