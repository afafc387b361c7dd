#include "draft/pieces.h"

#include <algorithm>
#include <array>

#include "draft/literal.h"
#include "draft/values.h"
#include "json/json.h"

namespace schemafill {
namespace {

// Priors of the automaton. Scaffold is nearly sure once the answer follows the format; the rest
// says how often a model takes an optional field, another call, another tool.
constexpr double kSure = 0.97;
constexpr double kRequiredKey = 0.95;
constexpr double kOptionalKey = 0.35;
constexpr double kOtherKey = 0.6;       // a key that the tool doesn't have is one of another tool
constexpr double kSameKeysAgain = 0.9;  // a call has the fields that the tool's last call had
constexpr double kTrustInEarlierKeys = 0.5;  // the same of its last call in earlier answers
constexpr double kMoreCallsLikely = 0.45;
constexpr double kMoreCallsUnlikely = 0.2;
constexpr double kListGoesOn = 0.9;
constexpr double kListEnds = 0.8;
constexpr double kUnknownEnds = 0.4;     // a begun value that nothing explains ends here
constexpr double kPreparedHolds = 0.85;  // MAIN takes what a SIDE branch has ready
constexpr size_t kManyCalls = 8;
constexpr size_t kMaxNames = 6;

// Lengths of the answer's end that are looked for earlier in the answer, and how likely it goes on
// as it did there.
struct Repetition {
  size_t length;
  double probability;
};
constexpr std::array kRepetitions = {Repetition{40, 0.95}, Repetition{20, 0.85},
                                     Repetition{10, 0.5}};

// Shortest typed prose that is looked up, and how much is copied at once.
constexpr size_t kMinProseMatch = 8;
constexpr size_t kMaxProseMatch = 32;
constexpr size_t kProseCopy = 24;

class Automaton {
 public:
  Automaton(const DraftSources& sources, const Answer& answer, size_t reached)
      : sources_(sources),
        answer_(answer),
        json_(answer.json()),
        typed_(json_.typed()),
        reached_(reached) {}

  std::vector<Piece> Next() {
    switch (answer_.place()) {
      case Place::kProse:
        Prose();
        break;
      case Place::kRoot:
        Root();
        break;
      case Place::kCalls:
        Calls();
        break;
      case Place::kCall:
        Call();
        break;
      case Place::kArguments:
        Arguments();
        break;
      case Place::kElsewhere:
        break;
    }
    if (Unguided()) RepeatAnswer();
    return std::move(pieces_);
  }

 private:
  // `whole` is the text from the anchor on; what has been typed of it is cut off.
  void Add(const std::string& whole, double probability, PieceKind kind, bool ends_scalar = false) {
    if (!whole.starts_with(typed_) || (whole.size() == typed_.size() && !ends_scalar)) return;
    pieces_.push_back({whole.substr(typed_.size()), probability, kind, ends_scalar});
  }

  // When something has been typed, only what fits it is left, and gets its probability.
  void Renormalise() {
    if (typed_.find_first_not_of(" \n") == std::string_view::npos) return;
    double sum = 0;
    for (const Piece& piece : pieces_) sum += piece.probability;
    for (Piece& piece : pieces_) piece.probability *= sum > 0 ? kSure / sum : 0;
  }

  std::string EntryBreak() const {
    const JsonSpelling& spelling = json_.spelling();
    const bool first = json_.anchor() == Anchor::kOpen;
    return spelling.Break(first ? spelling.after_open : spelling.after_comma,
                          json_.frames().size());
  }
  std::string CloseBreak() const {
    return json_.spelling().Break(json_.spelling().after_open, json_.frames().size() - 1);
  }
  std::string Key(std::string_view name) const {
    return EntryBreak() + '"' + EscapeJson(name) + "\":";
  }
  std::string Gap() const { return json_.spelling().after_colon; }

  void Prose() {
    if (typed_.find_first_not_of(" \n") == std::string_view::npos) {
      if (!sources_.catalog->tools.empty())
        Add(std::string(typed_) + "{", kSure, PieceKind::kScaffold);
      return;
    }
    CopyProse();
  }

  // Whether neither format nor schema say what comes: in text that is no call, in fields that the
  // tool doesn't have, in lists.
  bool Unguided() const {
    if (json_.closed() || answer_.place() == Place::kProse) return false;
    if (answer_.place() != Place::kArguments) return answer_.place() == Place::kElsewhere;
    if (!json_.frames().back().is_object) return true;
    const SchemaNode* container = Container();
    const bool at_value = json_.anchor() == Anchor::kColon;
    return container == nullptr ||
           (at_value && Child(*container, json_.frames().back()) == nullptr);
  }

  // Text that nothing guides tends to repeat itself; small models get caught in it.
  void RepeatAnswer() {
    const std::string& text = answer_.text();
    for (const auto& [length, probability] : kRepetitions) {
      if (text.size() <= length) continue;
      const size_t tail = text.size() - length;
      const size_t at = text.rfind(std::string_view(text).substr(tail), tail - 1);
      if (at == std::string::npos) continue;
      const std::string copy = text.substr(at + length, kProseCopy);
      JsonCursor next = json_;
      next.Feed(copy);
      if (next.anchor() == Anchor::kBroken && json_.anchor() != Anchor::kBroken) return;
      for (Piece& piece : pieces_) piece.probability *= 1 - probability;
      pieces_.push_back({copy, probability, PieceKind::kCopy});
      return;
    }
  }

  // Longest suffix of the answer that stands in the source, and what followed it there.
  void CopyProse() {
    const std::string& text = answer_.text();
    const std::string& source = sources_.source->text();
    if (text.size() < kMinProseMatch) return;
    size_t at = source.rfind(text.substr(text.size() - kMinProseMatch));
    for (size_t length = kMinProseMatch + 8; length <= std::min(kMaxProseMatch, text.size());
         length += 8) {
      const size_t longer = source.rfind(text.substr(text.size() - length));
      if (longer == std::string::npos) break;
      at = longer + length - kMinProseMatch;
    }
    if (at == std::string::npos) return;
    const std::string copy = source.substr(at + kMinProseMatch, kProseCopy);
    const size_t word = copy.find_last_of(" \n");
    if (copy.empty()) return;
    pieces_.push_back({word == std::string::npos || word == 0 ? copy : copy.substr(0, word), 0.6,
                       PieceKind::kCopy});
  }

  void Root() {
    switch (json_.anchor()) {
      case Anchor::kOpen:
        Add(Key("tool_calls"), kSure, PieceKind::kScaffold);
        break;
      case Anchor::kKey:
        Add(":", kSure, PieceKind::kScaffold);
        break;
      case Anchor::kColon:
        if (json_.frames()[0].key() == "tool_calls") Add(Gap() + "[", kSure, PieceKind::kScaffold);
        break;
      case Anchor::kValue:
        Add(CloseBreak() + "}", kSure, PieceKind::kScaffold);
        break;
      default:
        break;
    }
  }

  void Calls() {
    switch (json_.anchor()) {
      case Anchor::kOpen:
      case Anchor::kComma:
        Add(EntryBreak() + "{", kSure, PieceKind::kScaffold);
        break;
      case Anchor::kValue: {
        const bool more =
            answer_.calls().size() < kManyCalls && sources_.source->HasValueBehind(reached_);
        const double another = more ? kMoreCallsLikely : kMoreCallsUnlikely;
        Add(",", another, PieceKind::kKey);
        Add(CloseBreak() + "]", 1 - another, PieceKind::kKey);
        break;
      }
      default:
        break;
    }
  }

  void Call() {
    const JsonFrame& frame = json_.frames().back();
    const bool has_arguments = frame.key() == "arguments" || frame.key() == "parameters";
    switch (json_.anchor()) {
      case Anchor::kOpen:
        Add(Key("name"), kSure, PieceKind::kScaffold);
        break;
      case Anchor::kComma:
        Add(Key("arguments"), kSure, PieceKind::kScaffold);
        break;
      case Anchor::kKey:
        Add(":", kSure, PieceKind::kScaffold);
        break;
      case Anchor::kColon:
        if (has_arguments) Add(Gap() + "{", kSure, PieceKind::kScaffold);
        if (frame.key() == "name") ToolNames();
        break;
      case Anchor::kValue:
        Add(has_arguments ? CloseBreak() + "}" : ",", kSure, PieceKind::kScaffold);
        break;
      default:
        break;
    }
  }

  void ToolNames() {
    const std::vector<RankedTool>& ranking = sources_.forecast->ranking;
    const auto& calls = answer_.calls();
    double rank_weight = 1;
    std::vector<std::pair<int, double>> weights;
    for (const RankedTool& ranked : ranking) {
      const std::string& name = sources_.catalog->tools[static_cast<size_t>(ranked.tool)].name;
      const auto used = std::count_if(calls.begin(), calls.end(),
                                      [&](const AnswerCall& call) { return call.name == name; });
      const bool last = calls.size() > 1 && calls[calls.size() - 2].name == name;
      const double history = calls.size() < 2 ? 1 : last ? 0.7 : used > 0 ? 0.3 : 1;
      weights.emplace_back(ranked.tool, rank_weight * history);
      rank_weight *= 0.5;
    }
    std::stable_sort(weights.begin(), weights.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    double sum = 0;
    for (const auto& [tool, weight] : weights) sum += weight;
    size_t taken = 0;
    for (const auto& [tool, weight] : weights) {
      const std::string whole =
          Gap() + '"' + EscapeJson(sources_.catalog->tools[static_cast<size_t>(tool)].name) + '"';
      if (!whole.starts_with(typed_) || taken == kMaxNames) continue;
      Add(whole, weight / sum * kSure, PieceKind::kName);
      ++taken;
    }
    Renormalise();
  }

  // The schema of the innermost container, null where the catalog says nothing.
  const SchemaNode* Container() const {
    const int tool =
        answer_.calls().empty() ? -1 : sources_.catalog->Find(answer_.calls().back().name);
    if (tool < 0) return nullptr;
    const SchemaNode* node = Node(sources_.catalog->tools[static_cast<size_t>(tool)].parameters);
    const auto& frames = json_.frames();
    for (size_t i = answer_.arguments_depth(); i + 1 < frames.size() && node != nullptr; ++i)
      node = Child(*node, frames[i]);
    return node;
  }

  const SchemaNode* Node(SchemaId id) const {
    return id == kNoSchema ? nullptr : &sources_.catalog->node(id);
  }

  // The schema of the current value in `frame`, whose own schema is `node`.
  const SchemaNode* Child(const SchemaNode& node, const JsonFrame& frame) const {
    if (!frame.is_object && node.items != kNoSchema) return Node(node.items);
    for (const Property& property : node.properties) {
      if (frame.is_object && property.name == frame.key()) return Node(property.schema);
    }
    for (const SchemaId id : node.alternatives) {
      const SchemaNode& alternative = sources_.catalog->node(id);
      if (!alternative.alternatives.empty()) continue;
      if (const SchemaNode* child = Child(alternative, frame)) return child;
    }
    return nullptr;
  }

  void Arguments() {
    const bool object = json_.frames().back().is_object;
    switch (json_.anchor()) {
      case Anchor::kKey:
        Add(":", kSure, PieceKind::kScaffold);
        break;
      case Anchor::kColon:
        Value(Gap(), 1);
        break;
      case Anchor::kOpen:
        if (!object) {
          Add("]", 0.03, PieceKind::kKey);
          Value(EntryBreak(), kSure);
          break;
        }
        [[fallthrough]];
      case Anchor::kComma:
        if (object) {
          Keys(json_.anchor() == Anchor::kOpen);
        } else {
          Value(EntryBreak(), 1);
        }
        break;
      case Anchor::kValue:
        object ? Keys(true) : ListGoesOn();
        break;
      default:
        break;
    }
    if (!answer_.among_arguments()) RestOfPrepared();
  }

  // Which property comes next, `}` among them where it may stand. Behind a value only the comma or
  // the bracket is written.
  void Keys(bool may_close) {
    const SchemaNode* container = Container();
    const JsonFrame& frame = json_.frames().back();
    if (container == nullptr) {
      if (json_.anchor() == Anchor::kValue) Add(CloseBreak() + "}", 0.5, PieceKind::kKey);
      return;
    }
    std::vector<std::pair<std::string_view, double>>
        next;  // what comes next, in order; the rest closes
    double open = 1;
    const AnswerCall* last = answer_.among_arguments() ? LastCall() : nullptr;
    const bool known = last != nullptr;
    const std::string_view again = known ? KeyBehind(*last, frame) : std::string_view();
    const AnswerCall* earlier = known || !answer_.among_arguments() ? nullptr : EarlierCall();
    for (const Property& property : container->properties) {
      if (std::find(frame.keys.begin(), frame.keys.end(), property.name) != frame.keys.end())
        continue;
      double take = property.required ? kRequiredKey : kOptionalKey;
      if (known) take = property.name == again ? kSameKeysAgain : (1 - kSameKeysAgain) * take;
      if (earlier != nullptr) {
        const double before = property.name == KeyBehind(*earlier, frame) ? 1 : 0;
        take += kTrustInEarlierKeys * (before - take);
      }
      next.emplace_back(property.name, open * take);
      open *= 1 - take;
    }
    const bool behind_value = json_.anchor() == Anchor::kValue;
    const std::string close =
        (json_.anchor() == Anchor::kOpen ? std::string() : CloseBreak()) + "}";
    if (may_close) Add(close, open, PieceKind::kKey);
    if (behind_value) {
      Add(",", 1 - open, PieceKind::kKey);
      return;
    }
    const double given = may_close ? 1 : std::max(1 - open, 1e-9);
    for (const auto& [name, probability] : next)
      Add(Key(name), kSure * probability / given, PieceKind::kKey);
    if (pieces_.empty()) KeysOfOtherTools(frame);
    Renormalise();
  }

  // The model writes a key that the tool doesn't have: most likely one of another tool.
  void KeysOfOtherTools(const JsonFrame& frame) {
    std::vector<std::string_view> names;
    for (const Tool& tool : sources_.catalog->tools) {
      for (const Property& property : sources_.catalog->node(tool.parameters).properties) {
        const auto is_name = [&](std::string_view name) { return name == property.name; };
        if (names.size() < kMaxNames && Key(property.name).starts_with(typed_) &&
            std::none_of(names.begin(), names.end(), is_name) &&
            std::none_of(frame.keys.begin(), frame.keys.end(), is_name)) {
          names.push_back(property.name);
        }
      }
    }
    for (const std::string_view name : names)
      Add(Key(name), kOtherKey / static_cast<double>(names.size()), PieceKind::kKey);
  }

  // The last complete call of the same tool, null if there is none.
  const AnswerCall* LastCall() const {
    const auto& calls = answer_.calls();
    for (size_t i = calls.size() - 1; i-- > 0;) {
      if (calls[i].name == calls.back().name) return &calls[i];
    }
    return nullptr;
  }

  // The tool's last call in earlier answers, null if there is none.
  const AnswerCall* EarlierCall() const {
    return sources_.recall == nullptr ? nullptr
                                      : sources_.recall->LastCall(answer_.calls().back().name);
  }

  // The field that followed this frame's last key in `call`; "" where the call ended there.
  static std::string_view KeyBehind(const AnswerCall& call, const JsonFrame& frame) {
    std::vector<std::string_view> keys;
    for (const AnswerField& field : call.fields) {
      const std::string_view key =
          std::string_view(field.path).substr(0, field.path.find_first_of(".["));
      if (keys.empty() || keys.back() != key) keys.push_back(key);
    }
    if (frame.keys.empty()) return keys.empty() ? std::string_view() : keys.front();
    const auto found = std::find(keys.begin(), keys.end(), frame.key());
    return found == keys.end() || found + 1 == keys.end() ? std::string_view() : *(found + 1);
  }

  void ListGoesOn() {
    const auto& calls = answer_.calls();
    const size_t behind = sources_.source->WordAt(reached_ == 0 ? 0 : reached_ - 1);
    const auto& words = sources_.source->words();
    bool listed = false;  // another item stands right behind the last one
    if (!calls.back().fields.empty() && behind + 1 < words.size()) {
      const std::string_view text = sources_.source->text();
      const std::string_view gap =
          text.substr(words[behind].end, words[behind + 1].begin - words[behind].end);
      const std::string_view next =
          text.substr(words[behind + 1].begin, words[behind + 1].end - words[behind + 1].begin);
      listed = gap.find(',') != std::string_view::npos || next == "and" || next == "or";
    }
    const double on = listed ? kListGoesOn : 1 - kListEnds;
    Add(",", on, PieceKind::kKey);
    Add(CloseBreak() + "]", 1 - on, PieceKind::kKey);
  }

  // What a SIDE branch has for the argument of this call whose key is written `key`; null: nothing.
  const PreparedValue* PreparedFor(std::string_view key) const {
    const int tool = sources_.catalog->Find(answer_.calls().back().name);
    for (const PreparedValue& value : sources_.prepared) {
      if (value.call == answer_.current_call() && value.tool == tool &&
          EscapeJson(value.field) == key)
        return &value;
    }
    return nullptr;
  }

  // The same for the argument that the query asks for, if it goes on from what was typed.
  const PreparedValue* PreparedFor(const ValueQuery& query) const {
    if (!answer_.among_arguments()) return nullptr;
    const PreparedValue* value = PreparedFor(query.path);
    const bool goes_on = value != nullptr && value->json.starts_with(query.typed) &&
                         (value->complete || value->json.size() > query.typed.size());
    return goes_on ? value : nullptr;
  }

  // What a SIDE branch has ready goes first: whole, or as what the others most likely start with.
  std::vector<ValueCandidate> Candidates(const ValueQuery& query,
                                         const PreparedValue* prepared) const {
    std::vector<ValueCandidate> candidates = ValueCandidates(*sources_.source, query);
    if (prepared == nullptr) return candidates;
    const auto fits = [&](const ValueCandidate& candidate) {
      return prepared->complete ? candidate.json == prepared->json
                                : candidate.json.starts_with(prepared->json);
    };
    double fitting = 0;
    for (const ValueCandidate& candidate : candidates) {
      if (fits(candidate)) fitting += candidate.probability;
    }
    for (ValueCandidate& candidate : candidates)
      candidate.probability *= fits(candidate) ? kPreparedHolds / fitting : 1 - kPreparedHolds;
    if (fitting == 0) candidates.push_back({prepared->json, kPreparedHolds, !prepared->complete});
    return candidates;
  }

  // Inside of an argument whose value is a list or an object: the rest of what a SIDE branch has.
  void RestOfPrepared() {
    const JsonFrame& arguments = json_.frames()[answer_.arguments_depth()];
    const std::string_view begun = std::string_view(answer_.text()).substr(arguments.value_begin);
    const PreparedValue* value = PreparedFor(arguments.key());
    if (value == nullptr || value->json.size() <= begun.size() || !value->json.starts_with(begun))
      return;
    for (Piece& piece : pieces_) piece.probability *= 1 - kPreparedHolds;
    pieces_.push_back({value->json.substr(begun.size()), kPreparedHolds, PieceKind::kPrepared});
  }

  // A value behind the white space `gap`.
  void Value(const std::string& gap, double share) {
    const bool begun = typed_.size() > gap.size() ||
                       (!typed_.empty() && typed_.back() != ' ' && typed_.back() != '\n');
    if (begun && !typed_.starts_with(gap)) return;
    const SchemaNode* container = Container();
    const SchemaNode* schema =
        container == nullptr ? nullptr : Child(*container, json_.frames().back());
    if (schema != nullptr && schema->types.empty() && !schema->alternatives.empty())
      schema = Node(schema->alternatives[0]);
    const std::string path = answer_.argument_path();
    const ValueQuery query{.schema = schema,
                           .path = path,
                           .calls = answer_.calls(),
                           .reached = reached_,
                           .typed = begun ? typed_.substr(gap.size()) : std::string_view(),
                           .recall = sources_.recall};
    const PreparedValue* prepared = PreparedFor(query);
    double sum = 0;
    for (const ValueCandidate& candidate : Candidates(query, prepared)) {
      sum += candidate.probability;
      const bool scalar = !candidate.open && !IsBracketed(candidate.json);
      const bool side = prepared != nullptr && candidate.json == prepared->json;
      Add(gap + candidate.json, share * candidate.probability,
          side                 ? PieceKind::kPrepared
          : candidate.recalled ? PieceKind::kRecall
                               : PieceKind::kValue,
          scalar);
    }
    // A value that nobody guessed may be complete as it stands.
    if (json_.in_string() && query.typed.size() > 1 && typed_.back() != '\\')
      Add(std::string(typed_) + '"', kUnknownEnds * (1 - sum), PieceKind::kValue);
    if (json_.in_scalar())
      Add(std::string(typed_), kUnknownEnds * (1 - sum), PieceKind::kValue, true);
  }

  const DraftSources& sources_;
  const Answer& answer_;
  const JsonCursor& json_;
  const std::string_view typed_;
  const size_t reached_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::string_view Name(PieceKind kind) {
  switch (kind) {
    case PieceKind::kScaffold:
      return "scaffold";
    case PieceKind::kName:
      return "name";
    case PieceKind::kKey:
      return "key";
    case PieceKind::kValue:
      return "value";
    case PieceKind::kPrepared:
      return "prepared";
    case PieceKind::kCopy:
      return "copy";
    case PieceKind::kRecall:
      return "recall";
    case PieceKind::kRecycled:
      return "recycled";
    case PieceKind::kHead:
      return "head";
  }
  return "";
}

DraftPoint StartAt(const Answer& answer, const SourceText& source) {
  return {answer, ReachedBy(source, answer.calls())};
}

void Follow(const Piece& piece, const SourceText& source, DraftPoint* point) {
  point->answer.Feed(piece.text);
  if (piece.ends_scalar) point->answer.FinishScalar();
  const auto& calls = point->answer.calls();
  const bool value = piece.kind == PieceKind::kValue || piece.kind == PieceKind::kPrepared ||
                     piece.kind == PieceKind::kRecall;
  if (value && !calls.empty() && !calls.back().fields.empty())
    point->reached = Advance(source, point->reached, calls.back().fields.back().raw);
}

std::vector<Piece> NextPieces(const DraftSources& sources, const Answer& answer, size_t reached) {
  return Automaton(sources, answer, reached).Next();
}

}  // namespace schemafill
