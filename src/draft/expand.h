// Chains pieces into a tree of possible continuations, the most probable first.
//
//   ...{"name": " --- get_weather", "arguments": {"city": " --- Paris"}} --- ...
//                                                        \-- Rome"}} --- ...
//                \-- get_time", ...
//
// Tested by tests/draft/expand_test.cc.
#pragma once

#include <string>
#include <vector>

#include "catalog/answer.h"
#include "draft/pieces.h"

namespace schemafill {

struct DraftNode {
  int parent = -1;  // -1: the text so far
  std::string text;
  double probability = 0;  // of the whole path from the text so far
  PieceKind kind = PieceKind::kScaffold;
};

// Nodes come parents first.
struct Draft {
  std::vector<DraftNode> nodes;
  std::string Dump() const;  // one line a node, indented by depth
};

struct ExpandLimits {
  double min_probability = 0.05;  // of a path
  int max_nodes = 96;             // pieces
  int max_characters = 400;       // of one path
  bool across_calls = true;  // a path may go on from the call that it starts in to the next one
};

// Whether the scaffold leaves nothing to a head behind the answer so far.
bool IsSure(const DraftSources& sources, const Answer& answer);

Draft ExpandDraft(const DraftSources& sources, const Answer& answer, const ExpandLimits& limits);

}  // namespace schemafill
