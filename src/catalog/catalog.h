// The tools of a request: schemas as nodes, and the one-line text of each tool in the prompt.
// Tested by tests/catalog/catalog_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/schema.h"

namespace schemafill {

struct Tool {
  std::string name;
  std::string description;
  SchemaId parameters = kNoSchema;  // an object node
  // {"name": ..., "description": ..., "parameters": ...} on one line, values spelled as they came.
  // Without a description that key is left out; without parameters they read
  // {"type": "object", "properties": {}}, so that a model sees that there are none.
  std::string rendered;
};

// Const after construction.
struct Catalog {
  std::vector<Tool> tools;
  std::vector<SchemaNode> nodes;

  const SchemaNode& node(SchemaId id) const { return nodes[static_cast<size_t>(id)]; }
  // Index of the tool of that name, -1 if there is none. The first of several.
  int Find(std::string_view name) const;
  std::string Dump() const;  // one line a tool: name(field: type, field?: type = enum|enum, ...)
};

// Reads a list of tools: OpenAI's `{"type": "function", "function": {...}}` or the function object
// alone (as BFCL has it). An error names the entry (`tools[3].function.name`). Never fails on an
// odd schema. Two tools may have one name.
Result<Catalog> ParseCatalog(const Json& tools);

// A value position that a call of the tool may fill (paper: slot s = (j, t, f)).
struct Slot {
  int call = 0;      // position j of the call in the answer, from 0
  int tool = 0;      // index in Catalog::tools
  std::string path;  // "location", "address.city", "stops[].name"
  SchemaId schema = kNoSchema;
  ValueType type = ValueType::kAny;
  bool required = false;  // so are the objects around it
};

// Most slots that one call is expanded into: a schema that refers to itself several times grows by
// a power a level.
constexpr int kMaxSlotsPerCall = 512;

// The slots of a tool's call in rendered key order, nested objects and arrays of objects expanded
// in place, at most `max_depth` objects deep (a schema that refers to itself ends there); a deeper
// object and an array of anything else is one slot.
std::vector<Slot> ExpandSlots(const Catalog& catalog, int tool, int call, int max_depth = 4);

std::string Dump(const std::vector<Slot>& slots);  // one line a slot: `call 0 tool 1 city?: string`

}  // namespace schemafill
