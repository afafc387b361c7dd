#include "draft/literal.h"

namespace schemafill {
namespace {

constexpr std::string_view kFrame = "{\"v\":";  // the value is the only member of an object

}  // namespace

Literal::Literal() : text_(kFrame) { cursor_.Feed(kFrame); }

size_t Literal::Feed(std::string_view text) {
  size_t taken = 0;
  while (taken < text.size() && !complete_ && !broken()) {
    text_ += text[taken];
    cursor_.Feed(text.substr(taken++, 1));
    Take();
  }
  return taken;
}

void Literal::Finish() {
  cursor_.FinishScalar();
  Take();
}

void Literal::Take() {
  for (const JsonValue& value : cursor_.TakeValues()) {
    if (value.depth != 1) continue;
    begin_ = value.begin;
    end_ = value.end;
    complete_ = true;
  }
}

std::string_view Literal::json() const {
  if (complete_) return std::string_view(text_).substr(begin_, end_ - begin_);
  const size_t begin = text_.find_first_not_of(" \t\r\n", kFrame.size());
  return begin == std::string::npos ? std::string_view() : std::string_view(text_).substr(begin);
}

}  // namespace schemafill
