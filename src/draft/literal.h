// Follows one JSON value to its boundary (paper, Algorithm 1 line 12): a string to its closing
// quote, a number or literal to the byte behind it, a list or object to its bracket. Tested by
// tests/draft/literal_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "json/cursor.h"

namespace schemafill {

// A string, a list or an object: its last byte ends it. A number or another literal ends in front
// of what comes behind it. REQUIRES: text of a value, not empty.
inline bool IsBracketed(std::string_view json) {
  return json.front() == '"' || json.front() == '[' || json.front() == '{';
}

class Literal {
 public:
  Literal();

  // Takes text in, from behind the colon on. What comes behind the boundary is left out. Returns
  // the number of bytes taken, the one that shows a number's end included.
  size_t Feed(std::string_view text);
  // Takes a number or literal as complete as it stands.
  void Finish();

  bool complete() const { return complete_; }
  // What was fed is no JSON value, nor the begin of one.
  bool broken() const {
    return !complete_ && (cursor_.anchor() == Anchor::kBroken || cursor_.closed());
  }
  // The value so far, without the white space around it.
  std::string_view json() const;

 private:
  void Take();

  JsonCursor cursor_;
  std::string text_;
  size_t begin_ = 0;  // of the value in text_
  size_t end_ = 0;
  bool complete_ = false;
};

}  // namespace schemafill
