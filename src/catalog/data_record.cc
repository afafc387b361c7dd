#include "catalog/data_record.h"

#include <algorithm>
#include <utility>

#include "base/lines.h"

namespace schemafill {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

size_t FirstNot(std::string_view text, std::string_view chars, size_t from) {
  return std::min(text.find_first_not_of(chars, from), text.size());
}

// Cuts records out of a text from front to back and counts lines on the way.
class RecordCutter {
 public:
  explicit RecordCutter(std::string_view text) : text_(text) {}

  void Add(size_t begin, size_t end) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    counted_ = begin;
    records_.push_back({Trim(text_.substr(begin, end - begin)), line_});
  }
  std::vector<RecordText> Take() { return std::move(records_); }

 private:
  std::string_view text_;
  size_t counted_ = 0;
  int line_ = 1;
  std::vector<RecordText> records_;
};

// Where the element that begins at `at` ends.
size_t ElementEnd(std::string_view text, size_t at) {
  if (text[at] != '{' && text[at] != '[')
    return std::min(text.find_first_of(",]", at), text.size());
  const size_t size = BracketedSize(text.substr(at));
  return size == std::string_view::npos ? text.size() : at + size;
}

std::vector<RecordText> SplitList(std::string_view text, size_t open) {
  RecordCutter cutter(text);
  size_t at = FirstNot(text, kSpace, open + 1);
  while (at < text.size() && text[at] != ']') {
    const size_t end = ElementEnd(text, at);
    cutter.Add(at, end);
    at = FirstNot(text, " \t\r\n,", end);
  }
  if (at == text.size()) {
    cutter.Add(at, at);  // the list never ends
  } else if (const size_t rest = FirstNot(text, kSpace, at + 1); rest < text.size()) {
    cutter.Add(rest, text.size());
  }
  return cutter.Take();
}

bool IsOneObject(std::string_view text, size_t open) {
  const size_t size = BracketedSize(text.substr(open));
  return size != std::string_view::npos && FirstNot(text, kSpace, open + size) == text.size();
}

bool StandsAt(std::string_view text, size_t at, std::string_view before) {
  return at == 0 || before.find(text[at - 1]) != std::string_view::npos;
}

// Cuts at markers behind one of the characters `before`, or at the very start.
MarkedText CutTurns(std::string_view text, const std::vector<std::string_view>& markers,
                    std::string_view before) {
  MarkedText out;
  size_t begin = 0;
  const auto close = [&](size_t end) {
    const std::string_view part = Trim(text.substr(begin, end - begin));
    (out.turns.empty() ? out.before : out.turns.back().text) = part;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (!StandsAt(text, at, before)) continue;
    const auto marker = std::find_if(markers.begin(), markers.end(), [&](std::string_view word) {
      return text.substr(at).starts_with(word);
    });
    if (marker == markers.end()) continue;
    close(at);
    out.turns.push_back({*marker, {}});
    begin = at + marker->size();
    at = begin - 1;
  }
  close(text.size());
  return out;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  text.remove_prefix(FirstNot(text, kSpace, 0));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::vector<RecordText> SplitRecords(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t first = FirstNot(text, kSpace, 0);
  if (first < text.size() && text[first] == '[') return SplitList(text, first);
  if (first < text.size() && text[first] == '{' && IsOneObject(text, first)) {
    RecordCutter cutter(text);
    cutter.Add(first, text.size());
    return cutter.Take();
  }
  std::vector<RecordText> records;
  for (Lines lines(text); lines.Next();) records.push_back({Trim(lines.line()), lines.number()});
  return records;
}

MarkedText SplitTurns(std::string_view text, const std::vector<std::string_view>& markers) {
  MarkedText by_line = CutTurns(text, markers, "\n");
  return by_line.turns.size() > 1 ? by_line : CutTurns(text, markers, kSpace);
}

}  // namespace schemafill
