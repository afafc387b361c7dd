#include "measure/paper.h"

#include <array>

namespace schemafill {
namespace {

constexpr auto kRows = std::to_array<PaperRow>({
    {1, "glaive", "ar", 1.00, 91.21, 1.00, 1.0},
    {1, "glaive", "eagle3", 3.24, 225.04, 2.47, 1.0},
    {1, "glaive", "toolspec", 2.64, 194.47, 2.13, 1.0},
    {1, "glaive", "parallel-fill", 0, 219.79, 2.41, 0.8262},
    {1, "glaive", "schemafill", 6.21, 340.60, 3.73, 1.0},
    {1, "bfcl", "ar", 1.00, 92.68, 1.00, 1.0},
    {1, "bfcl", "eagle3", 2.84, 200.99, 2.17, 1.0},
    {1, "bfcl", "toolspec", 3.27, 241.06, 2.60, 1.0},
    {1, "bfcl", "parallel-fill", 0, 233.35, 2.52, 0.6244},
    {1, "bfcl", "schemafill", 6.42, 375.71, 4.05, 1.0},
    // Speed-up over stage A.
    {2, "bfcl", "eagle3", 2.84, 200.99, 1.00, {}},
    {2, "bfcl", "schemafill-b", 4.57, 297.61, 1.48, {}},
    {2, "bfcl", "schemafill-c", 5.48, 330.46, 1.64, {}},
    {2, "bfcl", "schemafill", 6.42, 375.71, 1.87, {}},
    {6, "glaive", "ar", 1.00, 91.01, 1.00, {}},
    {6, "glaive", "eagle3", 3.12, 203.27, 2.23, {}},
    {6, "glaive", "toolspec", 2.62, 190.64, 2.09, {}},
    {6, "glaive", "schemafill", 5.99, 326.13, 3.58, {}},
    {6, "bfcl", "ar", 1.00, 92.22, 1.00, {}},
    {6, "bfcl", "eagle3", 2.75, 188.13, 2.04, {}},
    {6, "bfcl", "toolspec", 3.28, 238.57, 2.59, {}},
    {6, "bfcl", "schemafill", 6.16, 356.61, 3.87, {}},
});

constexpr auto kCallCounts = std::to_array<PaperCallCount>({
    {1, 5.14, 265.95, 23.43},
    {2, 7.98, 438.62, 35.76},
    {3, 8.06, 443.54, 39.29},
    {4, 7.54, 410.72, 42.71},
});

}  // namespace

const PaperRow* FindPaperRow(int table, std::string_view dataset, std::string_view method) {
  const std::string_view theirs = dataset == "single650" ? "glaive" : dataset;
  for (const PaperRow& row : kRows) {
    if (row.table == table && row.dataset == theirs && row.method == method) return &row;
  }
  return nullptr;
}

const PaperCallCount* FindPaperCallCount(int calls) {
  for (const PaperCallCount& row : kCallCounts) {
    if (row.calls == calls) return &row;
  }
  return nullptr;
}

}  // namespace schemafill
