// Where messages for people go. The library never prints: it hands lines to a sink that the
// application chose.
#pragma once

#include <functional>
#include <string_view>

namespace schemafill {

enum class LogLevel { kInfo, kWarning };

using LogSink = std::function<void(LogLevel, std::string_view line)>;

// Progress of a long step, `done` from 0 to 1.
using ProgressSink = std::function<void(std::string_view step, double done)>;

}  // namespace schemafill
