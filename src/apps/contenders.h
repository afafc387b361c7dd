// The methods of a run of `verify` or `bench`, each with what is its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/peers.h"
#include "base/result.h"
#include "engine/engine.h"

namespace schemafill {

struct Contender {
  std::string name;  // "schemafill", or "schemafill@paper" with a preset of its own
  AnyMethod method;
  std::optional<Preset> preset;
  std::unique_ptr<Peer> peer;  // its server, where it has one
  Memory memory;               // what `ar` has just answered nobody may recall
};

// Plain decoding first, each one once. Errors: an unknown method or preset; a peer with a preset.
Result<std::vector<Contender>> ParseContenders(const std::vector<std::string>& names);

// Whether one of them drafts by what a row costs; `preset` is that of those without their own.
bool NeedsCost(std::span<const Contender> contenders, Preset preset);

// Starts the servers of peers. Where there is no llama-server, says so on stderr and takes them
// out.
Status StartPeers(const PeerOptions& options, const ModelOptions& model, const TargetModel& target,
                  std::vector<Contender>& contenders);

// A finished answer goes into the method's memory as it would have then. What tokens were recycled
// is lost.
void Remember(std::string_view text, Memory* memory);

// `plain` is the answer of `ar`, for `oracle`.
Result<Generation> RunContender(Contender& contender, Engine& engine, const Request& request,
                                GenerateOptions options, std::span<const int> plain);

}  // namespace schemafill
