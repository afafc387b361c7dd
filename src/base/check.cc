#include "base/check.h"

#include <fmt/format.h>

namespace schemafill {

void FailCheck(std::string_view what, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  throw InternalError(fmt::format("internal error: {} ({}:{})", what, file, where.line()));
}

}  // namespace schemafill
