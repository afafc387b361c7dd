#include "model/scripted/scripted_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace schemafill {
namespace {

// What a hash is for, so that equal inputs of different uses don't correlate.
constexpr uint64_t kChoiceSalt = 0x63686f69;
constexpr uint64_t kNoiseSalt = 0x6e6f6973;
constexpr uint64_t kFeatureSalt = 0x66656174;
constexpr uint64_t kBrokenSalt = 0x62726f6b;

constexpr float kChosenLogit = 10;
constexpr double kNoise = 6;

uint64_t Extend(uint64_t history, Token token) {
  return MixBits(history ^ MixBits(static_cast<uint64_t>(Index(token)) + 1));
}

}  // namespace

ScriptedModel::ScriptedModel(std::shared_ptr<const ScriptedTokenizer> tokenizer,
                             const ScriptedOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {
  Check(options.max_sequences >= 1 && options.max_sequences <= 256,
        "max_sequences of a scripted model");
  info_.name = info_.architecture = "scripted";
  info_.weights = "table";
  info_.device = "none";
  info_.vocab_size = tokenizer_->vocab_size();
  info_.embedding_size = options.embedding_size;
  info_.layers = options.layers;
  info_.context_size = options.context_size;
  info_.max_rows = options.max_rows;
  info_.max_sequences = options.max_sequences;
  info_.cell_bytes = sizeof(Cell);
  info_.guarantee = options.guarantee;
  info_.guarantee_reason = "a table";
}

void ScriptedModel::Script(const std::vector<Token>& prompt, const std::vector<Token>& answer) {
  std::vector<Token>& script = scripts_[prompt] = answer;
  script.push_back(tokenizer_->end_token());
}

const ModelInfo& ScriptedModel::info() const { return info_; }
const Tokenizer& ScriptedModel::tokenizer() const { return *tokenizer_; }
int ScriptedModel::forwards() const { return forwards_; }
const std::string& ScriptedModel::violation() const { return violation_; }

void ScriptedModel::Forward(std::span<const Row> rows) {
  ++forwards_;
  outputs_.clear();
  const std::vector<Stored> stored = Store(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const History history = Visible(stored[i].cell, rows[i].sequences.front());
    cells_[stored[i].cell].state = Compute(history, stored[i].continues);
    outputs_.push_back(MakeOutput(history, rows[i].wants_logits));
  }
}

void ScriptedModel::Prefill(std::span<const Token> tokens, int first, SequenceId sequence) {
  std::vector<Row> rows;
  for (const Token token : tokens) {
    rows.push_back({.token = token,
                    .position = first + static_cast<int>(rows.size()),
                    .sequences = {sequence}});
  }
  outputs_.clear();
  for (size_t begin = 0; begin < rows.size(); begin += options_.max_rows) {
    const size_t count = std::min(rows.size() - begin, static_cast<size_t>(options_.max_rows));
    for (const Stored& stored : Store(std::span(rows).subspan(begin, count))) {
      const History history = Visible(stored.cell, sequence);
      cells_[stored.cell].state = Compute(history, stored.continues);
      outputs_.push_back(MakeOutput(history, /*wants_logits=*/false));
    }
  }
}

std::span<const float> ScriptedModel::Logits(int row) const {
  Check(row >= 0 && row < static_cast<int>(outputs_.size()),
        "logits of a row that the last forward didn't have");
  Check(!outputs_[row].logits.empty(), "logits of a row that didn't want any");
  return outputs_[row].logits;
}

void ScriptedModel::SetFeatureLayers(std::span<const int> layers) {
  for (const int layer : layers) {
    Check(layer >= 0 && layer < options_.layers, "features of a layer that isn't there");
  }
  feature_layers_.assign(layers.begin(), layers.end());
}

std::span<const float> ScriptedModel::Features(int layer, int row) const {
  Check(row >= 0 && row < static_cast<int>(outputs_.size()),
        "features of a row that the last forward didn't have");
  const auto found = outputs_[row].features.find(layer);
  Check(found != outputs_[row].features.end(), "features of a layer that wasn't asked for");
  return found->second;
}

void ScriptedModel::Share(SequenceId from, SequenceId to, int first, int last) {
  Check(Known(from) && Known(to), "sharing an unknown sequence");
  ShareCells(cells_, from, to, first, last);
}

void ScriptedModel::Drop(SequenceId sequence, int first, int last) {
  Check(Known(sequence), "dropping an unknown sequence");
  DropCells(cells_, sequence, first, last);
}

int ScriptedModel::cells_used() const {
  return static_cast<int>(
      std::ranges::count_if(cells_, [](const Cell& cell) { return cell.labels.any(); }));
}

std::string ScriptedModel::DumpCells() const {
  std::vector<std::string> parts;
  size_t used = 0;  // parts up to the last used cell
  for (const Cell& cell : cells_) {
    std::vector<int> labels;
    for (int i = 0; i < options_.max_sequences; ++i) {
      if (cell.labels[i]) labels.push_back(i);
    }
    parts.push_back(labels.empty() ? "."
                                   : fmt::format("{}@{}{{{}}}", tokenizer_->Piece(cell.token),
                                                 cell.position, fmt::join(labels, ",")));
    if (!labels.empty()) used = parts.size();
  }
  parts.resize(used);
  return fmt::format("{}", fmt::join(parts, " "));
}

void ScriptedModel::Violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

bool ScriptedModel::Known(SequenceId sequence) const {
  return Index(sequence) >= 0 && Index(sequence) < options_.max_sequences;
}

void ScriptedModel::CheckFits(std::span<const Row> rows) {
  const int count = static_cast<int>(rows.size());
  const int free = options_.context_size - cells_used();
  if (count < 1 || count > options_.max_rows) Violate(fmt::format("a forward of {} rows", count));
  if (count > free) Violate(fmt::format("{} rows, {} free cells", count, free));
  bool known = true;
  for (const Row& row : rows) {
    known = known && !row.sequences.empty();
    known = known && std::ranges::all_of(row.sequences, [this](SequenceId s) { return Known(s); });
    known = known && Index(row.token) >= 0 && Index(row.token) < info_.vocab_size;
  }
  if (!known) Violate("a row with an unknown sequence or token, or without a sequence");
  Check(known && count >= 1 && count <= options_.max_rows && count <= free,
        "a forward that can't be stored");
}

std::vector<ScriptedModel::Stored> ScriptedModel::Store(std::span<const Row> rows) {
  CheckFits(rows);
  std::vector<Stored> stored;
  for (const Row& row : rows) {
    const bool continues = Continues(row);
    stored.push_back({.cell = FreeCell(), .continues = continues});
    Cell& cell = cells_[stored.back().cell];
    cell = {.token = row.token, .position = row.position, .state = 0, .labels = {}};
    for (const SequenceId sequence : row.sequences) cell.labels.set(Index(sequence));
  }
  return stored;
}

// libllama refuses a batch where this doesn't hold.
bool ScriptedModel::Continues(const Row& row) {
  const int end = End(row.sequences.front());
  for (const SequenceId sequence : row.sequences) {
    if (End(sequence) == end) continue;
    Violate(fmt::format("position {}: sequences {} and {} are coupled, but end at {} and {}",
                        row.position, Index(row.sequences.front()), Index(sequence), end,
                        End(sequence)));
    return false;
  }
  if (row.position == end) return true;
  Violate(fmt::format("position {} doesn't continue sequence {}, which ends at {}", row.position,
                      Index(row.sequences.front()), end));
  return false;
}

// The position behind the last cell of `sequence`.
int ScriptedModel::End(SequenceId sequence) const {
  int end = 0;
  for (const Cell& cell : cells_) {
    if (cell.labels[Index(sequence)]) end = std::max(end, cell.position + 1);
  }
  return end;
}

int ScriptedModel::FreeCell() {
  const auto free =
      std::ranges::find_if(cells_, [](const Cell& cell) { return cell.labels.none(); });
  const int index = static_cast<int>(free - cells_.begin());
  if (free == cells_.end()) cells_.emplace_back();
  return index;
}

ScriptedModel::History ScriptedModel::Visible(int cell, SequenceId sequence) const {
  History history;
  for (const Cell& other : cells_) {
    const bool earlier = other.position <= cells_[cell].position;
    if (earlier && other.labels[Index(sequence)]) history.push_back(&other);
  }
  return history;
}

// Empty if the history, its last cell aside, is what plain decoding would have left behind.
std::string ScriptedModel::Fault(const History& history) const {
  uint64_t plain = options_.seed;
  for (int i = 0; i < static_cast<int>(history.size()); ++i) {
    const Cell& cell = *history[i];
    if (cell.position < i) {
      return fmt::format("position {} repeated or out of order", cell.position);
    }
    if (cell.position > i) {
      const bool late =
          std::ranges::any_of(history, [i](const Cell* other) { return other->position == i; });
      return late ? fmt::format("position {} out of order", i)
                  : fmt::format("a gap at position {}", i);
    }
    plain = Extend(plain, cell.token);
    const bool own = i + 1 == static_cast<int>(history.size());
    if (!own && cell.state != plain) {
      return fmt::format("position {} was computed from another history", i);
    }
  }
  return "";
}

// The state of the last cell of `history`: the hash of its tokens when every rule holds, another
// number otherwise.
uint64_t ScriptedModel::Compute(const History& history, bool continues) {
  const std::string fault = Fault(history);
  if (!fault.empty()) Violate(fmt::format("history of {} cells: {}", history.size(), fault));
  if (fault.empty() && continues) return PlainHash(history);
  uint64_t broken = options_.seed ^ kBrokenSalt;
  for (const Cell* cell : history) {
    broken = Extend(MixBits(broken ^ cell->state), cell->token) + cell->position;
  }
  return MixBits(broken);
}

uint64_t ScriptedModel::PlainHash(const History& history) const {
  uint64_t plain = options_.seed;
  for (const Cell* cell : history) plain = Extend(plain, cell->token);
  return plain;
}

ScriptedModel::Output ScriptedModel::MakeOutput(const History& history, bool wants_logits) const {
  const uint64_t state = history.back()->state;
  Output output;
  for (const int layer : feature_layers_) {
    std::vector<float>& feature = output.features[layer];
    for (int i = 0; i < options_.embedding_size; ++i) {
      const CoinKey key{.seed = state ^ kFeatureSalt,
                        .stream = static_cast<uint64_t>(layer),
                        .position = static_cast<uint64_t>(i)};
      feature.push_back(static_cast<float>(2 * Coin(key) - 1));
    }
  }
  if (!wants_logits) return output;
  for (int token = 0; token < info_.vocab_size; ++token) {
    const CoinKey key{
        .seed = state, .stream = kNoiseSalt, .position = static_cast<uint64_t>(token)};
    output.logits.push_back(static_cast<float>(kNoise * Coin(key)));
  }
  output.logits[Index(Next(history))] = kChosenLogit;
  return output;
}

Token ScriptedModel::Next(const History& history) const {
  if (const Token* scripted = ScriptedNext(history)) return *scripted;
  const std::vector<Token>& plausible = tokenizer_->plausible();
  return plausible[MixBits(history.back()->state ^ kChoiceSalt) % plausible.size()];
}

// Null off the script, and for a history that broke a rule.
const Token* ScriptedModel::ScriptedNext(const History& history) const {
  if (history.back()->state != PlainHash(history)) return nullptr;
  std::vector<Token> tokens;
  for (const Cell* cell : history) tokens.push_back(cell->token);
  const Token* next = nullptr;
  size_t longest = 0;
  for (const auto& [prompt, answer] : scripts_) {
    if (prompt.size() > tokens.size() || prompt.size() < longest) continue;
    const size_t given = tokens.size() - prompt.size();
    if (given >= answer.size()) continue;
    const auto border = tokens.begin() + static_cast<ptrdiff_t>(prompt.size());
    if (!std::equal(tokens.begin(), border, prompt.begin())) continue;
    if (!std::equal(border, tokens.end(), answer.begin())) continue;
    next = &answer[given];
    longest = prompt.size();
  }
  return next;
}

}  // namespace schemafill
