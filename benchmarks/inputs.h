// Requests of any size for the micro-benchmarks, and what is common to them.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

namespace schemafill {

// Sizes from `first` to `last`, and the growth over them.
template <int kFirst, int kLast>
void Growing(benchmark::internal::Benchmark* bench) {
  bench->RangeMultiplier(4)->Range(kFirst, kLast)->Complexity()->Unit(benchmark::kMicrosecond);
}

// A list of `tools` tools with `fields` fields each, half of them required.
inline std::string ToolsJson(int tools, int fields) {
  std::string out = "[";
  for (int tool = 0; tool < tools; ++tool) {
    std::string properties, required;
    for (int field = 0; field < fields; ++field) {
      const char* comma = field == 0 ? "" : ", ";
      properties += fmt::format(
          R"({}"field_{}": {{"type": "{}", "description": "Value {} of the request."}})", comma,
          field, field % 2 == 0 ? "string" : "integer", field);
      if (field % 2 == 0) required += fmt::format(R"({}"field_{}")", comma, field);
    }
    out += fmt::format(
        R"({}{{"name": "get_{}", "description": "Looks up thing {} for a city.", "parameters": )"
        R"({{"type": "object", "properties": {{{}}}, "required": [{}]}}}})",
        tool == 0 ? "" : ", ", tool, tool, properties, required);
  }
  return out + "]";
}

// About `bytes` bytes of what a user may say.
inline std::string UserText(int bytes) {
  std::string out;
  for (int i = 0; out.size() < static_cast<size_t>(bytes); ++i)
    out += fmt::format("Look up thing {} in New Town {} for {} days. ", i, i % 17, i % 9);
  return out;
}

// The beginning of an answer of about `bytes` bytes: whole calls of the first tool, and a comma.
inline std::string AnswerText(int bytes) {
  std::string out = R"({"tool_calls": [)";
  for (int i = 0; out.size() < static_cast<size_t>(bytes); ++i)
    out += fmt::format(
        R"({{"name": "get_0", "arguments": {{"field_0": "New Town {}", "field_1": {}}}}}, )",
        i % 17, i % 9);
  return out;
}

}  // namespace schemafill
