#include "catalog/conformance.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/json.h"

namespace schemafill {
namespace {

std::string FindFault(const Catalog& catalog, const Tool& tool, const ToolCall& call) {
  const Json arguments = Json::parse(call.arguments, nullptr, false);
  if (!arguments.is_object()) return fmt::format("{}: arguments are not an object", call.name);
  if (tool.parameters == kNoSchema) return {};
  const auto& properties = catalog.node(tool.parameters).properties;
  for (const auto& item : arguments.items()) {
    const bool known =
        std::any_of(properties.begin(), properties.end(),
                    [&](const Property& property) { return property.name == item.key(); });
    if (!known) return fmt::format("{}: the tool has no field '{}'", call.name, item.key());
  }
  for (const Property& property : properties) {
    if (property.required && !arguments.contains(property.name)) {
      return fmt::format("{}: the required field '{}' is missing", call.name, property.name);
    }
  }
  return {};
}

}  // namespace

std::string FindFault(const Catalog& catalog, std::span<const ToolCall> calls) {
  if (calls.empty()) return "the answer holds no complete tool call";
  for (const ToolCall& call : calls) {
    const int tool = catalog.Find(call.name);
    if (tool < 0) return fmt::format("there is no tool '{}'", call.name);
    const std::string fault = FindFault(catalog, catalog.tools[static_cast<size_t>(tool)], call);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace schemafill
