#include "train/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace schemafill {
namespace {

TEST(ParallelFor, DoesEverythingOnce) {
  for (const int threads : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> done(20);
    ParallelFor(threads, 20, [&](int i) { ++done[i]; });
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
  ParallelFor(2, 0, [](int) { FAIL(); });
}

TEST(ParallelFor, PassesAnExceptionOn) {
  EXPECT_THROW(ParallelFor(2, 5,
                           [](int i) {
                             if (i == 3) throw std::runtime_error("3");
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace schemafill
