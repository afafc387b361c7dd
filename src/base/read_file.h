// A whole file at once.
#pragma once

#include <string>

#include "base/result.h"

namespace schemafill {

// "-" is standard input. The error names the file and the reason.
Result<std::string> ReadFile(const std::string& path);

}  // namespace schemafill
