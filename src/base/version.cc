#include "base/version.h"

namespace schemafill {

std::string_view Version() { return SCHEMAFILL_VERSION; }

}  // namespace schemafill
