// JSON Schema -> nodes.
//
// A tool's schema is a tree of JSON values; `$ref` turns it into a graph. Each JSON value that
// stands where a schema may stand becomes one node, known by its address, so a schema that refers
// to itself closes a circle among the nodes and is read once:
//
//   {"properties": {"tree": {"properties": {"value": {"type": "integer"},
//                                           "left": {"$ref": "#/properties/tree"}}}}}
//   root -> tree -> value
//            ^-------left
//
// A node is made from *parts*: the schema itself, what its `$ref` points to and the members of its
// `allOf`, and theirs, each once. The schema's own words come first, so a description beside a
// `$ref` wins over the one behind it. For lists (properties, required names) parts add up.
//
// Reading works through a list of values, not by recursion: a chain of references may be as long
// as the document. When all nodes stand, those with alternatives take over what they lack.
//
// Cost: linear in the size of the schema, but for parts that are used again and again (a large
// object behind many `allOf`s), which the budget bounds.
#include "catalog/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace schemafill {
namespace {

constexpr size_t kMaxParts = 64;  // of one node; also the alternatives looked at, and `$ref` hops
constexpr int kBudget = 100'000;  // list entries that the nodes of one tool may hold

// The names of JSON Schema, and those that BFCL writes after Python, Java and JavaScript.
// Lower case.
constexpr std::array kTypeNames = std::to_array<std::pair<std::string_view, ValueType>>({
    {"string", ValueType::kString},   {"str", ValueType::kString},
    {"char", ValueType::kString},     {"character", ValueType::kString},
    {"integer", ValueType::kInteger}, {"int", ValueType::kInteger},
    {"long", ValueType::kInteger},    {"short", ValueType::kInteger},
    {"byte", ValueType::kInteger},    {"bigint", ValueType::kInteger},
    {"number", ValueType::kNumber},   {"float", ValueType::kNumber},
    {"double", ValueType::kNumber},   {"decimal", ValueType::kNumber},
    {"boolean", ValueType::kBoolean}, {"bool", ValueType::kBoolean},
    {"null", ValueType::kNull},       {"none", ValueType::kNull},
    {"array", ValueType::kArray},     {"list", ValueType::kArray},
    {"tuple", ValueType::kArray},     {"set", ValueType::kArray},
    {"arraylist", ValueType::kArray}, {"object", ValueType::kObject},
    {"dict", ValueType::kObject},     {"map", ValueType::kObject},
    {"hashmap", ValueType::kObject},  {"hashtable", ValueType::kObject},
});

// kAny for a name that is not known, "any" among them.
ValueType TypeNamed(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto at = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                               [&](const auto& entry) { return entry.first == lower; });
  return at == kTypeNames.end() ? ValueType::kAny : at->second;
}

ValueType TypeOf(const Json& value) {
  if (value.is_string()) return ValueType::kString;
  if (value.is_number_integer()) return ValueType::kInteger;
  if (value.is_number_float()) return ValueType::kNumber;
  if (value.is_boolean()) return ValueType::kBoolean;
  if (value.is_array()) return ValueType::kArray;
  return value.is_object() ? ValueType::kObject : ValueType::kNull;
}

void AddType(ValueType type, std::vector<ValueType>& types) {
  if (type == ValueType::kAny) return;
  if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
}

// The member of that name, null if `value` is no object or has none.
const Json* Member(const Json& value, const char* name) {
  if (!value.is_object()) return nullptr;
  const auto at = value.find(name);
  return at == value.end() ? nullptr : &*at;
}

const std::string* StringMember(const Json& value, const char* name) {
  const Json* member = Member(value, name);
  return member != nullptr ? member->get_ptr<const std::string*>() : nullptr;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Undoes %-escapes, which a reference may hold because it is the fragment of a URI.
std::string Unpercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// "a~1b~0" -> "a/b~" (RFC 6901).
std::string Untilde(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    if (escape && token[i + 1] == '0') {
      out += '~';
      ++i;
    } else if (escape && token[i + 1] == '1') {
      out += '/';
      ++i;
    } else {
      out += token[i];
    }
  }
  return out;
}

const Json* Element(const Json& array, std::string_view token) {
  if (token.empty() || token.size() > 9) return nullptr;
  size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < array.size() ? &array[index] : nullptr;
}

// Follows references inside one document.
class Resolver {
 public:
  explicit Resolver(const Json& root) : root_(root) {}

  // What "#/properties/tree" points to; null where it points to nothing here.
  const Json* Resolve(std::string_view reference) {
    if (!reference.starts_with('#')) return nullptr;
    const std::string path = Unpercent(reference.substr(1));
    if (path.empty()) return &root_;
    if (path[0] != '/') return nullptr;
    const Json* at = &root_;
    size_t begin = 1;
    while (at != nullptr && begin <= path.size()) {
      const size_t end = std::min(path.find('/', begin), path.size());
      at = Step(*at, Untilde(std::string_view(path).substr(begin, end - begin)));
      begin = end + 1;
    }
    return at;
  }

 private:
  using Index = std::unordered_map<std::string_view, const Json*>;

  const Json* Step(const Json& value, const std::string& token) {
    if (value.is_array()) return Element(value, token);
    if (!value.is_object()) return nullptr;
    // ordered_json searches in a row: a thousand references into a thousand definitions would cost
    // a million steps.
    Index& index = indexes_[&value];
    if (index.empty()) {
      for (const auto& [name, member] : value.items()) index.emplace(name, &member);
    }
    const auto at = index.find(token);
    return at == index.end() ? nullptr : at->second;
  }

  const Json& root_;
  std::unordered_map<const Json*, Index> indexes_;  // of the objects that references went through
};

class SchemaReader {
 public:
  SchemaReader(const Json& root, std::vector<SchemaNode>& nodes)
      : root_(root), resolver_(root), nodes_(nodes) {}

  SchemaId Read() {
    const size_t first = nodes_.size();
    const SchemaId id = NodeOf(root_);
    for (size_t i = 0; i < pending_.size(); ++i) {
      SchemaNode node = MakeNode(*pending_[i].schema);
      nodes_[static_cast<size_t>(pending_[i].id)] = std::move(node);
    }
    for (size_t i = first; i < nodes_.size(); ++i) TakeFromAlternatives(nodes_[i]);
    return id;
  }

 private:
  struct Pending {
    const Json* schema = nullptr;
    SchemaId id = kNoSchema;
  };

  bool Spend() { return budget_ > 0 && budget_-- > 0; }

  // The node of a schema, which is filled later. A schema that is nothing but a `$ref` is its
  // target.
  SchemaId NodeOf(const Json& schema) {
    const Json* target = &schema;
    for (size_t hop = 0; hop < kMaxParts && target->size() == 1; ++hop) {
      const std::string* reference = StringMember(*target, "$ref");
      const Json* next = reference != nullptr ? resolver_.Resolve(*reference) : nullptr;
      if (next == nullptr) break;
      target = next;
    }
    const SchemaId next{static_cast<int32_t>(nodes_.size())};
    const auto [at, is_new] = known_.emplace(target, next);
    if (is_new) {
      nodes_.emplace_back();
      pending_.push_back({.schema = target, .id = next});
    }
    return at->second;
  }

  // The schema, then what it refers to or merges, breadth first, each once.
  std::vector<const Json*> PartsOf(const Json& schema) {
    std::vector<const Json*> parts = {&schema};
    const auto add = [&](const Json* part) {
      const bool is_new = std::find(parts.begin(), parts.end(), part) == parts.end();
      if (part != nullptr && is_new && parts.size() < kMaxParts) parts.push_back(part);
    };
    for (size_t i = 0; i < parts.size(); ++i) {
      if (const std::string* reference = StringMember(*parts[i], "$ref")) {
        add(resolver_.Resolve(*reference));
      }
      const Json* all = Member(*parts[i], "allOf");
      if (all == nullptr || !all->is_array()) continue;
      for (const Json& part : *all) add(&part);
    }
    return parts;
  }

  SchemaNode MakeNode(const Json& schema) {
    SchemaNode node;
    const std::vector<const Json*> parts = PartsOf(schema);
    for (const Json* part : parts) {
      MergeTypes(*part, node);
      MergeTexts(*part, node);
    }
    for (const Json* part : parts) {
      MergeLiterals(*part, node);
      MergeItems(*part, node);
      MergeAlternatives(*part, node);
    }
    MergeProperties(parts, node);
    if (node.types.empty()) InferType(parts, node);
    return node;
  }

  // Types that both this part and those before it allow; the earlier ones where none is left.
  static void MergeTypes(const Json& part, SchemaNode& node) {
    std::vector<ValueType> types;
    const Json* type = Member(part, "type");
    if (type == nullptr) return;
    if (type->is_string()) AddType(TypeNamed(type->get_ref<const std::string&>()), types);
    if (type->is_array()) {
      for (const Json& entry : *type) {
        if (entry.is_string()) AddType(TypeNamed(entry.get_ref<const std::string&>()), types);
      }
    }
    const Json* nullable = Member(part, "nullable");
    if (!types.empty() && nullable != nullptr && *nullable == true) {
      AddType(ValueType::kNull, types);
    }
    std::vector<ValueType> both;
    for (const ValueType known : node.types) {
      if (std::find(types.begin(), types.end(), known) != types.end()) both.push_back(known);
    }
    if (node.types.empty()) node.types = std::move(types);
    if (!both.empty()) node.types = std::move(both);
  }

  static void MergeTexts(const Json& part, SchemaNode& node) {
    const std::string* description = StringMember(part, "description");
    if (node.description.empty() && description != nullptr) node.description = *description;
    const Json* fallback = Member(part, "default");
    if (node.default_text.empty() && fallback != nullptr) node.default_text = DumpSpaced(*fallback);
  }

  void MergeLiterals(const Json& part, SchemaNode& node) {
    if (!node.literals.empty()) return;
    const bool has_type = !node.types.empty();
    const auto add = [&](const Json& value) {
      if (!Spend()) return;
      node.literals.push_back(DumpSpaced(value));
      if (!has_type) AddType(TypeOf(value), node.types);
    };
    const Json* constant = Member(part, "const");
    const Json* values = Member(part, "enum");
    if (constant != nullptr) {
      add(*constant);
    } else if (values != nullptr && values->is_array()) {
      for (const Json& value : *values) add(value);
    }
  }

  // A tuple's places become alternatives of one item: a draft needs a likely type, not the place.
  void MergeItems(const Json& part, SchemaNode& node) {
    for (const char* name : {"prefixItems", "items"}) {
      const Json* items = Member(part, name);
      if (node.items != kNoSchema || items == nullptr) continue;
      if (items->is_object()) node.items = NodeOf(*items);
      if (items->is_array() && !items->empty()) node.items = TupleNode(*items);
    }
  }

  SchemaId TupleNode(const Json& places) {
    if (places.size() == 1) return NodeOf(places[0]);
    SchemaNode node;
    for (const Json& place : places) {
      if (Spend()) node.alternatives.push_back(NodeOf(place));
    }
    nodes_.push_back(std::move(node));
    return SchemaId{static_cast<int32_t>(nodes_.size() - 1)};
  }

  void MergeAlternatives(const Json& part, SchemaNode& node) {
    for (const char* name : {"anyOf", "oneOf"}) {
      const Json* alternatives = Member(part, name);
      if (alternatives == nullptr || !alternatives->is_array()) continue;
      for (const Json& alternative : *alternatives) {
        if (Spend()) node.alternatives.push_back(NodeOf(alternative));
      }
    }
  }

  void MergeProperties(const std::vector<const Json*>& parts, SchemaNode& node) {
    std::unordered_set<std::string_view> required;
    for (const Json* part : parts) {
      const Json* names = Member(*part, "required");
      if (names == nullptr || !names->is_array()) continue;
      for (const Json& name : *names) {
        if (name.is_string()) required.insert(name.get_ref<const std::string&>());
      }
    }
    std::unordered_set<std::string_view> seen;
    for (const Json* part : parts) {
      const Json* properties = Member(*part, "properties");
      if (properties == nullptr || !properties->is_object()) continue;
      for (const auto& [name, schema] : properties->items()) {
        if (!seen.insert(name).second || !Spend()) continue;
        node.properties.push_back(
            {.name = name, .schema = NodeOf(schema), .required = required.contains(name)});
      }
    }
  }

  // The type that the other keywords speak of.
  static void InferType(const std::vector<const Json*>& parts, SchemaNode& node) {
    const auto any_has = [&](std::initializer_list<const char*> names) {
      for (const char* name : names) {
        for (const Json* part : parts) {
          if (Member(*part, name) != nullptr) return true;
        }
      }
      return false;
    };
    if (any_has({"properties", "required", "additionalProperties", "patternProperties"})) {
      node.types = {ValueType::kObject};
    } else if (any_has({"items", "prefixItems", "minItems", "maxItems"})) {
      node.types = {ValueType::kArray};
    } else if (any_has({"pattern", "minLength", "maxLength"})) {
      node.types = {ValueType::kString};
    }
  }

  // The nodes without alternatives that those of `node` lead to, in order, each once.
  std::vector<const SchemaNode*> LeavesOf(const SchemaNode& node) const {
    std::vector<const SchemaNode*> seen = {&node};
    std::vector<const SchemaNode*> leaves;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i]->alternatives.empty()) leaves.push_back(seen[i]);
      for (const SchemaId id : seen[i]->alternatives) {
        const SchemaNode* next = &nodes_[static_cast<size_t>(id)];
        const bool is_new = std::find(seen.begin(), seen.end(), next) == seen.end();
        if (is_new && seen.size() < kMaxParts) seen.push_back(next);
      }
    }
    return leaves;
  }

  void TakeFromAlternatives(SchemaNode& node) {
    if (node.alternatives.empty()) return;
    const std::vector<const SchemaNode*> leaves = LeavesOf(node);
    if (node.types.empty()) {
      for (const SchemaNode* leaf : leaves) {
        for (const ValueType type : leaf->types) AddType(type, node.types);
      }
    }
    TakeLiterals(leaves, node);
    for (const SchemaNode* leaf : leaves) {
      if (node.items == kNoSchema) node.items = leaf->items;
      if (!node.properties.empty()) continue;
      for (const Property& property : leaf->properties) {
        if (Spend()) node.properties.push_back(property);
      }
    }
  }

  // The literals of all alternatives, if together they name every value.
  void TakeLiterals(const std::vector<const SchemaNode*>& leaves, SchemaNode& node) {
    const auto is_null = [](const SchemaNode* leaf) {
      return leaf->types.size() == 1 && leaf->type() == ValueType::kNull;
    };
    const auto is_closed = [&](const SchemaNode* leaf) {
      return !leaf->literals.empty() || is_null(leaf);
    };
    if (!node.literals.empty() || !std::all_of(leaves.begin(), leaves.end(), is_closed)) return;
    if (std::all_of(leaves.begin(), leaves.end(), is_null)) return;
    for (const SchemaNode* leaf : leaves) {
      for (const std::string& literal : leaf->literals) {
        if (Spend()) node.literals.push_back(literal);
      }
      if (leaf->literals.empty() && Spend()) node.literals.emplace_back("null");
    }
  }

  const Json& root_;
  Resolver resolver_;
  std::vector<SchemaNode>& nodes_;
  std::unordered_map<const Json*, SchemaId> known_;
  std::vector<Pending> pending_;
  int budget_ = kBudget;
};

std::string DumpProperties(std::span<const SchemaNode> nodes, const SchemaNode& node,
                           int max_depth) {
  std::string out;
  for (const Property& property : node.properties) {
    out += fmt::format("{}{}{}: {}", out.empty() ? "" : ", ", property.name,
                       property.required ? "" : "?", Dump(nodes, property.schema, max_depth));
  }
  return out;
}

std::string DumpType(std::span<const SchemaNode> nodes, const SchemaNode& node, ValueType type,
                     int max_depth) {
  if (type == ValueType::kObject && !node.properties.empty()) {
    return max_depth == 0 ? "{...}" : "{" + DumpProperties(nodes, node, max_depth - 1) + "}";
  }
  if (type == ValueType::kArray && node.items != kNoSchema) {
    return max_depth == 0 ? "[...]" : "[" + Dump(nodes, node.items, max_depth - 1) + "]";
  }
  return std::string(Name(type));
}

}  // namespace

std::string_view Name(ValueType type) {
  constexpr std::array<std::string_view, 8> kNames = {"any",     "string", "integer", "number",
                                                      "boolean", "null",   "array",   "object"};
  return kNames[static_cast<size_t>(type)];
}

SchemaId ReadSchema(const Json& root, std::vector<SchemaNode>& nodes) {
  return SchemaReader(root, nodes).Read();
}

std::string Dump(std::span<const SchemaNode> nodes, SchemaId id, int max_depth) {
  if (id == kNoSchema) return "any";
  const SchemaNode& node = nodes[static_cast<size_t>(id)];
  std::string out;
  for (const ValueType type : node.types) {
    if (!out.empty()) out += '|';
    out += DumpType(nodes, node, type, max_depth);
  }
  if (node.types.empty()) out = "any";
  for (size_t i = 0; i < node.literals.size(); ++i) {
    out += (i == 0 ? " = " : "|") + node.literals[i];
  }
  if (!node.default_text.empty()) out += " default " + node.default_text;
  return out;
}

}  // namespace schemafill
