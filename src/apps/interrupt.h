// Ctrl-C in long runs: what is in hand is finished and kept; a second one ends the program at once.
#pragma once

namespace schemafill {

void CatchInterrupt();
bool Interrupted();

}  // namespace schemafill
