// Work on several examples at once. One thread an example beats several threads inside of each
// operation: the matrices are small.
#pragma once

#include <functional>

namespace schemafill {

// Calls work(0) .. work(count - 1), each once, on `threads` threads (0: the cores that this process
// may use) within which libtorch uses one. Returns when all are done; rethrows the first exception.
void ParallelFor(int threads, int count, const std::function<void(int)>& work);

}  // namespace schemafill
