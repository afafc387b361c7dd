#include "catalog/schema.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"

namespace schemafill {
namespace {

struct Case {
  std::string_view label;
  std::string_view schema;
  std::string_view dump;  // two levels deep
};

std::string ReadAndDump(const Json& schema) {
  std::vector<SchemaNode> nodes;
  const SchemaId id = ReadSchema(schema, nodes);
  return Dump(nodes, id, 2);
}

void ExpectDumps(std::span<const Case> cases) {
  for (const Case& row : cases) {
    EXPECT_EQ(ReadAndDump(ParseJson(row.schema, "schema").value()), row.dump) << row.label;
  }
}

TEST(Schema, Types) {
  ExpectDumps(std::to_array<Case>({
      {"string", R"({"type":"string"})", "string"},
      {"a list", R"({"type":["string","null"]})", "string|null"},
      {"a list with a name unknown", R"({"type":["string","wibble"]})", "string"},
      {"nothing said", R"({})", "any"},
      {"true", "true", "any"},
      {"false", "false", "any"},
      {"not a schema", R"("string")", "any"},
      {"a number for a type", R"({"type":5})", "any"},
      {"BFCL, Python", R"({"type":["dict","float","tuple","any"]})", "object|number|array"},
      {"any", R"({"type":"any"})", "any"},
      {"Java", R"({"type":["String","Array","ArrayList","HashMap","long","double","char"]})",
       "string|array|object|integer|number"},
      {"JavaScript", R"({"type":["String","Boolean","array","dict"]})",
       "string|boolean|array|object"},
      {"other short names", R"({"type":["int","bool","byte","short","str","list"]})",
       "integer|boolean|string|array"},
      {"empty name", R"({"type":""})", "any"},
      {"nullable", R"({"type":"string","nullable":true})", "string|null"},
      {"by properties", R"({"properties":{"a":{}}})", "{a?: any}"},
      {"by items", R"({"items":{"type":"string"}})", "[string]"},
      {"by additionalProperties", R"({"additionalProperties":{"type":"string"}})", "object"},
      {"by maxLength and a broken regex", R"({"maxLength":10000,"pattern":"(["})", "string"},
  }));
}

TEST(Schema, Values) {
  ExpectDumps(std::to_array<Case>({
      {"enum", R"({"type":"string","enum":["ab","ac"]})", R"(string = "ab"|"ac")"},
      {"enum without a type", R"({"enum":["a",1,2.0,null,true]})",
       R"(string|integer|number|null|boolean = "a"|1|2.0|null|true)"},
      {"enum of lists", R"({"enum":[[1, 2],{"a":1}]})", R"(array|object = [1, 2]|{"a": 1})"},
      {"hard to spell", R"({"enum":["C:\\tmp","a\"b","a\nb","http:\/\/e.com/p","é"]})",
       R"(string = "C:\\tmp"|"a\"b"|"a\nb"|"http://e.com/p"|"é")"},
      {"const", R"({"const":"on"})", R"(string = "on")"},
      {"const wins over enum", R"({"const":1,"enum":[1,2]})", "integer = 1"},
      {"enum that is no list", R"({"type":"string","enum":"a"})", "string"},
      {"empty enum", R"({"type":"string","enum":[]})", "string"},
      {"default", R"({"type":"integer","default":5})", "integer default 5"},
      {"default null", R"({"type":"string","default":null})", "string default null"},
      {"default object", R"({"default":{}})", "any default {}"},
  }));
}

TEST(Schema, ObjectsAndArrays) {
  ExpectDumps(std::to_array<Case>({
      {"order of the text",
       R"({"properties":{"z":{"type":"integer"},"a":{"type":"string"}},"required":["a"]})",
       "{z?: integer, a: string}"},
      {"required names unknown fields", R"({"properties":{"a":{}},"required":["b","a",3]})",
       "{a: any}"},
      {"required is no list", R"({"properties":{"a":{}},"required":true})", "{a?: any}"},
      {"properties is no object", R"({"type":"object","properties":[1]})", "object"},
      {"nested", R"({"properties":{"a":{"type":"object","properties":{"b":{"type":"number"}}}}})",
       "{a?: {b?: number}}"},
      {"list of objects", R"({"type":"array","items":{"properties":{"b":{"type":"number"}}}})",
       "[{b?: number}]"},
      {"names that are keywords",
       R"({"properties":{"name":{"type":"string"},"type":{"type":"string"},)"
       R"("arguments":{},"parameters":{},"properties":{"type":"integer"},"$ref":{"type":"null"}}})",
       "{name?: string, type?: string, arguments?: any, parameters?: any, properties?: integer, "
       "$ref?: null}"},
      {"tuple", R"({"type":"tuple","items":[{"type":"float"},{"type":"string"}]})",
       "[number|string]"},
      {"prefixItems", R"({"type":"array","prefixItems":[{"type":"integer"}]})", "[integer]"},
      {"empty tuple", R"({"type":"array","items":[]})", "array"},
      {"items of true", R"({"type":"array","items":true})", "array"},
      {"property of false", R"({"properties":{"a":false}})", "{a?: any}"},
  }));
}

TEST(Schema, References) {
  ExpectDumps(std::to_array<Case>({
      {"$defs", R"({"properties":{"a":{"$ref":"#/$defs/c"}},"$defs":{"c":{"enum":["x","y"]}}})",
       R"({a?: string = "x"|"y"})"},
      {"$defs in front",
       R"({"$defs":{"c":{"enum":["x","y"]}},"properties":{"a":{"$ref":"#/$defs/c"}}})",
       R"({a?: string = "x"|"y"})"},
      {"definitions",
       R"({"properties":{"a":{"$ref":"#/definitions/c"}},"definitions":{"c":{"type":"string"}}})",
       "{a?: string}"},
      {"recursion",
       R"({"properties":{"tree":{"properties":{"left":{"$ref":"#/properties/tree"}}}}})",
       "{tree?: {left?: {...}}}"},
      {"to the root", R"({"properties":{"next":{"$ref":"#"}}})", "{next?: {next?: {...}}}"},
      {"into a list's items",
       R"({"properties":{"a":{"items":{"properties":{"n":{"type":"integer"}}}},)"
       R"("b":{"$ref":"#/properties/a/items/properties/n"}}})",
       "{a?: [{...}], b?: integer}"},
      {"by index", R"({"properties":{"a":{"$ref":"#/anyOf/1"}},"anyOf":[{},{"type":"null"}]})",
       "{a?: null}"},
      {"escapes",
       R"({"properties":{"a":{"$ref":"#/$defs/x~1y~0z%20w"}},"$defs":{"x/y~z w":{"type":"null"}}})",
       "{a?: null}"},
      {"chain", R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"null"}}})",
       "null"},
      {"own words win over those behind it",
       R"({"properties":{"a":{"$ref":"#/$defs/c","default":"y"}},"$defs":{"c":{"type":"string","default":"x"}}})",
       R"({a?: string default "y"})"},
      {"to nothing", R"({"properties":{"a":{"$ref":"#/$defs/none"}}})", "{a?: any}"},
      {"to another document", R"({"properties":{"a":{"$ref":"http://e.com/s.json#/a"}}})",
       "{a?: any}"},
      {"to itself", R"({"properties":{"a":{"$ref":"#/properties/a"}}})", "{a?: any}"},
      {"to each other",
       R"({"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}})",
       "{a?: any, b?: any}"},
      {"no string", R"({"properties":{"a":{"$ref":5,"type":"string"}}})", "{a?: string}"},
      {"odd pointers",
       R"({"properties":{"a":{"$ref":"#foo"},"b":{"$ref":"#/properties/a/99"},)"
       R"("c":{"$ref":""},"d":{"$ref":"#/%"},"e":{"$ref":"#/~"}}})",
       "{a?: any, b?: any, c?: any, d?: any, e?: any}"},
  }));
}

TEST(Schema, Combinations) {
  ExpectDumps(std::to_array<Case>({
      {"anyOf", R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "string|null"},
      {"oneOf", R"({"oneOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]})",
       "integer|[integer]"},
      {"own type wins", R"({"type":"number","anyOf":[{"type":"integer"}]})", "number"},
      {"alternatives that only restrict",
       R"({"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
       "{a?: any, b?: any}"},
      {"optional enum", R"({"anyOf":[{"enum":["x","y"]},{"type":"null"}]})",
       R"(string|null = "x"|"y"|null)"},
      {"enum or anything", R"({"anyOf":[{"enum":["x"]},{"type":"string"}]})", "string"},
      {"optional object", R"({"anyOf":[{"properties":{"a":{"type":"string"}}},{"type":"null"}]})",
       "{a?: string}|null"},
      {"alternatives of alternatives",
       R"({"anyOf":[{"oneOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]})",
       "null|string|integer"},
      {"alternatives in a circle", R"({"anyOf":[{"$ref":"#"},{"type":"string"}]})", "string"},
      {"nothing but a circle", R"({"anyOf":[{"$ref":"#"}]})", "any"},
      {"anyOf that is no list", R"({"anyOf":{"type":"string"}})", "any"},
      {"allOf",
       R"({"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},)"
       R"({"properties":{"b":{"type":"integer"}}}],"required":["b"]})",
       "{a: string, b: integer}"},
      {"allOf behind own fields",
       R"({"allOf":[{"$ref":"#/$defs/base"}],"properties":{"x":{"type":"null"}},)"
       R"("$defs":{"base":{"properties":{"id":{"type":"integer"},"x":{"type":"string"}}}}})",
       "{x?: null, id?: integer}"},
      {"allOf narrows", R"({"allOf":[{"type":["string","null"]},{"type":["integer","string"]}]})",
       "string"},
      {"allOf contradicts itself", R"({"allOf":[{"type":"string"},{"type":"integer"}]})", "string"},
      {"allOf of itself", R"({"type":"string","allOf":[{"$ref":"#"}]})", "string"},
      {"enum behind $ref behind allOf",
       R"({"allOf":[{"$ref":"#/$defs/unit"}],"$defs":{"unit":{"enum":["C","F"]}}})",
       R"(string = "C"|"F")"},
  }));
}

TEST(Schema, CirclesAreClosedNotUnrolled) {
  std::vector<SchemaNode> nodes;
  const Json schema =
      ParseJson(R"({"properties":{"l":{"$ref":"#"},"r":{"$ref":"#"}}})", "schema").value();
  const SchemaId root = ReadSchema(schema, nodes);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].properties[0].schema, root);
  EXPECT_EQ(nodes[0].properties[1].schema, root);
}

TEST(Schema, DescriptionsComeFromTheNearestPart) {
  std::vector<SchemaNode> nodes;
  const Json schema = ParseJson(R"({"properties":{"a":{"description":"own","$ref":"#/$defs/c"},
      "b":{"type":"string","$ref":"#/$defs/c"}},"$defs":{"c":{"description":"behind"}}})",
                                "s")
                          .value();
  const SchemaId id = ReadSchema(schema, nodes);
  const std::vector<Property>& fields = nodes[static_cast<size_t>(id)].properties;
  EXPECT_EQ(nodes[static_cast<size_t>(fields[0].schema)].description, "own");
  EXPECT_EQ(nodes[static_cast<size_t>(fields[1].schema)].description, "behind");
}

// A chain of references as long as the document: read by recursion it would exhaust the stack, with
// a search in a row for each it would take minutes.
TEST(Schema, LongChainsOfReferences) {
  constexpr int kLength = 10'000;
  Json::object_t definitions;
  for (int i = 0; i < kLength; ++i) {
    const Json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    definitions.push_back({std::to_string(i), Json{{"properties", {{"next", next}}}}});
  }
  const Json schema = {{"$ref", "#/$defs/0"}, {"$defs", Json(std::move(definitions))}};
  std::vector<SchemaNode> nodes;
  ReadSchema(schema, nodes);
  EXPECT_GE(nodes.size(), static_cast<size_t>(kLength));
}

// Small documents that mean huge ones.
TEST(Schema, ExplosionsStayWithinTheBudget) {
  Json base = Json::object();
  for (int i = 0; i < 500; ++i) base["field" + std::to_string(i)] = {{"type", "string"}};
  Json properties = Json::object();
  for (int i = 0; i < 500; ++i) {
    properties["copy" + std::to_string(i)] = {{"allOf", {{{"$ref", "#/$defs/base"}}}}};
  }
  const Json schema = {{"properties", properties}, {"$defs", {{"base", {{"properties", base}}}}}};
  std::vector<SchemaNode> nodes;
  ReadSchema(schema, nodes);
  size_t entries = 0;
  for (const SchemaNode& node : nodes) entries += node.properties.size();
  EXPECT_LE(entries, 100'000u);
}

// Puts random JSON in random places of a schema: it always reads, and every id leads to a node.
class Mangler {
 public:
  explicit Mangler(uint64_t seed) : seed_(seed) {}

  void Mangle(Json& value) {
    if (Draw(12) == 0) {
      value = kOdd[Draw(kOdd.size())];
    } else if (value.is_structured()) {
      for (Json& child : value) Mangle(child);
    }
  }

 private:
  uint64_t Draw(uint64_t below) {
    return KeyedBits({.seed = seed_, .stream = 0, .position = draws_++}) % below;
  }

  inline static const std::vector<Json> kOdd = {
      nullptr,
      true,
      -1,
      1.5,
      "",
      "#",
      "#/properties/a",
      "array",
      Json::array(),
      Json::object(),
      Json{{"$ref", "#"}},
      Json{{"$ref", "#/properties/a"}},
      Json::array({Json{{"$ref", "#"}}}),
      Json{{"anyOf", Json::array({Json{{"$ref", "#/properties/b"}}, 3})}},
      Json{{"allOf", Json::array({Json{{"$ref", "#/properties/b"}}, "x"})}}};

  uint64_t seed_;
  uint64_t draws_ = 0;
};

TEST(Schema, NeverFailsOnAnOddSchema) {
  const Json good = ParseJson(R"({"type":"object","properties":{
      "a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},
      "b":{"anyOf":[{"type":"string","enum":["p","q"]},{"$ref":"#/properties/a"}]},
      "c":{"allOf":[{"$ref":"#/properties/b"},{"type":"integer","default":3}]}},
      "required":["a","b"],"additionalProperties":false})",
                              "schema")
                        .value();
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Json schema = good;
    Mangler(seed).Mangle(schema);
    std::vector<SchemaNode> nodes;
    const SchemaId root = ReadSchema(schema, nodes);
    const auto exists = [&](SchemaId id) {
      return id == kNoSchema || static_cast<size_t>(id) < nodes.size();
    };
    ASSERT_TRUE(exists(root));
    for (const SchemaNode& node : nodes) {
      ASSERT_TRUE(exists(node.items)) << schema;
      for (const Property& property : node.properties) ASSERT_TRUE(exists(property.schema));
      for (const SchemaId alternative : node.alternatives) ASSERT_TRUE(exists(alternative));
    }
    EXPECT_FALSE(Dump(nodes, root).empty());
  }
}

}  // namespace
}  // namespace schemafill
