// The machine that figures come from, without names that would tell whose it is.
#pragma once

#include "json/json.h"

namespace schemafill {

// {"cpu": "...", "cores": 2, "instructions": ["avx2", ...], "memory_gib": 16, "system": "..."}.
// What the system doesn't tell is left out.
Json MachineJson();

// "AMD EPYC ..., 2 cores, avx2 avx512f, 16 GiB".
std::string MachineText(const Json& machine);

}  // namespace schemafill
