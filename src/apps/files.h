// Where things lie on this machine, and where they are written to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace schemafill {

// Folder that set-up filled with the default model and the data sets: $SCHEMAFILL_ASSETS, else
// assets/ beside the build folder, else share/schemafill beside an installed bin/.
std::filesystem::path AssetsFolder();

// Folder of llama.cpp's own programs: $SCHEMAFILL_PEER_TOOLS, else .peer-tools/ beside the build
// folder, which `make peer-tools` makes.
std::filesystem::path PeerToolsFolder();

// Folder for what can be measured again: $SCHEMAFILL_CACHE, else $XDG_CACHE_HOME/schemafill, else
// ~/.cache/schemafill.
std::filesystem::path CacheFolder();

// Writes a page that `option` names, and tells stderr where it is; "-" is stdout. The error names
// option, file and reason.
Status WriteOutput(std::string_view option, const std::string& path, std::string_view text);

}  // namespace schemafill
