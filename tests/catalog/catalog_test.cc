#include "catalog/catalog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace schemafill {
namespace {

Catalog Read(std::string_view tools) {
  return ParseCatalog(ParseJson(tools, "tools").value()).value();
}

// A catalog of one tool with these parameters.
Catalog OneTool(std::string_view parameters) {
  return Read(R"([{"name":"t","parameters":)" + std::string(parameters) + "}]");
}

TEST(Catalog, BothShapesOfEntries) {
  const std::string_view function =
      R"({"name":"weather.get","description":"Now.","parameters":{"type":"object","properties":)"
      R"({"city":{"type":"string"},"unit":{"enum":["C","F"]}},"required":["city"]}})";
  const Catalog bare = Read("[" + std::string(function) + "]");
  const Catalog wrapped = Read(R"([{"type":"function","function":)" + std::string(function) + "}]");
  EXPECT_EQ(bare.Dump(), "weather.get(city: string, unit?: string = \"C\"|\"F\")\n");
  EXPECT_EQ(wrapped.Dump(), bare.Dump());
  EXPECT_EQ(wrapped.tools[0].rendered, bare.tools[0].rendered);
  EXPECT_EQ(bare.tools[0].description, "Now.");
}

TEST(Catalog, RenderedLine) {
  struct Case {
    std::string_view label;
    std::string_view tool;
    std::string_view rendered;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"as it came, in our key order",
       R"({"parameters":{"type":"dict","required":["a"],"properties":{"a":{"type":"float","default":1.0}}},)"
       R"("description":"é \"x\" a\/b","name":"f"})",
       R"({"name": "f", "description": "é \"x\" a/b", "parameters": {"type": "dict", )"
       R"("required": ["a"], "properties": {"a": {"type": "float", "default": 1.0}}}})"},
      {"nothing else is shown", R"({"name":"f","strict":true,"description":"d","parameters":{}})",
       R"({"name": "f", "description": "d", "parameters": {}})"},
      {"no description", R"({"name":"f","parameters":{"type":"object"}})",
       R"({"name": "f", "parameters": {"type": "object"}})"},
      {"no parameters", R"({"name":"f","description":"d"})",
       R"({"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}})"},
      {"nulls", R"({"name":"f","description":null,"parameters":null})",
       R"({"name": "f", "parameters": {"type": "object", "properties": {}}})"},
  });
  for (const Case& row : kCases) {
    const Catalog catalog = Read("[" + std::string(row.tool) + "]");
    EXPECT_EQ(catalog.tools[0].rendered, row.rendered) << row.label;
  }
}

TEST(Catalog, ErrorsNameTheEntry) {
  struct Case {
    std::string_view tools;
    std::string_view message;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"{}", "tools: must be a list"},
      {R"([{"name":"a"},5])", "tools[1]: must be an object that describes a function"},
      {"[{}]", "tools[0].name: must be a string that is not empty"},
      {R"([{"name":""}])", "tools[0].name: must be a string that is not empty"},
      {R"([{"name":["a"]}])", "tools[0].name: must be a string that is not empty"},
      {R"([{"type":"function","function":{"name":7}}])",
       "tools[0].function.name: must be a string that is not empty"},
      {R"([{"type":"function","function":"a"}])",
       "tools[0].function: must be an object with name, description and parameters"},
  });
  for (const Case& row : kCases) {
    const Result<Catalog> catalog = ParseCatalog(ParseJson(row.tools, "tools").value());
    ASSERT_FALSE(catalog.ok()) << row.tools;
    EXPECT_EQ(catalog.error().message, row.message);
  }
}

TEST(Catalog, FindsByNameTheFirstOfSeveral) {
  const Catalog catalog = Read(R"([{"name":"google.mail:send-v2"},{"name":"b"},{"name":"b"}])");
  EXPECT_EQ(catalog.Find("google.mail:send-v2"), 0);
  EXPECT_EQ(catalog.Find("b"), 1);
  EXPECT_EQ(catalog.Find("google.mail"), -1);
  EXPECT_EQ(catalog.Find(""), -1);
  EXPECT_EQ(Read("[]").Find("b"), -1);
}

TEST(Catalog, ParametersAreAnObjectWhateverTheySay) {
  struct Case {
    std::string_view parameters;
    std::string_view dump;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"{}", "t()\n"},
      {R"({"type":"object","properties":{}})", "t()\n"},
      {"null", "t()\n"},
      {"[]", "t()\n"},
      {"\"object\"", "t()\n"},
      {R"({"type":"array","items":{"type":"string"}})", "t()\n"},
      {R"({"type":["null","object"],"properties":{"a":{}}})", "t(a?: any)\n"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"type":"null"}}}}})",
       "t(x?: null)\n"},
      {R"({"anyOf":[{"properties":{"x":{}},"required":["x"]},{"properties":{"y":{}}}]})",
       "t(x: any)\n"},
  });
  for (const Case& row : kCases) {
    const Catalog catalog = OneTool(row.parameters);
    EXPECT_EQ(catalog.Dump(), row.dump) << row.parameters;
    EXPECT_EQ(catalog.node(catalog.tools[0].parameters).type(), ValueType::kObject);
  }
}

TEST(Slots, InRenderedOrder) {
  struct Case {
    std::string_view label;
    std::string_view parameters;
    std::string_view slots;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"no parameters", "{}", ""},
      {"flat", R"({"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]})",
       "call 1 tool 0 b?: integer\n"
       "call 1 tool 0 a: string\n"},
      {"nested: required only if what is around it is",
       R"({"properties":{"at":{"properties":{"city":{"type":"string"},"zip":{}},"required":["city"]},)"
       R"("to":{"properties":{"city":{"type":"string"}},"required":["city"]}},"required":["to"]})",
       "call 1 tool 0 at.city?: string\n"
       "call 1 tool 0 at.zip?: any\n"
       "call 1 tool 0 to.city: string\n"},
      {"lists",
       R"({"properties":{"stops":{"items":{"properties":{"name":{"type":"string"}}}},)"
       R"("tags":{"items":{"type":"string"}},"grid":{"items":{"items":{"properties":{"x":{}}}}}}})",
       "call 1 tool 0 stops[].name?: string\n"
       "call 1 tool 0 tags?: array\n"
       "call 1 tool 0 grid[][].x?: any\n"},
      {"object without properties", R"({"properties":{"o":{"type":"object"}}})",
       "call 1 tool 0 o?: object\n"},
      {"optional object",
       R"({"properties":{"o":{"anyOf":[{"properties":{"x":{}}},{"type":"null"}]}}})",
       "call 1 tool 0 o.x?: any\n"},
  });
  for (const Case& row : kCases) {
    EXPECT_EQ(Dump(ExpandSlots(OneTool(row.parameters), 0, 1)), row.slots) << row.label;
  }
}

TEST(Slots, RecursionEndsAtTheDepth) {
  const Catalog catalog = OneTool(R"({"properties":{"tree":{"type":"object","properties":{
      "value":{"type":"integer"},"left":{"$ref":"#/properties/tree"}}}}})");
  EXPECT_EQ(Dump(ExpandSlots(catalog, 0, 0, 3)),
            "call 0 tool 0 tree.value?: integer\n"
            "call 0 tool 0 tree.left.value?: integer\n"
            "call 0 tool 0 tree.left.left?: object\n");
  EXPECT_EQ(Dump(ExpandSlots(catalog, 0, 0, 1)), "call 0 tool 0 tree?: object\n");
}

TEST(Slots, ListsThatHoldThemselves) {
  const Catalog catalog =
      OneTool(R"({"properties":{"l":{"type":"array","items":{"$ref":"#/properties/l"}}}})");
  EXPECT_EQ(Dump(ExpandSlots(catalog, 0, 0)), "call 0 tool 0 l?: array\n");
}

// The order of definitions and uses doesn't change what is read.
TEST(Slots, DefinitionsInEitherOrder) {
  const std::string_view definitions =
      R"("$defs":{"node":{"properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/node"}},)"
      R"("unit":{"$ref":"#/$defs/unit"}}},"unit":{"enum":["C","F"]}})";
  const std::string_view uses = R"("properties":{"root":{"$ref":"#/$defs/node"}})";
  const Catalog before = OneTool(fmt::format("{{{},{}}}", definitions, uses));
  const Catalog behind = OneTool(fmt::format("{{{},{}}}", uses, definitions));
  EXPECT_EQ(Dump(ExpandSlots(before, 0, 0)), Dump(ExpandSlots(behind, 0, 0)));
  EXPECT_EQ(before.Dump(), behind.Dump());
  EXPECT_EQ(Dump(ExpandSlots(before, 0, 0, 3)),
            "call 0 tool 0 root.kids[].kids?: array\n"
            "call 0 tool 0 root.kids[].unit?: string\n"
            "call 0 tool 0 root.unit?: string\n");
}

TEST(Slots, CountHasALimit) {
  std::string properties;
  for (int i = 0; i < 20; ++i)
    properties += fmt::format(R"({}"p{}":{{"$ref":"#"}})", i ? "," : "", i);
  const Catalog catalog = OneTool(R"({"properties":{)" + properties + "}}");
  EXPECT_EQ(ExpandSlots(catalog, 0, 0).size(), static_cast<size_t>(kMaxSlotsPerCall));
  EXPECT_EQ(ExpandSlots(catalog, 0, 0, 100).size(), static_cast<size_t>(kMaxSlotsPerCall));
}

TEST(Catalog, ThreeHundredTools) {
  Json tools = Json::array();
  for (int i = 0; i < 300; ++i) {
    Json properties = Json::object();
    for (int field = 0; field < 5; ++field) {
      properties[fmt::format("field_{}", field)] = {
          {"type", "string"},
          {"description", fmt::format("What field {} of tool {} is for.", field, i)}};
    }
    tools.push_back({{"name", fmt::format("tool.number_{}", i)},
                     {"parameters", {{"type", "object"}, {"properties", properties}}}});
  }
  ASSERT_GT(DumpSpaced(tools).size(), 100'000u);
  const Catalog catalog = ParseCatalog(tools).value();
  EXPECT_EQ(catalog.tools.size(), 300u);
  EXPECT_EQ(catalog.nodes.size(), 300u * 6);
  EXPECT_EQ(ExpandSlots(catalog, 299, 0).size(), 5u);
}

}  // namespace
}  // namespace schemafill
