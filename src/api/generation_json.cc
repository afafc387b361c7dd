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
          {"forecast_ms", Rounded(stats.forecast_ms)},
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

GenerateStats ParseStats(const Json& json) {
  GenerateStats stats;
  json.at("prompt_tokens").get_to(stats.prompt_tokens);
  json.at("reused_tokens").get_to(stats.reused_tokens);
  json.at("tokens").get_to(stats.tokens);
  json.at("forwards").get_to(stats.forwards);
  json.at("lossy").get_to(stats.lossy);
  json.at("nodes").get_to(stats.nodes);
  json.at("side_rows").get_to(stats.side_rows);
  json.at("accepted_nodes").get_to(stats.accepted);
  json.at("prepare_ms").get_to(stats.prepare_ms);
  json.at("forecast_ms").get_to(stats.forecast_ms);
  json.at("prefill_ms").get_to(stats.prefill_ms);
  json.at("draft_ms").get_to(stats.draft_ms);
  json.at("verify_ms").get_to(stats.verify_ms);
  json.at("total_ms").get_to(stats.total_ms);
  json.at("kept_cells").get_to(stats.cells.peak_kept);
  json.at("peak_cells").get_to(stats.cells.peak);
  json.at("kept_bytes").get_to(stats.kept_bytes);
  return stats;
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
