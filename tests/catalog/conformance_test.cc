#include "catalog/conformance.h"

#include <gtest/gtest.h>

#include <array>

#include "support/requests.h"

namespace schemafill {
namespace {

TEST(Conformance, FirstFault) {
  const Catalog catalog = ReadCatalog(R"([
      {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}},
                                   "required": ["a"]}},
      {"name": "g", "parameters": {"type": "object", "properties": {}}},
      {"name": "h"}])");
  struct Case {
    std::string_view label;
    std::vector<ToolCall> calls;
    std::string_view fault;
  };
  const auto kCases = std::to_array<Case>({
      {"none", {}, "the answer holds no complete tool call"},
      {"fits", {{"f", R"({"a": 1})"}, {"f", R"({"b": [], "a": "types are not looked into"})"}}, ""},
      {"without parameters", {{"g", "{}"}, {"h", "{}"}}, ""},
      {"an unknown tool", {{"f", R"({"a": 1})"}, {"F", "{}"}}, "there is no tool 'F'"},
      {"arguments as text", {{"f", R"("{}")"}}, "f: arguments are not an object"},
      {"arguments that are no JSON", {{"f", "{"}}, "f: arguments are not an object"},
      {"an unknown field", {{"f", R"({"a": 1, "c": 2})"}}, "f: the tool has no field 'c'"},
      {"an unknown field of a tool without any",
       {{"g", R"({"a": 1})"}},
       "g: the tool has no field 'a'"},
      {"a missing field", {{"f", R"({"b": 1})"}}, "f: the required field 'a' is missing"},
  });
  for (const Case& row : kCases) EXPECT_EQ(FindFault(catalog, row.calls), row.fault) << row.label;
}

}  // namespace
}  // namespace schemafill
