// What may come next in an answer, as text: the automaton behind scaffold and slots. From where the
// answer stands it names the next piece (a bracket, a key, a tool's name, a value) with
// alternatives and their probabilities. Chained, the pieces form S0 v1 S1 ... vk Sk across fields
// and calls (paper 4.2).
//
// A piece is a hint. An answer that goes elsewhere (prose, other keys, other tools, broken JSON)
// gets no pieces or wrong ones, and verification follows the target. Tested by
// tests/draft/pieces_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"
#include "catalog/catalog.h"
#include "draft/prepared.h"
#include "draft/recall.h"
#include "draft/source.h"
#include "forecast/forecast.h"

namespace schemafill {

// A head's token as text, in a tree that hangs on the answer so far.
struct HeadText {
  int parent = -1;
  std::string text;  // empty: a token without text, which nothing goes on from
  double share = 0;  // of what the head expects behind its parent
};

// What a draft is made from. All const while it is made, all but `prepared` and `head` while a
// request runs.
struct DraftSources {
  const Catalog* catalog = nullptr;
  const Forecast* forecast = nullptr;
  const SourceText* source = nullptr;
  std::span<const PreparedValue> prepared{};  // by SIDE branches, before this round
  std::span<const HeadText> head{};           // parents first; empty without a head
  const Recall* recall = nullptr;             // of earlier answers; null: none
};

enum class PieceKind : uint8_t {
  kScaffold,  // text that the schema and the format fix
  kName,      // a tool's name
  kKey,       // which field comes next, or that none does
  kValue,     // a slot's value
  kPrepared,  // a slot's value that a SIDE branch has ready
  kCopy,      // what stood behind the same text before, where no schema guides
  kRecall,    // what an earlier answer had here
  kRecycled,  // what the target thought likely behind the same token before
  kHead,      // a draft head's proposal
};

std::string_view Name(PieceKind kind);

struct Piece {
  std::string
      text;  // what comes behind the text so far; empty: the number typed so far is complete
  double probability = 0;
  PieceKind kind = PieceKind::kScaffold;
  bool ends_scalar = false;  // the text ends a number or literal, whatever comes behind it
};

// Where a draft stands: the answer as it would then be, and how far into the source its values
// went.
struct DraftPoint {
  Answer answer;
  size_t reached = 0;
};

// The point in front of all drafts.
DraftPoint StartAt(const Answer& answer, const SourceText& source);
// Goes on by a piece.
void Follow(const Piece& piece, const SourceText& source, DraftPoint* point);

// Alternatives for the next piece; probabilities sum to at most 1. `reached` is how far into the
// source earlier values went.
std::vector<Piece> NextPieces(const DraftSources& sources, const Answer& answer, size_t reached);

}  // namespace schemafill
