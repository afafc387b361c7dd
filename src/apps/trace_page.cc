#include "apps/trace_page.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/trace_page_html.h"
#include "base/lines.h"
#include "json/json.h"

namespace schemafill {
namespace {

// In a script element only `<` can begin something that ends it; as JSON it may be written as an
// escape.
std::string ForScript(const Json& value) {
  std::string out;
  for (const char c : DumpLine(value)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

void Insert(std::string& page, std::string_view marker, std::string_view text) {
  const size_t at = page.find(marker);
  Check(at != std::string::npos, "trace_page.html lacks a marker");
  page.replace(at, marker.size(), text);
}

// A round whose lists can be walked.
Status CheckRound(const Json& round, const std::string& where) {
  for (const char* list : {"nodes", "committed"}) {
    const Json* items = Given(round, list);
    bool good = items != nullptr && items->is_array();
    if (good) {
      for (const Json& item : *items) good = good && item.is_object();
    }
    if (!good)
      return BadInput(
          fmt::format("{}: a round's `{}` must be a list of objects; write the trace "
                      "again with `generate --trace`",
                      where, list));
  }
  return {};
}

}  // namespace

Result<std::string> TracePage(std::string_view text, std::string_view name) {
  Json trace = Json::array();
  int rounds = 0;
  int requests = 0;
  Lines lines(text);
  while (lines.Next()) {
    const std::string where = fmt::format("{}: line {}", name, lines.number());
    Result<Json> line = ParseJson(lines.line(), where);
    if (!line || !line->is_object()) {
      return BadInput(fmt::format(
          "{} is not a JSON object; give the file that `generate --trace FILE` wrote", where));
    }
    const Json type = line->value("type", Json());
    if (type == "forecast" && ++requests > 1)
      return BadInput(fmt::format("{} begins a second request; give one request a file", where));
    if (type == "round") {
      ++rounds;
      if (const Status round = CheckRound(*line, where); !round) return round.error();
    }
    trace.push_back(std::move(*line));
  }
  if (rounds == 0) {
    return BadInput(
        fmt::format("{}: {}; give the file that `generate --trace FILE` wrote", name,
                    lines.number() == 0 ? "is empty" : "holds no line of type \"round\""));
  }
  const std::string file = std::filesystem::path(name).filename().string();
  std::string page(kTracePageHtml);
  Insert(page, "{{trace}}", ForScript({{"file", file}, {"lines", std::move(trace)}}));
  return page;
}

}  // namespace schemafill
