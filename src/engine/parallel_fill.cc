#include "engine/parallel_fill.h"

#include <algorithm>

#include "base/check.h"
#include "draft/call_text.h"
#include "draft/encode.h"
#include "draft/literal.h"
#include "json/json.h"
#include "pack/side_rows.h"
#include "sample/sampler.h"

namespace schemafill {
namespace {

// A slot being filled.
struct Branch {
  size_t slot = 0;
  BranchId id{};
  std::vector<Token> pending;  // tokens without cells: the prefix, later the value's last token
  bool begins = true;          // it has no cells yet
  Literal value;
  int tokens = 0;  // of the value
  int limit = 0;   // most of them
};

class Filler {
 public:
  Filler(const Answer& skeleton, std::span<const Token> prompt, TargetModel& model, Arena& arena,
         const FillLimits& limits)
      : skeleton_(skeleton),
        prompt_(prompt),
        model_(model),
        arena_(arena),
        limits_(limits),
        slots_(FindSlots(skeleton)),
        values_(slots_.size()) {}

  Filled Run();

 private:
  bool Open();
  int Feed(const Branch& branch, int room, std::vector<SideDraft>* drafts) const;
  void Step();
  void Take(Branch* branch, Token token);
  std::vector<Token> Prefix(const FillSlot& slot) const;
  int SpareCells() const;
  std::string Text() const;

  const Answer& skeleton_;
  const std::span<const Token> prompt_;
  TargetModel& model_;
  Arena& arena_;
  const FillLimits limits_;
  const std::vector<FillSlot> slots_;
  std::vector<std::string> values_;  // by slot; empty: not filled
  std::vector<Branch> open_;
  size_t next_ = 0;  // the first slot that has not been opened
  Filled filled_;
};

// The last prompt token, which the arena leaves without a cell, stands first: slots that begin
// together share its row.
std::vector<Token> Filler::Prefix(const FillSlot& slot) const {
  const std::string text =
      CallHint(slot.call) + SlotHeader(slot.tool, slot.key, skeleton_.json().spelling());
  std::vector<Token> tokens = EncodeBehind(model_.tokenizer(), prompt_, text);
  tokens.insert(tokens.begin(), prompt_.back());
  return tokens;
}

// Cells that no open slot may still need.
int Filler::SpareCells() const {
  const ArenaUse& use = arena_.use();
  int spare = model_.info().context_size - use.prefix - use.verified - use.side - use.parked;
  for (const Branch& branch : open_)
    spare -= static_cast<int>(branch.pending.size()) + branch.limit - branch.tokens;
  return spare;
}

// Opens the next slot that there is room for. By itself a slot takes what room there is.
bool Filler::Open() {
  for (; next_ < slots_.size() && arena_.free_branches() > 0; ++next_) {
    Branch branch;
    branch.slot = next_;
    branch.pending = Prefix(slots_[next_]);
    // The last token of a value needs no cell.
    const int spare = SpareCells() - static_cast<int>(branch.pending.size()) + 1;
    if (spare < limits_.max_value && !open_.empty()) return false;
    branch.limit = std::min(limits_.max_value, spare);
    if (branch.limit < 1) continue;
    branch.id = arena_.Open(static_cast<int>(prompt_.size()) - 1);
    open_.push_back(std::move(branch));
    ++next_;
    return true;
  }
  return false;
}

// Asks for as many of the branch's pending tokens as fit in `room` more rows. Returns the rows that
// this takes.
int Filler::Feed(const Branch& branch, int room, std::vector<SideDraft>* drafts) const {
  int shared = 0;
  for (const SideDraft& other : *drafts) {
    if (branch.begins && other.begins)
      shared = std::max(shared, CommonPrefix(other.context, branch.pending));
  }
  const auto count = std::min(branch.pending.size(), static_cast<size_t>(shared + room));
  if (count == 0) return 0;
  const auto first = branch.pending.begin();
  drafts->push_back({.branch = static_cast<int>(branch.slot),
                     .fork = static_cast<int>(prompt_.size()) - 1,
                     .begins = branch.begins,
                     .context = {first, first + static_cast<std::ptrdiff_t>(count)},
                     .draft = {}});
  return static_cast<int>(count) - shared;
}

// One forward. Slots open as long as it has rows for more.
void Filler::Step() {
  std::vector<SideDraft> drafts;  // of the first branches, each with one
  int room = arena_.max_rows();
  for (size_t i = 0; i < open_.size() && room > 0; ++i) room -= Feed(open_[i], room, &drafts);
  while (room > 0 && Open()) room -= Feed(open_.back(), room, &drafts);
  if (drafts.empty()) return;

  std::vector<BranchId> ids;
  for (size_t i = 0; i < drafts.size(); ++i) ids.push_back(open_[i].id);
  const SideRows side = PackSide(drafts, ids);
  arena_.Extend(side.rows);
  ++filled_.forwards;
  filled_.rows += static_cast<int>(side.rows.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    Branch& branch = open_[i];
    const auto fed = static_cast<std::ptrdiff_t>(drafts[i].context.size());
    branch.pending.erase(branch.pending.begin(), branch.pending.begin() + fed);
    branch.begins = false;
    if (branch.pending.empty())
      Take(&branch, ChooseToken(model_.Logits(side.paths[i].back()), {.temperature = 0}, 0));
  }
  std::erase_if(open_, [&](const Branch& branch) {
    if (!branch.pending.empty()) return false;
    arena_.Close(branch.id);
    return true;
  });
}

// Takes the value's next token in. Behind the last one nothing is pending.
void Filler::Take(Branch* branch, Token token) {
  const Tokenizer& tokenizer = model_.tokenizer();
  branch->value.Feed(tokenizer.Piece(token));
  if (tokenizer.IsEnd(token)) branch->value.Finish();
  ++branch->tokens;
  if (branch->value.complete()) {
    values_[branch->slot] = branch->value.json();
  } else if (!branch->value.broken() && !tokenizer.IsEnd(token) && branch->tokens < branch->limit) {
    branch->pending = {token};
  }
}

std::string Filler::Text() const {
  std::string text;
  size_t at = 0;  // in the skeleton
  for (size_t i = 0; i < slots_.size(); ++i) {
    text += skeleton_.text().substr(at, slots_[i].begin - at);
    text += values_[i].empty() ? "null" : values_[i];
    at = slots_[i].end;
  }
  return text + skeleton_.text().substr(at);
}

Filled Filler::Run() {
  Check(slots_.empty() || arena_.free_branches() > 0, "parallel-fill on too few sequences");
  while (next_ < slots_.size() || !open_.empty()) {
    Step();
    // Cells of slots that closed while others were open are parked until now.
    if (open_.empty() && next_ < slots_.size()) arena_.Begin(prompt_);
  }
  filled_.text = Text();
  filled_.unfilled = static_cast<int>(
      std::ranges::count_if(values_, [](const std::string& value) { return value.empty(); }));
  return filled_;
}

}  // namespace

std::vector<FillSlot> FindSlots(const Answer& answer) {
  std::vector<FillSlot> slots;
  for (size_t i = 0; i < answer.calls().size(); ++i) {
    const AnswerCall& call = answer.calls()[i];
    const std::string_view arguments =
        std::string_view(answer.text())
            .substr(call.arguments_begin, call.arguments_end - call.arguments_begin);
    if (call.name.empty() || !arguments.starts_with('{')) continue;
    JsonCursor cursor;
    cursor.Feed(arguments);
    for (const JsonValue& value : cursor.TakeValues()) {
      if (value.depth != 1) continue;
      slots.push_back({.call = static_cast<int>(i),
                       .tool = call.name,
                       .key = UnescapeJson(value.path),
                       .begin = call.arguments_begin + value.begin,
                       .end = call.arguments_begin + value.end});
    }
  }
  // A bare call may hold its arguments behind a list of calls.
  std::ranges::sort(slots, {}, &FillSlot::begin);
  return slots;
}

Filled FillInParallel(const Answer& skeleton, std::span<const Token> prompt, TargetModel& model,
                      Arena& arena, const FillLimits& limits) {
  return Filler(skeleton, prompt, model, arena, limits).Run();
}

}  // namespace schemafill
