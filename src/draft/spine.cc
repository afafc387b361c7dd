#include "draft/spine.h"

#include <algorithm>

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
        point_(StartAt(answer, *sources.source)) {}

  Spine Walk() {
    while (spine_.marks.size() < wanted_.size() && spine_.text.size() < kMaxText) {
      const std::vector<Piece> pieces = NextPieces(sources_, answer(), point_.reached);
      const Piece* piece = Choose(pieces);
      if (piece == nullptr || piece->text.empty()) break;
      Take(*piece);
    }
    return std::move(spine_);
  }

 private:
  const Answer& answer() const { return point_.answer; }

  // The group that stands for the call in which the text is, null without one.
  const ScheduledGroup* Group() const {
    const int group = schedule_.GroupOf(answer().current_call());
    return group < 0 ? nullptr : &schedule_.groups()[static_cast<size_t>(group)];
  }

  // Whether a wanted slot lies in this call or behind it.
  bool Wants(bool in_this_call) const {
    const int call = answer().current_call();
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const ActiveField& slot) {
      const int at = schedule_.group(slot).call;
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
    if (piece.kind == PieceKind::kName) {
      const ScheduledGroup* group = Group();
      if (group == nullptr) return false;
      Answer next = answer();
      next.Feed(piece.text);
      return next.calls().back().name ==
             sources_.catalog->tools[static_cast<size_t>(group->tool)].name;
    }
    if (piece.kind != PieceKind::kKey || answer().json().anchor() != Anchor::kValue) return false;
    const bool goes_on = piece.text == ",";
    if (answer().place() == Place::kCalls) return goes_on == Wants(/*in_this_call=*/false);
    return answer().among_arguments() && goes_on == Wants(/*in_this_call=*/true);
  }

  void Take(const Piece& piece) {
    spine_.text += piece.text;
    Follow(piece, *sources_.source, &point_);
    if (answer().among_arguments() && answer().json().anchor() == Anchor::kColon &&
        answer().json().typed().empty()) {
      Mark(answer().argument_path());
    }
  }

  // `key` as it is written.
  void Mark(const std::string& key) {
    for (const ActiveField& slot : wanted_) {
      if (schedule_.group(slot).call == answer().current_call() && !Marked(slot) &&
          EscapeJson(schedule_.field(slot).name) == key) {
        spine_.marks.push_back({slot, spine_.text.size()});
      }
    }
  }

  const DraftSources& sources_;
  const Schedule& schedule_;
  const std::vector<ActiveField>& wanted_;
  DraftPoint point_;
  Spine spine_;
};

}  // namespace

Spine GuessSpine(const DraftSources& sources, const Answer& answer, const Schedule& schedule,
                 const std::vector<ActiveField>& wanted) {
  return Walker(sources, answer, schedule, wanted).Walk();
}

}  // namespace schemafill
