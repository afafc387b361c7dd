#include "plan/schedule.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "json/json.h"

namespace schemafill {
namespace {

ScheduledGroup MakeGroup(const Catalog& catalog, int call, int tool) {
  ScheduledGroup group{.call = call, .tool = tool, .fields = {}};
  const SchemaId parameters = catalog.tools[static_cast<size_t>(tool)].parameters;
  for (const Property& property : catalog.node(parameters).properties) {
    group.fields.push_back({.name = property.name, .required = property.required});
  }
  return group;
}

}  // namespace

std::string_view Name(FieldState state) {
  switch (state) {
    case FieldState::kOpen:
      return "open";
    case FieldState::kPassed:
      return "passed";
    case FieldState::kWritten:
      return "written";
    case FieldState::kRetired:
      return "retired";
  }
  return "";
}

std::string_view Name(Transition transition) {
  switch (transition) {
    case Transition::kBound:
      return "bound";
    case Transition::kRebound:
      return "rebound";
    case Transition::kAdded:
      return "added";
    case Transition::kOtherTool:
      return "other tool";
    case Transition::kWritten:
      return "written";
    case Transition::kSkipped:
      return "skipped";
    case Transition::kOmitted:
      return "omitted";
    case Transition::kCallClosed:
      return "call closed";
    case Transition::kListEnded:
      return "list ended";
  }
  return "";
}

std::string ScheduleEvent::Dump(const Catalog& catalog) const {
  const std::string& name = catalog.tools[static_cast<size_t>(tool)].name;
  if (transition == Transition::kRebound) {
    return fmt::format("{}: {} is call {} now", Name(transition), name, call);
  }
  return fmt::format("{}: {}{}{}, call {}", Name(transition), name, field.empty() ? "" : ".", field,
                     call);
}

Schedule::Schedule(const Catalog& catalog, const Forecast& forecast)
    : catalog_(catalog), forecast_(forecast) {
  for (const CallGroup& group : forecast.groups) {
    groups_.push_back(MakeGroup(catalog, group.call, group.tool));
  }
}

std::vector<ScheduleEvent> Schedule::Align(const Answer& answer) {
  const std::string_view text = answer.text();
  Check(text.size() >= seen_.text().size() || ended_, "the answer lost text");
  while (!ended_ && seen_.text().size() < text.size()) Follow(text[seen_.text().size()]);
  return std::exchange(events_, {});
}

// All that moves the schedule on happens at a byte of structure, so one look behind each is enough.
void Schedule::Follow(char byte) {
  const JsonCursor& json = seen_.json();
  const bool in_list = seen_.place() == Place::kCalls;
  const Anchor anchor_before = json.anchor();
  const size_t depth_before = json.frames().size();
  seen_.Feed(std::string_view(&byte, 1));
  if (json.anchor() == Anchor::kProse) return;  // "[1": what looked like a list is none

  const size_t depth = json.frames().size();
  if (seen_.current_call() >= current_ + (open_ ? 1 : 0)) BeginCall();
  if (open_ && !named_ && !seen_.calls().back().name.empty()) TakeHeader();
  const bool colon = json.anchor() == Anchor::kColon && anchor_before == Anchor::kKey;
  if (open_ && colon && seen_.among_arguments()) TakeKey(json.frames().back().key());
  if (open_ && depth <= depth_) CloseCall();
  if (json.closed() || (in_list && depth < depth_before)) EndList();
}

void Schedule::BeginCall() {
  if (open_) CloseCall();  // a bare call with a list of calls in it
  current_ = seen_.current_call();
  depth_ = seen_.json().frames().size() - 1;
  open_ = true;
  named_ = false;
  early_keys_.clear();
  Slide();
}

void Schedule::TakeHeader() {
  named_ = true;
  Bind(catalog_.Find(seen_.calls().back().name));
  for (const std::string& key : early_keys_) Write(key);
}

// Gives the current call a group of the verified tool; -1: none that is known.
void Schedule::Bind(int tool) {
  const int here = GroupOf(current_);
  if (here >= 0 && at(here).tool == tool) {
    at(here).bound = true;
    return Tell(Transition::kBound, here);
  }
  const int unused = UnusedGroup(tool);
  if (unused >= 0) {
    if (here >= 0) at(here).call = at(unused).call;
    at(unused).call = current_;
    at(unused).bound = true;
    return Tell(Transition::kRebound, unused);
  }
  if (here >= 0) {
    Retire(here);
    Tell(Transition::kOtherTool, here);
  }
  if (tool < 0 || current_ >= kMaxScheduledCalls) return;
  const int added = AddGroup(current_, tool);
  at(added).bound = true;
}

void Schedule::TakeKey(std::string_view key) {
  if (named_) {
    Write(UnescapeJson(key));
  } else {
    early_keys_.push_back(UnescapeJson(key));
  }
}

// Takes the argument of the current call as written, and those in front of it as gone by.
void Schedule::Write(const std::string& key) {
  const int group = GroupOf(current_);
  if (group < 0) return;
  std::vector<ScheduledField>& fields = at(group).fields;
  size_t place = 0;
  while (place < fields.size() && fields[place].name != key) ++place;
  if (place == fields.size() || fields[place].state == FieldState::kWritten) return;
  for (size_t i = 0; i < place; ++i) {
    if (fields[i].state != FieldState::kOpen) continue;
    fields[i].state = FieldState::kPassed;
    Tell(fields[i].required ? Transition::kSkipped : Transition::kOmitted, group, fields[i].name);
  }
  fields[place].state = FieldState::kWritten;
  Tell(Transition::kWritten, group, fields[place].name);
}

void Schedule::CloseCall() {
  open_ = false;
  const int group = GroupOf(current_);
  if (group >= 0) {
    Retire(group);
    Tell(Transition::kCallClosed, group);
  }
  ++current_;
  if (!seen_.json().closed()) Slide();
}

void Schedule::EndList() {
  ended_ = true;
  for (int group = 0; group < static_cast<int>(groups_.size()); ++group) {
    if (at(group).retired) continue;
    Retire(group);
    Tell(Transition::kListEnded, group);
  }
}

// The one that is meant to come first. Those that are bound belong to earlier calls and are
// retired.
int Schedule::UnusedGroup(int tool) const {
  int found = -1;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const ScheduledGroup& group = groups_[i];
    if (group.tool != tool || group.retired) continue;
    if (found < 0 || group.call < groups_[static_cast<size_t>(found)].call) {
      found = static_cast<int>(i);
    }
  }
  return found;
}

int Schedule::AddGroup(int call, int tool) {
  const int group = static_cast<int>(groups_.size());
  groups_.push_back(MakeGroup(catalog_, call, tool));
  Tell(Transition::kAdded, group);
  return group;
}

// Keeps a group at the next call, so that the current one has one as well. A forecast without
// groups (a budget of 0) is left alone.
void Schedule::Slide() {
  const int next = current_ + 1;
  if (forecast_.groups.empty() || next >= kMaxScheduledCalls || GroupOf(next) >= 0) return;
  AddGroup(next, forecast_.ranking[static_cast<size_t>(next) % forecast_.ranking.size()].tool);
}

void Schedule::Retire(int group) {
  at(group).retired = true;
  for (ScheduledField& field : at(group).fields) {
    if (field.state != FieldState::kWritten) field.state = FieldState::kRetired;
  }
}

void Schedule::Tell(Transition transition, int group, std::string_view field) {
  events_.push_back({.transition = transition,
                     .group = group,
                     .call = at(group).call,
                     .tool = at(group).tool,
                     .field = std::string(field)});
}

std::vector<ActiveField> Schedule::Active() const {
  std::vector<ActiveField> active;
  for (const int call : {current_, current_ + 1}) {
    const int group = GroupOf(call);
    if (group < 0) continue;
    const std::vector<ScheduledField>& fields = groups_[static_cast<size_t>(group)].fields;
    for (const bool required : {true, false}) {
      if (call != current_ && !required) continue;
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].state != FieldState::kOpen || fields[i].required != required) continue;
        active.push_back({.group = group, .field = static_cast<int>(i)});
      }
    }
  }
  return active;
}

int Schedule::GroupOf(int call) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].call == call && !groups_[i].retired) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace schemafill
