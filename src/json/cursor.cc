#include "json/cursor.h"

#include <algorithm>

namespace schemafill {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string PathOf(const std::vector<JsonFrame>& frames) {
  std::string path;
  for (const JsonFrame& frame : frames) {
    if (!frame.is_object) {
      path += "[]";
    } else {
      if (!path.empty()) path += '.';
      path += frame.key();
    }
  }
  return path;
}

int OutermostElement(const std::vector<JsonFrame>& frames) {
  for (const JsonFrame& frame : frames) {
    if (!frame.is_object) return frame.entries - 1;
  }
  return -1;
}

}  // namespace

std::string_view Name(Anchor anchor) {
  switch (anchor) {
    case Anchor::kProse:
      return "prose";
    case Anchor::kOpen:
      return "open";
    case Anchor::kComma:
      return "comma";
    case Anchor::kKey:
      return "key";
    case Anchor::kColon:
      return "colon";
    case Anchor::kValue:
      return "value";
    case Anchor::kClosed:
      return "closed";
    case Anchor::kBroken:
      return "broken";
  }
  return "";
}

std::string JsonSpelling::Break(std::string_view flat, size_t depth) const {
  if (indent == 0) return std::string(flat);
  return "\n" + std::string(static_cast<size_t>(indent) * depth, ' ');
}

void JsonCursor::Feed(std::string_view text) {
  for (const char c : text) FeedByte(c);
}

void JsonCursor::FeedByte(char c) {
  if (anchor_ == Anchor::kProse) {
    FeedProse(c);
  } else if (anchor_ == Anchor::kBroken) {
    FeedBroken(c);
  } else if (anchor_ == Anchor::kClosed) {
    // What follows the outer object is not part of the answer.
  } else if (mode_ == Mode::kString) {
    typed_ += c;
    if (escape_) {
      escape_ = false;
    } else if (c == '\\') {
      escape_ = true;
    } else if (c == '"') {
      EndString();
    }
  } else {
    if (mode_ == Mode::kScalar && (IsSpace(c) || c == ',' || c == '}' || c == ']')) FinishScalar();
    FeedStructure(c);
  }
  ++size_;
}

void JsonCursor::FeedProse(char c) {
  // Whether a list is one of objects shows at its first element.
  if (c == '{' || (c == '[' && blank_)) {
    outer_begin_ = size_;
    Open(c);
    return;
  }
  typed_ += c;
  if (!IsSpace(c)) blank_ = false;
}

void JsonCursor::FeedStructure(char c) {
  if (mode_ == Mode::kScalar) {
    if (c == '"' || c == ':' || c == '{' || c == '[') return Break(c);
    typed_ += c;
    return;
  }
  const bool value = ExpectsValue();
  const bool first_of_list =
      anchor_ == Anchor::kOpen && frames_.size() == 1 && !frames_[0].is_object;
  if (first_of_list && !IsSpace(c) && c != '{' && c != ']') {
    frames_.clear();
    blank_ = false;
    MoveTo(Anchor::kProse);
    return FeedProse(c);
  }
  if (IsSpace(c)) {
    typed_ += c;
  } else if (c == '"' && (value || ExpectsKey())) {
    LearnSpelling();
    key_string_ = !value;
    if (value) BeginValue();
    typed_ += c;
    mode_ = Mode::kString;
  } else if ((c == '{' || c == '[') && value) {
    LearnSpelling();
    BeginValue();
    Open(c);
  } else if ((c == '}' || c == ']') && (anchor_ == Anchor::kOpen || anchor_ == Anchor::kValue) &&
             frames_.back().is_object == (c == '}')) {
    Close();
  } else if (c == ':' && anchor_ == Anchor::kKey) {
    MoveTo(Anchor::kColon);
  } else if (c == ',' && anchor_ == Anchor::kValue) {
    MoveTo(Anchor::kComma);
  } else if (value && c != ':' && c != ',' && c != '}' && c != ']') {
    LearnSpelling();
    BeginValue();
    typed_ += c;
    mode_ = Mode::kScalar;
  } else {
    Break(c);
  }
}

void JsonCursor::Break(char c) {
  broken_depth_ = static_cast<int>(frames_.size());
  mode_ = Mode::kStructure;
  MoveTo(Anchor::kBroken);
  FeedBroken(c);
}

void JsonCursor::FeedBroken(char c) {
  typed_ += c;
  if (mode_ == Mode::kString) {
    if (escape_) {
      escape_ = false;
    } else if (c == '\\') {
      escape_ = true;
    } else if (c == '"') {
      mode_ = Mode::kStructure;
    }
    return;
  }
  if (c == '"') mode_ = Mode::kString;
  if (c == '{' || c == '[') ++broken_depth_;
  if ((c == '}' || c == ']') && --broken_depth_ == 0) {
    outer_end_ = size_ + 1;
    frames_.clear();
    MoveTo(Anchor::kClosed);
  }
}

void JsonCursor::Open(char c) {
  frames_.push_back({.is_object = c == '{', .begin = size_});
  MoveTo(Anchor::kOpen);
}

void JsonCursor::Close() {
  const size_t begin = frames_.back().begin;
  frames_.pop_back();
  if (frames_.empty()) {
    outer_end_ = size_ + 1;
    values_.push_back({.begin = begin, .end = outer_end_, .is_container = true});
    MoveTo(Anchor::kClosed);
    return;
  }
  EndValue({.end = size_ + 1, .is_container = true});
}

void JsonCursor::EndString() {
  mode_ = Mode::kStructure;
  if (!key_string_) {
    EndValue({.end = size_ + 1, .is_string = true});
    return;
  }
  const size_t quote = typed_.find('"');
  frames_.back().keys.push_back(typed_.substr(quote + 1, typed_.size() - quote - 2));
  MoveTo(Anchor::kKey);
}

void JsonCursor::FinishScalar() {
  if (mode_ != Mode::kScalar) return;
  mode_ = Mode::kStructure;
  EndValue({.end = size_});
}

// `value` comes with what the caller knows; place and start are filled in here.
void JsonCursor::EndValue(JsonValue value) {
  value.path = PathOf(frames_);
  value.element = OutermostElement(frames_);
  value.depth = frames_.size();
  value.begin = frames_.back().value_begin;
  values_.push_back(std::move(value));
  MoveTo(Anchor::kValue);
}

void JsonCursor::BeginValue() {
  frames_.back().value_begin = size_;
  ++frames_.back().entries;
}

bool JsonCursor::ExpectsKey() const {
  return (anchor_ == Anchor::kOpen || anchor_ == Anchor::kComma) && frames_.back().is_object;
}

bool JsonCursor::ExpectsValue() const {
  if (anchor_ == Anchor::kColon) return true;
  return (anchor_ == Anchor::kOpen || anchor_ == Anchor::kComma) && !frames_.back().is_object;
}

// The white space in front of what starts now is how this answer spells that place.
void JsonCursor::LearnSpelling() {
  if (anchor_ == Anchor::kColon) {
    spelling_.after_colon = typed_;
    return;
  }
  const size_t line = typed_.rfind('\n');
  if (line != std::string::npos) {
    const size_t width = typed_.size() - line - 1;
    spelling_.indent = static_cast<int>(width / std::max<size_t>(1, frames_.size()));
  } else if (anchor_ == Anchor::kComma) {
    spelling_.after_comma = typed_;
  } else {
    spelling_.after_open = typed_;
  }
}

void JsonCursor::MoveTo(Anchor anchor) {
  anchor_ = anchor;
  typed_.clear();
}

}  // namespace schemafill
