// JSON as spelled: scalars and keys keep their text, a key may come twice, and white space is a
// parameter. For answers that a model may write and a JSON library would not.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "support/keyed_dice.h"

namespace schemafill {

struct JsonTree {
  enum class Kind { kScalar, kArray, kObject };
  Kind kind = Kind::kScalar;
  std::string text;  // of a scalar
  // Keys as they stand between their quotes; empty in arrays.
  std::vector<std::pair<std::string, JsonTree>> members;

  static JsonTree Scalar(std::string text) { return {Kind::kScalar, std::move(text), {}}; }
  static JsonTree String(std::string_view text) { return Scalar('"' + EscapeJson(text) + '"'); }
  static JsonTree Array() { return {Kind::kArray, {}, {}}; }
  static JsonTree Object() { return {Kind::kObject, {}, {}}; }

  JsonTree& Add(std::string key, JsonTree value) {
    members.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  JsonTree& Add(JsonTree value) { return Add({}, std::move(value)); }
};

struct JsonStyle {
  std::string colon = ": ";
  std::string comma = ", ";
  int indent = 0;            // more than 0: a line for each entry
  KeyedDice* odd = nullptr;  // not null: random white space between all tokens as well
};

namespace internal {

inline std::string OddSpace(const JsonStyle& style) {
  std::string space;
  if (style.odd == nullptr) return space;
  while (style.odd->OneIn(3)) space += style.odd->Pick(std::string_view(" \n\t\r"));
  return space;
}

inline std::string LineBreak(const JsonStyle& style, int depth) {
  if (style.indent == 0) return OddSpace(style);
  return "\n" + std::string(static_cast<size_t>(style.indent * depth), ' ');
}

}  // namespace internal

inline std::string Write(const JsonTree& tree, const JsonStyle& style = {}, int depth = 0) {
  if (tree.kind == JsonTree::Kind::kScalar) return tree.text;
  const bool object = tree.kind == JsonTree::Kind::kObject;
  std::string out = object ? "{" : "[";
  bool first = true;
  for (const auto& [key, value] : tree.members) {
    if (!std::exchange(first, false)) {
      out += internal::OddSpace(style) + (style.indent > 0 ? "," : style.comma);
    }
    out += internal::LineBreak(style, depth + 1);
    if (object) {
      out += '"' + key + '"' + internal::OddSpace(style) + style.colon + internal::OddSpace(style);
    }
    out += Write(value, style, depth + 1);
  }
  if (!first) out += internal::LineBreak(style, depth);
  return out + (object ? "}" : "]");
}

// Scalars that readers trip over, as JSON text.
inline const std::vector<std::string>& OddScalars() {
  static const std::vector<std::string> kScalars = {"0",
                                                    "-0",
                                                    "7",
                                                    "-12",
                                                    "230.0",
                                                    "0.1",
                                                    "1e20",
                                                    "-1.5E+3",
                                                    "9223372036854775807",
                                                    "18446744073709551615",
                                                    "true",
                                                    "false",
                                                    "null",
                                                    R"("")",
                                                    R"("a")",
                                                    R"("a\\")",
                                                    R"("a\"")",
                                                    R"("\\\\\"")",
                                                    R"("\u00e9")",
                                                    R"("\ud83d\ude00")",
                                                    "\"\xf0\x9f\x98\x80 \xc3\xa9\"",
                                                    R"("C:\\tmp")",
                                                    R"("{\"a\": [1}")",
                                                    R"("]}")",
                                                    R"("tool_calls")",
                                                    R"("http://e.com/p")",
                                                    R"("a\nb")",
                                                    R"(", \"")"};
  return kScalars;
}

// Keys that readers trip over, as they stand between their quotes.
inline const std::vector<std::string>& OddKeys() {
  static const std::vector<std::string> kKeys = {"a",          "b",      "name",     "arguments",
                                                 "tool_calls", "a.b",    "[]",       "",
                                                 R"(q\")",     R"(b\\)", "\xc3\xa9", "}"};
  return kKeys;
}

inline JsonTree RandomTree(KeyedDice& dice, int depth) {
  const int kind = depth > 0 ? dice.Roll(5) : 4;
  if (kind > 1) return JsonTree::Scalar(dice.Pick(OddScalars()));
  JsonTree tree = kind == 0 ? JsonTree::Array() : JsonTree::Object();
  for (int left = dice.Roll(4); left > 0; --left) {
    std::string key = kind == 0 ? std::string() : dice.Pick(OddKeys());
    tree.Add(std::move(key), RandomTree(dice, depth - 1));
  }
  return tree;
}

// Replaces `times` places of up to two bytes by a byte of structure, by any byte or by nothing.
inline std::string Damaged(KeyedDice& dice, std::string text, int times) {
  for (; times > 0; --times) {
    const size_t at = static_cast<size_t>(dice.Roll(static_cast<int>(text.size()) + 1));
    const size_t gone = static_cast<size_t>(dice.Roll(3));
    const char structure = dice.Pick(std::string_view("{}[]\",:\\ x1"));
    const char byte = dice.OneIn(4) ? static_cast<char>(dice.Roll(256)) : structure;
    text.replace(at, gone, dice.OneIn(3) ? 0 : 1, byte);
  }
  return text;
}

}  // namespace schemafill
