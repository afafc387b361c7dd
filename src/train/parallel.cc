#include "train/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace schemafill {

void ParallelFor(int threads, int count, const std::function<void(int)>& work) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  std::atomic<int> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    at::set_num_threads(1);
    for (int i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (int i = 0; i < std::min(threads, count); ++i) pool.emplace_back(run);
  for (std::thread& thread : pool) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace schemafill
