// Measures what a forward costs by its rows (see plan/cost.h).
// Tested by tests/plan/cost_test.cc.
#pragma once

#include "model/target_model.h"
#include "plan/cost.h"

namespace schemafill {

struct MeasuredCost {
  CostCurve curve;
  // Whether repeats of the same forward took about the same time. If not, other programs kept the
  // machine busy: the curve will do for this run but is not worth keeping.
  bool steady = false;
};

// A few forwards of 1 to 32 rows behind a short prefix, fewer on a slow model; below half a second
// for a small one. Leaves the cells empty. REQUIRES: nobody else uses the model's cells.
MeasuredCost MeasureCost(TargetModel& model);

}  // namespace schemafill
