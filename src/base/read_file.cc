#include "base/read_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace schemafill {

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return BadInput(path + ": is a folder; give a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return BadInput(path + ": can't be read: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace schemafill
