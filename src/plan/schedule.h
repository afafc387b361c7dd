// Which argument fields are worth drafting now (paper 4.2; Algorithm 1, lines 8 and 22).
//
// The forecast's call groups stand in a row: call 0, call 1, ... The fields of the call that MAIN
// writes and of the next one are active. What MAIN has verified moves the row along: fields are
// written or ruled out, a group changes its place when the calls come in another order, and a group
// is added for a call that nobody forecast. A field is an argument of the call, a whole value
// however nested.
//
// A schedule decides where draft computation is spent, never what is output. Tested by
// tests/plan/schedule_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"
#include "catalog/catalog.h"
#include "forecast/forecast.h"

namespace schemafill {

enum class FieldState {
  kOpen,     // may come, and is worth drafting
  kPassed,   // MAIN went by it: not worth drafting, but its prepared value stays a candidate
  kWritten,  // MAIN has begun its value
  kRetired,  // can't come any more
};

std::string_view Name(FieldState state);

struct ScheduledField {
  std::string name;
  bool required = false;
  FieldState state = FieldState::kOpen;
};

// A producer: the fields of one forecast call. Its index in Schedule::groups() never changes.
struct ScheduledGroup {
  int call = 0;        // position in the answer that it is meant for now
  int tool = 0;        // index in Catalog::tools
  bool bound = false;  // a verified header names its tool at its position
  std::vector<ScheduledField> fields;  // top-level arguments in rendered order
};

// What a verified token can do to the schedule.
enum class Transition {
  kBound,       // group: the call came as forecast
  kRebound,     // group: an unused group of the verified tool changes places with the one here
  kAdded,       // group: a call that no unused group stands for, or the window slides on past B
  kOtherTool,   // group: the call came with another tool; its open fields are retired
  kWritten,     // field: MAIN has begun its value
  kSkipped,     // field: MAIN went on to a field behind it, though it is required
  kOmitted,     // field: the same of an optional one
  kCallClosed,  // group: the call is complete; what is left of its fields is retired
  kListEnded,   // group: no more calls come; it is retired
};

std::string_view Name(Transition transition);

struct ScheduleEvent {
  Transition transition{};
  int group = 0;      // index in Schedule::groups()
  int call = 0;       // the group's position now
  std::string field;  // empty: the group
  std::string Dump(const Catalog& catalog) const;  // `rebound: get_time is call 1 now`
};

struct ActiveField {
  int group = 0;  // index in Schedule::groups()
  int field = 0;  // index in its fields
};

// One for a request. The catalog and the forecast must outlive it.
class Schedule {
 public:
  Schedule(const Catalog& catalog, const Forecast& forecast);

  // Takes in what the answer says by now. Calls, keys and closed brackets count once they are
  // complete in the verified text. An answer in prose or in another format changes nothing.
  // `answer` only grows from call to call.
  std::vector<ScheduleEvent> Align(const Answer& answer);

  // The open fields of the current group and of the next one, the most urgent first: the current
  // call's in rendered order, then the next call's; of either the required ones first.
  std::vector<ActiveField> Active() const;

  // The group that stands for call `call` and is not retired; -1 without one.
  int GroupOf(int call) const;

  const std::vector<ScheduledGroup>& groups() const { return groups_; }

 private:
  const Catalog& catalog_;
  const Forecast& forecast_;
  std::vector<ScheduledGroup> groups_;
  int current_ = 0;  // the call that MAIN writes or comes to next
  bool ended_ = false;
};

}  // namespace schemafill
