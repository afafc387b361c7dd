#include "catalog/catalog.h"

#include <fmt/format.h>

#include <utility>

namespace schemafill {
namespace {

std::string Render(const Json& function) {
  Json shown = Json::object();
  shown["name"] = function["name"];
  if (const Json* description = Given(function, "description")) shown["description"] = *description;
  const Json* parameters = Given(function, "parameters");
  shown["parameters"] = parameters != nullptr
                            ? *parameters
                            : Json{{"type", "object"}, {"properties", Json::object()}};
  return DumpSpaced(shown);
}

// The node of a tool's parameters. Arguments are always an object, whatever the schema says.
SchemaId ReadParameters(const Json* parameters, std::vector<SchemaNode>& nodes) {
  const SchemaId id = ReadSchema(parameters != nullptr ? *parameters : Json::object(), nodes);
  const SchemaNode& node = nodes[static_cast<size_t>(id)];
  if (node.type() == ValueType::kObject) return id;
  SchemaNode object = node;
  object.types = {ValueType::kObject};
  nodes.push_back(std::move(object));
  return SchemaId{static_cast<int32_t>(nodes.size() - 1)};
}

Result<Tool> ParseTool(const Json& entry, const std::string& where,
                       std::vector<SchemaNode>& nodes) {
  if (!entry.is_object()) return BadField(where, "must be an object that describes a function");
  const Json* wrapped = Given(entry, "function");
  if (wrapped != nullptr && !wrapped->is_object()) {
    return BadField(where + ".function", "must be an object with name, description and parameters");
  }
  const Json& function = wrapped != nullptr ? *wrapped : entry;
  const Json* name = Given(function, "name");
  if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty()) {
    return BadField(fmt::format("{}{}.name", where, wrapped != nullptr ? ".function" : ""),
                    "must be a string that is not empty");
  }
  Tool tool;
  tool.name = name->get<std::string>();
  const Json* description = Given(function, "description");
  if (description != nullptr && description->is_string()) {
    tool.description = description->get<std::string>();
  }
  tool.parameters = ReadParameters(Given(function, "parameters"), nodes);
  tool.rendered = Render(function);
  return tool;
}

// Walks the objects of one call's arguments.
class SlotWriter {
 public:
  SlotWriter(const Catalog& catalog, int max_depth, const Slot& call)
      : catalog_(catalog), max_depth_(max_depth), call_(call) {}

  void AddObject(const SchemaNode& object, const std::string& prefix, bool required, int depth) {
    for (const Property& property : object.properties) {
      if (slots.size() >= kMaxSlotsPerCall) return;
      Slot slot = call_;
      slot.path = prefix + property.name;
      slot.schema = property.schema;
      slot.type = catalog_.node(property.schema).type();
      slot.required = required && property.required;
      AddValue(slot, depth);
    }
  }

  std::vector<Slot> slots;

 private:
  void AddValue(const Slot& slot, int depth) {
    const SchemaNode* inner = &catalog_.node(slot.schema);
    std::string path = slot.path;
    for (int level = depth; level < max_depth_ && IsArray(*inner); ++level) {
      inner = &catalog_.node(inner->items);
      path += "[]";
    }
    const bool expands = inner->type() == ValueType::kObject && !inner->properties.empty();
    if (expands && depth < max_depth_) {
      AddObject(*inner, path + ".", slot.required, depth + 1);
    } else {
      slots.push_back(slot);
    }
  }

  static bool IsArray(const SchemaNode& node) {
    return node.type() == ValueType::kArray && node.items != kNoSchema;
  }

  const Catalog& catalog_;
  const int max_depth_;
  const Slot call_;
};

}  // namespace

int Catalog::Find(std::string_view name) const {
  for (size_t i = 0; i < tools.size(); ++i) {
    if (tools[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string Catalog::Dump() const {
  std::string out;
  for (const Tool& tool : tools) {
    out += tool.name + "(";
    std::string_view separator;
    for (const Property& property : node(tool.parameters).properties) {
      out += fmt::format("{}{}{}: {}", std::exchange(separator, ", "), property.name,
                         property.required ? "" : "?", schemafill::Dump(nodes, property.schema));
    }
    out += ")\n";
  }
  return out;
}

Result<Catalog> ParseCatalog(const Json& tools) {
  if (!tools.is_array()) return BadField("tools", "must be a list");
  Catalog catalog;
  for (size_t i = 0; i < tools.size(); ++i) {
    Result<Tool> tool = ParseTool(tools[i], fmt::format("tools[{}]", i), catalog.nodes);
    if (!tool.ok()) return tool.error();
    catalog.tools.push_back(std::move(tool).value());
  }
  return catalog;
}

std::vector<Slot> ExpandSlots(const Catalog& catalog, int tool, int call, int max_depth) {
  Slot blank;
  blank.call = call;
  blank.tool = tool;
  SlotWriter writer(catalog, max_depth, blank);
  const SchemaId parameters = catalog.tools[static_cast<size_t>(tool)].parameters;
  writer.AddObject(catalog.node(parameters), "", true, 1);
  return std::move(writer.slots);
}

std::string Dump(const std::vector<Slot>& slots) {
  std::string out;
  for (const Slot& slot : slots) {
    out += fmt::format("call {} tool {} {}{}: {}\n", slot.call, slot.tool, slot.path,
                       slot.required ? "" : "?", Name(slot.type));
  }
  return out;
}

}  // namespace schemafill
