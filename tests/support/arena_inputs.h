// What the arena's tests share: tokens and trees from short texts, and its books against the
// scripted model's cells.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kv/arena.h"
#include "model/scripted/scripted_model.h"

namespace schemafill {

inline std::shared_ptr<const ScriptedTokenizer> Letters() {
  return std::make_shared<ScriptedTokenizer>(std::vector<std::string>{});
}

inline std::vector<Token> Text(std::string_view letters) {
  std::vector<Token> tokens;
  for (const char letter : letters) tokens.push_back(Token{letter});
  return tokens;
}

inline std::vector<float> Copy(std::span<const float> row) { return {row.begin(), row.end()}; }

// "a:-1 b:0 c:0" is the tree a - {b, c}.
inline std::vector<TreeNode> Tree(const std::string& text) {
  std::vector<TreeNode> nodes;
  std::istringstream in(text);
  for (std::string node; in >> node;) {
    nodes.push_back({.token = Token{node[0]}, .parent = std::stoi(node.substr(2))});
  }
  return nodes;
}

inline int CellsInUse(const ArenaUse& use) {
  return use.prefix + use.verified + use.side + use.parked;
}

inline void ExpectCells(const ScriptedModel& model, const Arena& arena, int scratch) {
  EXPECT_EQ(model.cells_used(), CellsInUse(arena.use()) + scratch);
  EXPECT_GE(arena.use().peak, model.cells_used());
  EXPECT_NO_THROW(arena.CheckInvariants());
}

}  // namespace schemafill
