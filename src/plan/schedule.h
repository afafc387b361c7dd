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
  int call = 0;          // position in the answer that it is meant for now
  int tool = 0;          // index in Catalog::tools
  bool bound = false;    // a verified header names its tool at its position
  bool retired = false;  // its call is complete, came with another tool or can't come any more
  std::vector<ScheduledField> fields;  // top-level arguments in rendered order
};

// Groups are added for calls in front of this one only: a model that repeats itself may never end
// its list, and each group takes prepared values and room in the KV cache.
constexpr int kMaxScheduledCalls = 16;

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
  int tool = 0;       // the group's tool, index in Catalog::tools
  std::string field;  // empty: the group
  // `rebound: get_time is call 1 now`, `bound: get_time, call 1`, `written: get_time.zone, call 1`
  std::string Dump(const Catalog& catalog) const;
};

struct ActiveField {
  int group = 0;  // index in Schedule::groups()
  int field = 0;  // index in its fields
  friend bool operator==(const ActiveField&, const ActiveField&) = default;
};

// One for a request. The catalog and the forecast must outlive it.
class Schedule {
 public:
  Schedule(const Catalog& catalog, const Forecast& forecast);

  // Takes in what the answer says by now: what happened, in the order of the text, the same however
  // the text comes in parts. A call's name counts with its closing quote, a key with its colon.
  // Keys in front of the name wait for it. An answer in prose changes nothing, and one in another
  // format at most ends the list. Cost: linear in the new text.
  // REQUIRES: the text of `answer` begins with that of the last call.
  std::vector<ScheduleEvent> Align(const Answer& answer);

  // The open fields of the current call's group, the required ones first, then the open required
  // ones of the next call's group, all in rendered order. Optional ones are mostly left out: they
  // wait until MAIN comes to their call.
  std::vector<ActiveField> Active() const;

  // The group that stands for call `call` and is not retired; -1 without one.
  int GroupOf(int call) const;

  const std::vector<ScheduledGroup>& groups() const { return groups_; }
  const ScheduledGroup& group(const ActiveField& slot) const {
    return groups_[static_cast<size_t>(slot.group)];
  }
  const ScheduledField& field(const ActiveField& slot) const {
    return group(slot).fields[static_cast<size_t>(slot.field)];
  }

 private:
  // What the text of an answer does, byte by byte.
  void Follow(char byte);
  void BeginCall();
  void TakeHeader();
  void TakeKey(std::string_view key);
  void CloseCall();
  void EndList();

  void Bind(int tool);
  void Write(const std::string& key);
  int UnusedGroup(int tool) const;
  int AddGroup(int call, int tool);
  void Slide();
  void Retire(int group);
  void Tell(Transition transition, int group, std::string_view field = {});
  ScheduledGroup& at(int group) { return groups_[static_cast<size_t>(group)]; }

  const Catalog& catalog_;
  const Forecast& forecast_;
  std::vector<ScheduledGroup> groups_;
  std::vector<ScheduleEvent> events_;  // of the Align that runs

  Answer seen_;                          // what was taken in, to see each byte's effect
  int current_ = 0;                      // the call that MAIN writes or comes to next
  bool open_ = false;                    // that call has begun
  size_t depth_ = 0;                     // index of its frame
  bool named_ = false;                   // its header is verified
  std::vector<std::string> early_keys_;  // of its arguments, in front of its name
  bool ended_ = false;
};

}  // namespace schemafill
