#include "measure/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cmath>
#include <sstream>
#include <thread>

#include "base/lines.h"
#include "base/read_file.h"

namespace schemafill {
namespace {

// What decides how fast a CPU multiplies.
constexpr auto kInstructions = std::to_array<std::string_view>(
    {"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
     "amx_int8", "amx_bf16", "asimd", "asimddp", "i8mm", "sve"});

// Value of the first line `name : value` of a file of such lines; empty: none.
std::string Field(std::string_view text, std::string_view name) {
  for (Lines lines(text); lines.Next();) {
    const std::string_view line = lines.line();
    const size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string_view::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? "" : std::string(line.substr(begin));
  }
  return "";
}

std::string ReadOrNothing(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  return text ? std::move(*text) : std::string();
}

}  // namespace

Json MachineJson() {
  Json machine = Json::object();
  const std::string cpu = ReadOrNothing("/proc/cpuinfo");
  if (const std::string name = Field(cpu, "model name"); !name.empty()) machine["cpu"] = name;
  machine["cores"] = std::thread::hardware_concurrency();
  const std::string flags = Field(cpu, "flags") + " " + Field(cpu, "Features");
  Json instructions = Json::array();
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    for (const std::string_view wanted : kInstructions) {
      if (word == wanted) instructions.push_back(word);
    }
  }
  machine["instructions"] = instructions;
  const std::string memory = Field(ReadOrNothing("/proc/meminfo"), "MemTotal");  // "16384 kB"
  if (!memory.empty()) machine["memory_gib"] = std::round(std::stod(memory) / (1 << 20));
  utsname system{};
  if (uname(&system) == 0) machine["system"] = fmt::format("{} {}", system.sysname, system.machine);
  return machine;
}

std::string MachineText(const Json& machine) {
  const auto read = [&](const char* name) { return machine.value(name, Json()); };
  const Json cpu = read("cpu"), cores = read("cores"), memory = read("memory_gib");
  std::string text = cpu.is_string() ? cpu.get<std::string>() : "unknown CPU";
  if (cores.is_number()) text += fmt::format(", {} cores", cores.get<int>());
  std::string_view before = ", ";
  for (const Json& word : read("instructions")) {
    if (!word.is_string()) continue;
    text += fmt::format("{}{}", before, word.get<std::string>());
    before = " ";
  }
  if (memory.is_number()) text += fmt::format(", {:.0f} GiB", memory.get<double>());
  return text;
}

}  // namespace schemafill
