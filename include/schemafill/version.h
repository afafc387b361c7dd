// The version of the library that a program is linked with.
#pragma once

#include <string_view>

namespace schemafill {

// "major.minor.patch".
std::string_view Version();

}  // namespace schemafill
