#include "apps/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace schemafill {
namespace fs = std::filesystem;

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// The checkout where the program lies in its build folder.
fs::path AboveTheProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

}  // namespace

fs::path AssetsFolder() {
  if (const std::string given = Environment("SCHEMAFILL_ASSETS"); !given.empty()) return given;
  std::error_code error;
  const fs::path above = AboveTheProgram();
  const fs::path installed = above / "share" / "schemafill";
  return fs::exists(installed, error) ? installed : above / "assets";
}

fs::path PeerToolsFolder() {
  if (const std::string given = Environment("SCHEMAFILL_PEER_TOOLS"); !given.empty()) return given;
  return AboveTheProgram() / ".peer-tools";
}

fs::path CacheFolder() {
  if (const std::string given = Environment("SCHEMAFILL_CACHE"); !given.empty()) return given;
  if (const std::string cache = Environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "schemafill";
  return fs::path(Environment("HOME")) / ".cache" / "schemafill";
}

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  if (fs::is_directory(path, error))
    return BadInput(fmt::format("{}: is a folder; give a file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return BadInput(fmt::format("{}: can't be read: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace schemafill
