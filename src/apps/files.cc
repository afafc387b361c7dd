#include "apps/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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

Status WriteOutput(std::string_view option, const std::string& path, std::string_view text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) {
    return BadInput(fmt::format("{} {}: can't be written: {}; name another file or folder", option,
                                path, std::strerror(errno)));
  }
  fmt::print(stderr, "{}\n", path);
  return {};
}

}  // namespace schemafill
