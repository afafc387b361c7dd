#include "draft/side.h"

#include <algorithm>

#include "base/utf8.h"
#include "draft/call_text.h"
#include "draft/encode.h"
#include "draft/values.h"

namespace schemafill {
namespace {

constexpr size_t kMaxDraftText = 80;  // characters of one draft
constexpr double kMinPiece = 0.02;    // a less likely guess is not worth a row

// Whether calls may still come: not in prose, nor in what no format explains.
bool MayHoldCalls(const Answer& answer) {
  const bool blank = answer.text().find_first_not_of(" \t\r\n") == std::string::npos;
  return blank || (answer.place() != Place::kProse && answer.place() != Place::kElsewhere);
}

}  // namespace

bool SideBranches::Has(const ActiveField& slot) const {
  return std::any_of(branches_.begin(), branches_.end(),
                     [&](const Branch& branch) { return branch.slot == slot; });
}

SideBranches::Branch SideBranches::BeginBehindHint(const MainState& main, const Schedule& schedule,
                                                   const ActiveField& slot) const {
  const ScheduledGroup& group = schedule.group(slot);
  const std::string text = SlotHeader(sources_.catalog->tools[static_cast<size_t>(group.tool)].name,
                                      schedule.field(slot).name, main.answer->json().spelling());
  Branch branch;
  branch.slot = slot;
  branch.fork = main.prompt_tokens;
  branch.answer.Feed(text);
  branch.tokens =
      EncodeBehind(tokenizer_, main.tokens.first(static_cast<size_t>(main.prompt_tokens)),
                   CallHint(group.call) + text);
  branch.prefix = branch.tokens.size();
  return branch;
}

SideBranches::Branch SideBranches::BeginBehindGuess(const MainState& main, const Spine& spine,
                                                    const SpineMark& mark) const {
  const std::string text = spine.text.substr(0, mark.end);
  Branch branch;
  branch.slot = mark.slot;
  branch.fork = static_cast<int>(main.tokens.size());
  branch.answer = *main.answer;
  branch.answer.Feed(text);
  branch.tokens = EncodeBehind(tokenizer_, main.tokens, text);
  branch.prefix = branch.tokens.size();
  return branch;
}

// Branches for the active fields that have none. Slots that no guess leads to, because a value in
// front of them can't be guessed, stand behind the hint.
std::vector<SideBranches::Branch> SideBranches::Begin(
    const MainState& main, const Schedule& schedule,
    std::span<const PreparedValue> prepared) const {
  std::vector<ActiveField> wanted;
  for (const ActiveField& slot : schedule.Active()) {
    if (!Has(slot)) wanted.push_back(slot);
  }
  std::vector<Branch> begun;
  if (wanted.empty() || !MayHoldCalls(*main.answer)) return begun;
  Spine spine;
  if (options_.context == SideContext::kGuess) {
    DraftSources sources = sources_;
    sources.prepared = prepared;
    spine = GuessSpine(sources, *main.answer, schedule, wanted);
  }
  for (const SpineMark& mark : spine.marks) begun.push_back(BeginBehindGuess(main, spine, mark));
  for (const ActiveField& slot : wanted) {
    if (std::none_of(spine.marks.begin(), spine.marks.end(),
                     [&](const SpineMark& mark) { return mark.slot == slot; })) {
      begun.push_back(BeginBehindHint(main, schedule, slot));
    }
  }
  return begun;
}

// How far into the source the values in front of this slot go, from where MAIN's go.
size_t SideBranches::Reached(size_t reached, const Schedule& schedule,
                             const ActiveField& slot) const {
  const auto place = [&](const ActiveField& at) {
    return std::pair(schedule.group(at).call, at.field);
  };
  for (const Branch& branch : branches_) {
    if (place(branch.slot) < place(slot) && branch.value.complete())
      reached = Advance(*sources_.source, reached, branch.value.json());
  }
  return reached;
}

std::vector<HeadBranch> SideBranches::AsksHead() const {
  std::vector<HeadBranch> asks;
  for (int i = 0; i < static_cast<int>(branches_.size()); ++i) {
    const Branch& branch = branches_[static_cast<size_t>(i)];
    if (branch.drafting && branch.stored > 0) asks.push_back({i, branch.fork, branch.tokens});
  }
  return asks;
}

// The likeliest continuation of the branch's value, trimmed at the literal's boundary. The first
// token is the head's where that is surer of it than the pieces are.
std::vector<Token> SideBranches::Draft(const Branch& branch, size_t reached,
                                       const HeadGuess* guess) const {
  Answer answer = branch.answer;
  Literal value = branch.value;
  std::string text;
  while (!value.complete() && text.size() < kMaxDraftText) {
    std::vector<Piece> pieces = NextPieces(sources_, answer, reached);
    if (guess != nullptr) {
      const std::string_view piece = tokenizer_.Piece(guess->token);
      if (!piece.empty())
        pieces.push_back({std::string(piece), guess->probability, PieceKind::kHead});
      guess = nullptr;
    }
    const auto best = std::max_element(
        pieces.begin(), pieces.end(),
        [](const Piece& a, const Piece& b) { return a.probability < b.probability; });
    if (best == pieces.end() || best->probability < kMinPiece) break;
    text += best->text.substr(0, value.Feed(best->text));
    answer.Feed(best->text);
    if (best->ends_scalar) value.Finish();
    if (best->text.empty()) break;
  }
  std::vector<Token> tokens = EncodeBehind(tokenizer_, branch.tokens, text);
  // The target writes a closing quote or bracket together with what it goes on with.
  if (!tokens.empty() && value.complete() && IsBracketed(value.json())) tokens.pop_back();
  if (tokens.size() > static_cast<size_t>(options_.max_draft))
    tokens.resize(static_cast<size_t>(options_.max_draft));
  return tokens;
}

std::vector<SideDraft> SideBranches::Propose(const MainState& main, const Schedule& schedule,
                                             std::span<const PreparedValue> prepared, int max_rows,
                                             int max_new, const std::map<int, HeadGuess>& guesses) {
  std::vector<SideDraft> drafts;
  const size_t reached = ReachedBy(*sources_.source, main.answer->calls());
  int rows = 0;
  int under_way = 0;
  const auto ask = [&](int number, int shared) {
    const Branch& branch = branches_[static_cast<size_t>(number)];
    SideDraft draft{number, branch.fork, branch.stored == 0, {}, {}};
    draft.context.assign(branch.tokens.begin() + static_cast<std::ptrdiff_t>(branch.stored),
                         branch.tokens.end());
    const auto guess = guesses.find(number);
    draft.draft = Draft(branch, Reached(reached, schedule, branch.slot),
                        guess == guesses.end() ? nullptr : &guess->second);
    const int more = static_cast<int>(draft.context.size() + draft.draft.size()) - shared;
    if (rows + more > max_rows) return false;
    rows += more;
    ++under_way;
    drafts.push_back(std::move(draft));
    return true;
  };
  for (int i = 0; i < static_cast<int>(branches_.size()); ++i) {
    if (branches_[static_cast<size_t>(i)].drafting) ask(i, 0);
  }
  max_new = std::min(max_new, options_.max_branches - under_way);
  if (max_new <= 0) return drafts;
  for (Branch& branch : Begin(main, schedule, prepared)) {
    if (max_new-- == 0) break;
    // Branches that begin together share their first rows.
    int shared = 0;
    for (const SideDraft& other : drafts) {
      if (!other.begins || other.fork != branch.fork) continue;
      shared = std::max(shared, CommonPrefix(other.context, branch.tokens));
    }
    branches_.push_back(std::move(branch));
    if (ask(static_cast<int>(branches_.size()) - 1, shared)) continue;
    branches_.pop_back();
    break;
  }
  return drafts;
}

std::vector<int> SideBranches::Take(std::span<const SideVerdict> verdicts,
                                    std::span<const SideDraft> drafts) {
  std::vector<int> done;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const SideVerdict& verdict = verdicts[i];
    Branch& branch = branches_[static_cast<size_t>(verdict.branch)];
    std::vector<Token> news(drafts[i].draft.begin(), drafts[i].draft.begin() + verdict.accepted);
    branch.stored = branch.tokens.size() + news.size();
    news.push_back(verdict.correction);
    for (const Token token : news) {
      branch.tokens.push_back(token);
      branch.answer.Feed(tokenizer_.Piece(token));
      branch.value.Feed(tokenizer_.Piece(token));
      if (tokenizer_.IsEnd(token)) branch.value.Finish();
    }
    const size_t length = branch.tokens.size() - branch.prefix;
    const bool over =
        length > static_cast<size_t>(options_.max_value) || tokenizer_.IsEnd(verdict.correction);
    if (!branch.value.complete() && !branch.value.broken() && !over) continue;
    branch.drafting = false;
    done.push_back(verdict.branch);
  }
  return done;
}

std::vector<int> SideBranches::Retire(const Schedule& schedule) {
  std::vector<int> ended;
  for (int i = 0; i < static_cast<int>(branches_.size()); ++i) {
    Branch& branch = branches_[static_cast<size_t>(i)];
    if (!branch.drafting || schedule.field(branch.slot).state == FieldState::kOpen) continue;
    branch.drafting = false;
    ended.push_back(i);
  }
  return ended;
}

SideView SideBranches::View(int number, const Schedule& schedule) const {
  const Branch& branch = branches_[static_cast<size_t>(number)];
  const ScheduledGroup& group = schedule.group(branch.slot);
  const std::string_view json = branch.value.json();
  return {branch.slot.group,
          {group.call, group.tool, schedule.field(branch.slot).name,
           std::string(json.substr(0, WholeCharacters(json))), branch.value.complete()}};
}

std::vector<PreparedValue> SideBranches::Prepared(const Schedule& schedule) const {
  std::vector<PreparedValue> prepared;
  for (int i = 0; i < static_cast<int>(branches_.size()); ++i) {
    const Branch& branch = branches_[static_cast<size_t>(i)];
    if (schedule.field(branch.slot).state == FieldState::kRetired || branch.value.broken())
      continue;
    SideView view = View(i, schedule);
    if (!view.value.json.empty()) prepared.push_back(std::move(view.value));
  }
  return prepared;
}

}  // namespace schemafill
