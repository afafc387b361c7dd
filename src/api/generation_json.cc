#include "api/generation_json.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/utf8.h"

namespace schemafill {
namespace {

double Rounded(double value) { return std::round(value * 1000) / 1000; }

// JSON text with each white space that holds a line break, which stands between tokens, as one
// blank.
std::string OneLine(std::string_view json) {
  std::string out;
  for (size_t i = 0; i < json.size();) {
    const size_t end = std::min(json.find_first_not_of(" \t\r\n", i), json.size());
    const std::string_view space = json.substr(i, end - i);
    out += space.find_first_of("\r\n") == std::string_view::npos ? space : " ";
    if (end < json.size()) out += json[end];
    i = end + 1;
  }
  return out;
}

// Tokens per second; 0 when nothing was measured.
double Rate(int tokens, double ms) { return ms > 0 ? Rounded(1000 * tokens / ms) : 0; }

}  // namespace

std::string CallsJson(const std::vector<ToolCall>& calls) {
  std::string out = "[";
  for (const ToolCall& call : calls) {
    if (out.size() > 1) out += ", ";
    out += "{\"name\": \"" + EscapeJson(call.name) +
           "\", \"arguments\": " + OneLine(call.arguments) + "}";
  }
  return out + "]";
}

Json StatsJson(const GenerateStats& stats) {
  const std::optional<double> al = stats.acceptance_length();
  return {{"prompt_tokens", stats.prompt_tokens},
          {"reused_tokens", stats.reused_tokens},
          {"tokens", stats.tokens},
          {"forwards", stats.forwards},
          {"lossy", stats.lossy},
          {"al", al ? Json(Rounded(*al)) : Json()},
          {"nodes", stats.nodes},
          {"side_rows", stats.side_rows},
          {"accepted_nodes", stats.accepted},
          {"prepare_ms", Rounded(stats.prepare_ms)},
          {"prefill_ms", Rounded(stats.prefill_ms)},
          {"draft_ms", Rounded(stats.draft_ms)},
          {"verify_ms", Rounded(stats.verify_ms)},
          {"decode_ms", Rounded(stats.decode_ms())},
          {"total_ms", Rounded(stats.total_ms)},
          {"tps", Rate(stats.tokens, stats.total_ms)},
          {"decode_tps", Rate(stats.tokens, stats.decode_ms())},
          {"kept_cells", stats.cells.peak_kept},
          {"peak_cells", stats.cells.peak},
          {"kept_bytes", stats.kept_bytes}};
}

std::string GenerationJson(const Generation& generation, std::string_view method) {
  Json stats = StatsJson(generation.stats);
  stats["method"] = method;
  stats["stop"] = Name(generation.stop);
  return "{\"tool_calls\": " + CallsJson(generation.calls) +
         ", \"text\": " + DumpSpaced(Json(ReplaceInvalidUtf8(generation.text))) +
         ", \"stats\": " + DumpSpaced(stats) + "}";
}

}  // namespace schemafill
