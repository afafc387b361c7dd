// Which file it is. Tested by tests/base/hash_file_test.cc.
#pragma once

#include <string>

#include "base/result.h"

namespace schemafill {

// 16 hex digits that depend on every byte of the file, and its length: against mistakes, not
// against attackers. About a second a GB.
Result<std::string> HashFile(const std::string& path);

}  // namespace schemafill
