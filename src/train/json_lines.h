// Files of JSON lines.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "json/json.h"

namespace schemafill {

// Gives `take` the value of each line that is not blank. Errors name the file; those of a line,
// `take`'s among them, its number too.
Status ReadJsonLines(const std::string& path, const std::function<Status(const Json&)>& take);

}  // namespace schemafill
