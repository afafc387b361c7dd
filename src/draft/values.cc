#include "draft/values.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "json/json.h"

namespace schemafill {
namespace {

// Shares of the probability that each source of candidates gets when it has something to say. What
// is left over is for values that nobody guessed. Chosen by hand on BFCL's single-call training
// files.
constexpr double kLiteralShare = 0.9;
constexpr double kRecallShare = 0.4;
constexpr double kRecallTwiceShare = 0.8;
constexpr double kSpanShare = 0.8;
constexpr double kTypedShare = 0.9;
// What earlier answers had. Where the schema or the type names all values, the tool's habits say
// more than the request; elsewhere they get what the request leaves over, and so never much.
constexpr double kHabitShare = 0.4;
constexpr double kEarlierShare = 0.5;
// A string's opening quotation mark, where there is no text that it could be copied from.
constexpr double kQuoteShare = 0.95;

constexpr size_t kMaxStarts = 6;  // spans that are tried for one string
constexpr size_t kMaxEnds = 3;    // ends that are tried for one span

struct Weighted {
  size_t index = 0;
  double weight = 0;
};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
}

bool Is(const SchemaNode* schema, ValueType type) {
  return schema != nullptr &&
         std::find(schema->types.begin(), schema->types.end(), type) != schema->types.end();
}

// Words of a field's name, lower case, three letters and more: "departure_date" -> departure, date.
std::vector<std::string> NameWords(std::string_view path) {
  std::vector<std::string> words(1);
  for (const char c : path) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.size() < 3; });
  return words;
}

// Where words of a field's name stand in the source, as parts of words too. A long request is
// searched once for each slot, not once for each of its words.
class NameFinder {
 public:
  NameFinder(const SourceText& source, std::string_view path) : source_(source) {
    for (const std::string& word : NameWords(path)) {
      for (size_t at = source.lower().find(word); at != std::string::npos;
           at = source.lower().find(word, at + 1)) {
        found_.push_back({at, at + word.size()});
      }
    }
    std::sort(found_.begin(), found_.end());
  }

  // Whether one stands close to the word or number.
  bool NearWord(size_t index) const {
    const SourceWord& word = source_.words()[index];
    return !found_.empty() && Near(word.begin, word.end, index, index + 1);
  }
  bool NearNumber(const SourceNumber& number) const {
    return !found_.empty() &&
           Near(number.begin, number.end, source_.WordAt(number.begin), source_.WordAt(number.end));
  }

 private:
  // In the three words in front of `first`, the word at `begin`, or in the two from `behind` on.
  bool Near(size_t begin, size_t end, size_t first, size_t behind) const {
    const auto& words = source_.words();
    const size_t from = first - std::min<size_t>(first, 3);
    const size_t to = std::min(words.size(), behind + 2);
    const size_t text_begin = from < words.size() ? words[from].begin : begin;
    const size_t text_end = to > 0 ? std::max(end, words[to - 1].end) : end;
    return StandsIn(text_begin, begin) || StandsIn(end, text_end);
  }
  bool StandsIn(size_t begin, size_t end) const {
    for (auto found = std::lower_bound(found_.begin(), found_.end(), std::pair(begin, size_t{0}));
         found != found_.end() && found->first < end; ++found) {
      if (found->second <= end) return true;
    }
    return false;
  }

  const SourceText& source_;
  std::vector<std::pair<size_t, size_t>> found_;  // begin, end; sorted
};

// Scales the weights to `share` in all and drops the small ones.
void Normalise(std::vector<Weighted>* items, double share, size_t most) {
  double sum = 0;
  for (const Weighted& item : *items) sum += item.weight;
  const auto kept = items->begin() + static_cast<std::ptrdiff_t>(std::min(most, items->size()));
  std::partial_sort(items->begin(), kept, items->end(), [](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.index < b.index;
  });
  items->erase(kept, items->end());
  for (Weighted& item : *items) item.weight *= sum > 0 ? share / sum : 0;
}

class Collector {
 public:
  Collector(const SourceText& source, const ValueQuery& query) : source_(source), query_(query) {}

  std::vector<ValueCandidate> Take() {
    RecallCalls();
    if (HasFewValues()) RecallAnswers(left_ * kHabitShare);
    Literals();
    const bool any = query_.schema == nullptr || query_.schema->types.empty();
    const bool number =
        Is(query_.schema, ValueType::kInteger) || Is(query_.schema, ValueType::kNumber);
    if (Is(query_.schema, ValueType::kArray)) Add("[", left_ * 0.95, true);
    if (Is(query_.schema, ValueType::kObject)) Add("{", left_ * 0.95, true);
    if (number) Numbers(left_ * kSpanShare);
    if (any) Numbers(left_ * 0.3);
    if (Is(query_.schema, ValueType::kBoolean)) Booleans();
    if (any || Is(query_.schema, ValueType::kString)) Strings();
    if (Is(query_.schema, ValueType::kNull)) Add("null", left_ * 0.3, false);
    if (!HasFewValues()) RecallAnswers(left_ * kEarlierShare);
    if (Is(query_.schema, ValueType::kString) && query_.schema->literals.empty() &&
        source_.words().empty())
      Add("\"", left_ * kQuoteShare, true);
    return Finish();
  }

 private:
  bool HasFewValues() const {
    return query_.schema != nullptr &&
           (!query_.schema->literals.empty() || Is(query_.schema, ValueType::kBoolean));
  }

  void Add(std::string json, double probability, bool open, bool recalled = false) {
    left_ -= probability;
    if (!json.starts_with(query_.typed)) return;
    for (ValueCandidate& candidate : found_) {
      if (candidate.json != json) continue;
      candidate.probability += probability;
      candidate.recalled &= recalled;
      return;
    }
    found_.push_back({std::move(json), probability, open, recalled});
  }

  // The same field of earlier calls of the same tool: units and options often stay as they were.
  void RecallCalls() {
    if (query_.calls.empty()) return;
    std::vector<std::string_view> values;
    for (const AnswerCall& call : query_.calls.first(query_.calls.size() - 1)) {
      if (call.name != query_.calls.back().name) continue;
      for (const AnswerField& field : call.fields) {
        if (field.path == query_.path) values.push_back(field.raw);
      }
    }
    if (values.empty()) return;
    const bool steady = values.size() > 1 && values[values.size() - 2] == values.back();
    const bool changing = values.size() > 1 && !steady;
    const double share = steady ? kRecallTwiceShare : changing ? kRecallShare / 4 : kRecallShare;
    Add(std::string(values.back()), share, false);
  }

  // The same field of earlier answers.
  void RecallAnswers(double share) {
    if (query_.recall == nullptr || query_.calls.empty()) return;
    for (const RecalledValue& value : query_.recall->Values(query_.calls.back(), query_.path))
      Add(value.json, share * value.weight, false, true);
  }

  void Literals() {
    if (query_.schema == nullptr) return;
    std::vector<Weighted> weights;
    for (size_t i = 0; i < query_.schema->literals.size(); ++i) {
      std::string_view text = query_.schema->literals[i];
      if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
      const size_t found = source_.Locate(text, query_.reached);
      const double mentioned = found == std::string::npos ? 1 : found > query_.reached ? 12 : 6;
      weights.push_back({i, mentioned / (1 + 0.3 * static_cast<double>(i))});
    }
    Normalise(&weights, left_ * kLiteralShare, 4);
    for (const Weighted& item : weights)
      Add(query_.schema->literals[item.index], item.weight, false);
    const std::string& fallback = query_.schema->default_text;
    if (!fallback.empty() && fallback != "null") Add(fallback, left_ * 0.15, false);
  }

  void Booleans() {
    const bool prefers_false = query_.schema->default_text == "true";
    Add("true", left_ * (prefers_false ? 0.3 : 0.7), false);
    Add("false", left_ * 0.9, false);
  }

  void Numbers(double share) {
    const NameFinder name(source_, query_.path);
    std::vector<Weighted> weights;
    double order = 1;
    for (size_t i = 0; i < source_.numbers().size(); ++i) {
      const SourceNumber& number = source_.numbers()[i];
      double weight = 0.15;
      if (number.begin >= query_.reached) {
        weight = order;
        order *= 0.4;
      }
      const bool whole = number.text.find('.') == std::string::npos;
      if (!whole && Is(query_.schema, ValueType::kInteger)) weight *= 0.05;
      weights.push_back({i, weight * (name.NearNumber(number) ? 4 : 1)});
    }
    Normalise(&weights, share, kMaxStarts);
    for (const Weighted& item : weights) {
      const SourceNumber& number = source_.numbers()[item.index];
      const bool rate = number.percent && !Is(query_.schema, ValueType::kInteger);
      const std::string hundredth = rate ? Hundredth(number.text) : std::string();
      if (!hundredth.empty()) Add(hundredth, item.weight * 0.7, false);
      Add(number.text, item.weight * (rate ? 0.3 : 1), false);
    }
  }

  // "5" -> "0.05", "12.5" -> "0.125"; empty beyond a double's range.
  static std::string Hundredth(const std::string& number) {
    const double value = std::round(std::strtod(number.c_str(), nullptr) * 1e10) / 1e12;
    return std::isfinite(value) ? Json(value).dump() : std::string();
  }

  void Strings() {
    const double share = left_ * kSpanShare;
    const NameFinder name(source_, query_.path);
    std::vector<Weighted> weights;
    double order = 1;
    for (size_t i = 0; i < source_.words().size(); ++i) {
      const SourceWord& word = source_.words()[i];
      double weight = StartWeight(i);
      if (word.begin < query_.reached) {
        weight *= 0.1;
      } else {
        weight *= order;
        if (weight > 0.3) order *= 0.5;
      }
      if (name.NearWord(i)) weight *= 2;
      weights.push_back({i, weight});
    }
    Normalise(&weights, share, kMaxStarts);
    for (const Weighted& item : weights) Spans(source_.words()[item.index].begin, item.weight);
  }

  // How much the word looks like the start of a value.
  double StartWeight(size_t index) const {
    const SourceWord& word = source_.words()[index];
    if (word.quoted) return 5;
    const bool inside = index > 0 && source_.words()[index - 1].capital && word.capital &&
                        source_.words()[index - 1].end + 1 == word.begin &&
                        !source_.words()[index - 1].sentence_start;
    if (inside) return 0.3;
    if (word.capital) return word.sentence_start ? 0.2 : 3;
    if (word.digit) return 0.8;
    return word.function_word ? 0.005 : 0.1;
  }

  void Spans(size_t begin, double probability) {
    std::vector<CopyEnd> ends = source_.Ends(begin, begin);
    std::stable_sort(ends.begin(), ends.end(), [](const CopyEnd& a, const CopyEnd& b) {
      return a.probability > b.probability;
    });
    if (ends.size() > kMaxEnds) ends.resize(kMaxEnds);
    for (const CopyEnd& end : ends) {
      Add('"' + EscapeJson(source_.text().substr(begin, end.end - begin)) + '"',
          probability * end.probability, false);
    }
  }

  // Nobody guessed the value, but what has been typed of it stands in the source: go on from there.
  void CopyTyped() {
    const std::string_view typed = query_.typed.substr(1);
    if (typed.empty() || typed.find('\\') != std::string_view::npos) return;
    std::vector<size_t> starts;
    const std::string& text = source_.text();
    for (size_t at = text.find(typed); at != std::string::npos && starts.size() < 8;
         at = text.find(typed, at + 1)) {
      if (at == 0 || !IsWordByte(text[at - 1])) starts.push_back(at);
    }
    std::stable_partition(starts.begin(), starts.end(),
                          [&](size_t at) { return at >= query_.reached; });
    if (starts.size() > 2) starts.resize(2);
    double probability = starts.size() > 1 ? 0.65 : 0.9;
    for (const size_t start : starts) {
      for (const CopyEnd& end : source_.Ends(start, start + typed.size())) {
        const std::string value = text.substr(start, end.end - start);
        found_.push_back({'"' + EscapeJson(value) + '"', probability * end.probability});
      }
      probability = 0.25;
    }
  }

  std::vector<ValueCandidate> Finish() {
    if (query_.typed.empty()) return std::move(found_);
    // What was typed speaks for the candidates that fit it.
    double sum = 0;
    for (const ValueCandidate& candidate : found_) sum += candidate.probability;
    for (ValueCandidate& candidate : found_)
      candidate.probability *= kTypedShare / std::max(sum, 1e-9);
    if (query_.typed.front() == '"' && query_.typed.size() > 1) {
      const bool unknown = found_.empty();
      const std::vector<ValueCandidate> guessed = std::move(found_);
      found_.clear();
      CopyTyped();
      const double copy_share = unknown ? 1 : 0.5;
      const double guess_share = found_.empty() ? 1 : 0.5;
      for (ValueCandidate& candidate : found_) candidate.probability *= copy_share;
      for (const ValueCandidate& candidate : guessed)
        Add(candidate.json, candidate.probability * guess_share, candidate.open,
            candidate.recalled);
    }
    return std::move(found_);
  }

  const SourceText& source_;
  const ValueQuery& query_;
  std::vector<ValueCandidate> found_;
  double left_ = 1;  // probability not given away yet
};

}  // namespace

std::vector<ValueCandidate> ValueCandidates(const SourceText& source, const ValueQuery& query) {
  return Collector(source, query).Take();
}

size_t Advance(const SourceText& source, size_t reached, std::string_view json) {
  if (json.size() > 1 && json.front() == '"') json = json.substr(1, json.size() - 2);
  const size_t end = source.Locate(json, reached);
  return end == std::string::npos ? reached : end;
}

size_t ReachedBy(const SourceText& source, std::span<const AnswerCall> calls) {
  size_t reached = 0;
  for (const AnswerCall& call : calls) {
    for (const AnswerField& field : call.fields) reached = Advance(source, reached, field.raw);
  }
  return reached;
}

}  // namespace schemafill
