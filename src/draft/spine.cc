#include "draft/spine.h"

#include <algorithm>

#include "draft/values.h"
#include "json/json.h"

namespace schemafill {
namespace {

constexpr size_t kMaxText = 800;  // characters; longer guesses are seldom right to their end

class Walker {
 public:
  Walker(const DraftSources& sources, const Answer& answer, const Schedule& schedule,
         const std::vector<ActiveField>& wanted)
      : sources_(sources),
        schedule_(schedule),
        wanted_(wanted),
        answer_(answer),
        reached_(ReachedBy(*sources.source, answer.calls())) {}

  Spine Walk() {
    while (spine_.marks.size() < wanted_.size() && spine_.text.size() < kMaxText) {
      const std::vector<Piece> pieces = NextPieces(sources_, answer_, reached_);
      const Piece* piece = Choose(pieces);
      if (piece == nullptr || piece->text.empty()) break;
      Take(*piece);
    }
    return std::move(spine_);
  }

 private:
  // The group that stands for the call in which the text is, null without one.
  const ScheduledGroup* Group() const {
    const int group = schedule_.GroupOf(answer_.current_call());
    return group < 0 ? nullptr : &schedule_.groups()[static_cast<size_t>(group)];
  }

  // Whether a wanted slot lies in this call or behind it.
  bool Wants(bool in_this_call) const {
    const int call = answer_.current_call();
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const ActiveField& slot) {
      const int at = schedule_.groups()[static_cast<size_t>(slot.group)].call;
      return !Marked(slot) && (in_this_call ? at == call : at > call);
    });
  }

  bool Marked(const ActiveField& slot) const {
    return std::any_of(spine_.marks.begin(), spine_.marks.end(),
                       [&](const SpineMark& mark) { return mark.slot == slot; });
  }

  // The likeliest piece, but where the text decides which slot comes, the one that leads to those
  // wanted.
  const Piece* Choose(const std::vector<Piece>& pieces) const {
    const Piece* best = nullptr;
    double best_score = 0;
    for (const Piece& piece : pieces) {
      const double score = piece.probability + (Leads(piece) ? 1 : 0);
      if (score <= best_score) continue;
      best_score = score;
      best = &piece;
    }
    return best;
  }

  bool Leads(const Piece& piece) const {
    const Place place = answer_.place();
    if (piece.kind == PieceKind::kName) {
      const ScheduledGroup* group = Group();
      if (group == nullptr) return false;
      Answer next = answer_;
      next.Feed(piece.text);
      return next.calls().back().name ==
             sources_.catalog->tools[static_cast<size_t>(group->tool)].name;
    }
    if (piece.kind != PieceKind::kKey || answer_.json().anchor() != Anchor::kValue) return false;
    const bool goes_on = piece.text == ",";
    if (place == Place::kCalls) return goes_on == Wants(/*in_this_call=*/false);
    const bool in_arguments = place == Place::kArguments &&
                              answer_.json().frames().size() == answer_.arguments_depth() + 1;
    return in_arguments && goes_on == Wants(/*in_this_call=*/true);
  }

  void Take(const Piece& piece) {
    answer_.Feed(piece.text);
    spine_.text += piece.text;
    if (piece.ends_scalar) answer_.FinishScalar();
    const auto& calls = answer_.calls();
    const bool value = piece.kind == PieceKind::kValue || piece.kind == PieceKind::kPrepared;
    if (value && !calls.empty() && !calls.back().fields.empty())
      reached_ = Advance(*sources_.source, reached_, calls.back().fields.back().raw);
    if (answer_.place() != Place::kArguments || answer_.json().anchor() != Anchor::kColon ||
        answer_.json().frames().size() != answer_.arguments_depth() + 1 ||
        !answer_.json().typed().empty()) {
      return;
    }
    Mark(answer_.argument_path());
  }

  // `key` as it is written.
  void Mark(const std::string& key) {
    for (const ActiveField& slot : wanted_) {
      const ScheduledGroup& group = schedule_.groups()[static_cast<size_t>(slot.group)];
      if (group.call != answer_.current_call() || Marked(slot) ||
          EscapeJson(group.fields[static_cast<size_t>(slot.field)].name) != key) {
        continue;
      }
      spine_.marks.push_back({slot, spine_.text.size()});
    }
  }

  const DraftSources& sources_;
  const Schedule& schedule_;
  const std::vector<ActiveField>& wanted_;
  Answer answer_;
  size_t reached_;
  Spine spine_;
};

}  // namespace

Spine GuessSpine(const DraftSources& sources, const Answer& answer, const Schedule& schedule,
                 const std::vector<ActiveField>& wanted) {
  return Walker(sources, answer, schedule, wanted).Walk();
}

}  // namespace schemafill
