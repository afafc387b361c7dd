// Where things lie on this machine.
#pragma once

#include <filesystem>
#include <string>

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

}  // namespace schemafill
