// Where in a JSON text a growing output stands. Bytes go in as they are committed (or as a draft
// imagines them); out come the open containers with their keys, what has been typed since the last
// structural character, the spelling of white space so far, and the moment at which the outer
// object closes.
//
// The cursor describes, it never judges: text in front of the object is prose, and text that is not
// JSON turns it into a mere counter of brackets outside of strings, which still finds the end. A
// list of objects that nothing stands in front of counts as the outer object as well: some models
// answer with a list of calls. Any other list is prose ("[1] says so").
// Copies are cheap enough to try a continuation out. Tested by tests/json/cursor_test.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemafill {

// The last structural event, from which the text typed since then continues.
enum class Anchor {
  kProse,   // no outer object yet
  kOpen,    // behind { or [
  kComma,   // behind , in the innermost container
  kKey,     // behind a key, in front of :
  kColon,   // behind :
  kValue,   // behind a complete value in the innermost container
  kClosed,  // the outer object is complete
  kBroken,  // not JSON
};

std::string_view Name(Anchor anchor);

struct JsonFrame {
  bool is_object = false;
  size_t begin = 0;                 // offset of the bracket
  size_t value_begin = 0;           // offset of the current or last value of this container
  std::vector<std::string> keys{};  // raw text of the keys so far, the current one last (objects)
  int entries = 0;                  // values begun

  std::string_view key() const {
    return keys.empty() ? std::string_view() : std::string_view(keys.back());
  }
};

// How the output spells the white space that JSON leaves free.
struct JsonSpelling {
  std::string after_colon = " ";
  std::string after_comma = " ";
  std::string after_open;
  int indent =
      0;  // more than 0: every entry stands on a line of its own, indented by this much a level

  // White space in front of an entry or a closing bracket at `depth` open containers.
  std::string Break(std::string_view flat, size_t depth) const;
};

// A complete value inside of the outer object.
struct JsonValue {
  std::string path{};  // "tool_calls[].arguments.city"; "" is the outer object itself
  int element = -1;    // index in the outermost array on the path
  size_t begin = 0;    // offsets in the text fed so far
  size_t end = 0;
  size_t depth = 0;  // containers around it
  bool is_string = false;
  bool is_container = false;
};

class JsonCursor {
 public:
  void Feed(std::string_view text);

  // Takes the number or literal being typed as complete, as its next byte would. For drafts that
  // end there.
  void FinishScalar();

  Anchor anchor() const { return anchor_; }
  const std::vector<JsonFrame>& frames() const { return frames_; }
  // Bytes since the anchor: white space, then the string, number or literal being typed.
  const std::string& typed() const { return typed_; }
  bool in_string() const { return mode_ == Mode::kString; }
  bool in_scalar() const { return mode_ == Mode::kScalar; }
  const JsonSpelling& spelling() const { return spelling_; }
  size_t size() const { return size_; }

  bool closed() const { return anchor_ == Anchor::kClosed; }
  // Offsets of the outer object; its end once it is closed.
  size_t outer_begin() const { return outer_begin_; }
  size_t outer_end() const { return outer_end_; }

  // Values completed since the last call, in order of completion.
  std::vector<JsonValue> TakeValues() { return std::exchange(values_, {}); }

 private:
  enum class Mode { kStructure, kString, kScalar };

  void FeedByte(char c);
  void FeedProse(char c);
  void FeedStructure(char c);
  void FeedBroken(char c);
  void Break(char c);
  void Open(char c);
  void Close();
  void EndString();
  void EndValue(JsonValue value);
  void BeginValue();
  bool ExpectsKey() const;
  bool ExpectsValue() const;
  void LearnSpelling();
  void MoveTo(Anchor anchor);

  Anchor anchor_ = Anchor::kProse;
  Mode mode_ = Mode::kStructure;
  bool escape_ = false;
  bool key_string_ = false;  // the string being typed is a key
  bool blank_ = true;        // only white space so far
  std::vector<JsonFrame> frames_;
  std::vector<JsonValue> values_;
  std::string typed_;
  JsonSpelling spelling_;
  size_t size_ = 0;
  size_t outer_begin_ = 0;
  size_t outer_end_ = 0;
  int broken_depth_ = 0;  // open brackets, once broken
};

}  // namespace schemafill
