#include "train/json_lines.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/lines.h"

namespace schemafill {

Status ReadJsonLines(const std::string& path, const std::function<Status(const Json&)>& take) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file) return BadInput(fmt::format("'{}' can't be opened; check the path", path));
  text << file.rdbuf();
  for (Lines lines(text.view()); lines.Next();) {
    const Result<Json> value = ParseJson(lines.line(), "JSON");
    const Status taken = value ? take(*value) : Status(value.error());
    if (!taken) {
      return BadInput(fmt::format("{}: line {}: {}", path, lines.number(), taken.error().message));
    }
  }
  return {};
}

}  // namespace schemafill
