// What every format of a data set is brought to: requests as OpenAI bodies. And the records of a
// file. Tested by tests/catalog/data_record_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace schemafill {

struct DataRequest {
  std::string id;
  Json body;
  std::optional<int> reference_calls;  // see Request
};

// A record's text, and the line of the file at which it begins, from 1.
struct RecordText {
  std::string_view text;
  int line = 0;
};

// The records in a file's text, which must outlive them: the elements of a list; the one object
// that the file holds over several lines; or the lines that are not blank. A byte order mark is
// passed over. What is no record (text behind a list, a list that doesn't end) comes as one, for
// the parser to refuse.
std::vector<RecordText> SplitRecords(std::string_view text);

// A dialogue as text: turns, each behind its speaker's marker.
struct MarkedText {
  struct Turn {
    std::string_view marker;
    std::string_view text;  // without white space around it
  };
  std::string_view before;  // in front of the first turn
  std::vector<Turn> turns;
};

// Cuts `text` at its markers. They count at the start of a line only, unless the whole text has no
// second one there: then behind white space as well.
MarkedText SplitTurns(std::string_view text, const std::vector<std::string_view>& markers);

std::string_view Trim(std::string_view text);

}  // namespace schemafill
