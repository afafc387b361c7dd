#include "draft/call_text.h"

#include <array>

#include "json/json.h"

namespace schemafill {

std::string CallHint(int call) {
  constexpr auto kOrdinals = std::to_array<std::string_view>(
      {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"});
  if (call == 0) return {};
  if (call >= static_cast<int>(kOrdinals.size()))
    return "Select request " + std::to_string(call + 1) + ".\n";
  return "Select the " + std::string(kOrdinals[static_cast<size_t>(call)]) + " request.\n";
}

std::string SlotHeader(std::string_view tool, std::string_view field,
                       const JsonSpelling& spelling) {
  const std::string& gap = spelling.after_colon;
  const auto open = [&](size_t depth) { return spelling.Break(spelling.after_open, depth); };
  return "{" + open(1) + "\"tool_calls\":" + gap + "[" + open(2) + "{" + open(3) +
         "\"name\":" + gap + '"' + EscapeJson(tool) + "\"," +
         spelling.Break(spelling.after_comma, 3) + "\"arguments\":" + gap + "{" + open(4) + '"' +
         EscapeJson(field) + "\":";
}

}  // namespace schemafill
