// Tool schemas as plain structs. A schema is a hint for drafting, never a rule for the answer:
// whatever is odd in it (an unknown type, a broken reference, a contradiction) is read as "any" and
// costs acceptance, not correctness. Tested by tests/catalog/schema_test.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace schemafill {

enum class ValueType : uint8_t {
  kAny,
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kNull,
  kArray,
  kObject
};

std::string_view Name(ValueType type);

// Index of a SchemaNode in Catalog::nodes. Nodes may refer to each other in circles (`$ref`).
enum class SchemaId : int32_t {};
constexpr SchemaId kNoSchema{-1};

struct Property {
  std::string name;
  SchemaId schema = kNoSchema;
  bool required = false;
};

// One schema with references followed and `allOf` merged. What a node doesn't say itself it takes
// from its alternatives (types, literals, properties, items), so that a reader needs to look at
// `alternatives` only to tell them apart.
struct SchemaNode {
  std::vector<ValueType> types;        // in the order given; empty: any
  std::vector<std::string> literals;   // values of `enum` and `const` as JSON text, in order
  std::vector<Property> properties;    // of an object, in rendered order
  SchemaId items = kNoSchema;          // of an array
  std::vector<SchemaId> alternatives;  // anyOf, oneOf
  std::string default_text;            // JSON text of `default`, empty: none
  std::string description;

  // The first type; an alternative's where it has none itself; kAny where nothing says.
  ValueType type() const { return types.empty() ? ValueType::kAny : types.front(); }
};

// Reads the schema of one tool into `nodes` and gives its node. `$ref`s are looked up in `root`.
// Never fails. At most 100,000 properties, literals and alternatives are read; the rest is left
// out.
SchemaId ReadSchema(const Json& root, std::vector<SchemaNode>& nodes);

// `{city: string, unit?: string = "C"|"F", stops?: [{...}]}`; "..." below `max_depth` levels.
std::string Dump(std::span<const SchemaNode> nodes, SchemaId id, int max_depth = 4);

}  // namespace schemafill
