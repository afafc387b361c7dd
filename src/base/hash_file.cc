#include "base/hash_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/random.h"

namespace schemafill {

Result<std::string> HashFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return BadInput(fmt::format("'{}' can't be read: {}", path, std::strerror(errno)));
  std::vector<uint64_t> words(1 << 17);  // 1 MiB
  uint64_t hash = 0;
  uint64_t bytes = 0;
  while (file) {
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof(uint64_t)));
    const auto got = static_cast<size_t>(file.gcount());
    // The rest of a last word that is not whole.
    std::memset(reinterpret_cast<char*>(words.data()) + got, 0,
                words.size() * sizeof(uint64_t) - got);
    for (size_t i = 0; i < (got + 7) / 8; ++i) hash = MixBits(hash ^ words[i]);
    bytes += got;
  }
  return fmt::format("{:016x}", MixBits(hash ^ bytes));
}

}  // namespace schemafill
