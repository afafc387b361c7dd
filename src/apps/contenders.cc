#include "apps/contenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace schemafill {
namespace {

Result<Contender> ParseContender(const std::string& name) {
  Contender contender;
  contender.name = name;
  const size_t at = name.find('@');
  const Result<AnyMethod> method = ParseAnyMethod(name.substr(0, at));
  if (!method) return method.error();
  contender.method = *method;
  if (at == std::string::npos) return contender;
  if (method->peer != nullptr)
    return BadInput(fmt::format("{}: a method of llama.cpp has no preset", name));
  const Result<Preset> preset = ParsePreset(name.substr(at + 1));
  if (!preset) return preset.error();
  contender.preset = *preset;
  return contender;
}

}  // namespace

Result<std::vector<Contender>> ParseContenders(const std::vector<std::string>& names) {
  std::vector<Contender> contenders;
  contenders.emplace_back().name = Name(Method::kAr);
  for (const std::string& name : names) {
    Result<Contender> contender = ParseContender(name);
    if (!contender) return contender.error();
    const auto same = [&](const Contender& other) { return other.name == name; };
    if (std::none_of(contenders.begin(), contenders.end(), same))
      contenders.push_back(std::move(*contender));
  }
  return contenders;
}

bool NeedsCost(std::span<const Contender> contenders, Preset preset) {
  return std::any_of(contenders.begin(), contenders.end(), [&](const Contender& contender) {
    return contender.preset.value_or(preset) == Preset::kAuto;
  });
}

Status StartPeers(const PeerOptions& options, const ModelOptions& model, const TargetModel& target,
                  std::vector<Contender>& contenders) {
  const Result<std::string> program = FindLlamaServer(options);
  if (!program) return program.error();
  std::string skipped;
  for (Contender& contender : contenders) {
    const PeerMethod* method = contender.method.peer;
    if (method == nullptr) continue;
    if (program->empty()) {
      skipped += fmt::format("{}{}", skipped.empty() ? "" : ", ", contender.name);
      continue;
    }
    Result<std::unique_ptr<Peer>> peer = Peer::Start(*method, *program, model, target);
    if (!peer) return peer.error();
    contender.peer = std::move(*peer);
  }
  if (!skipped.empty()) fmt::print(stderr, "skipped: {}: {}\n", skipped, NoLlamaServer());
  std::erase_if(contenders, [](const Contender& contender) {
    return contender.method.peer != nullptr && contender.peer == nullptr;
  });
  return {};
}

void Remember(std::string_view text, Memory* memory) {
  Answer answer;
  answer.Feed(text);
  memory->recall.Add(answer);
}

Result<Generation> RunContender(Contender& contender, Engine& engine, const Request& request,
                                GenerateOptions options, std::span<const int> plain) {
  if (contender.peer != nullptr) return contender.peer->Generate(request, options);
  std::vector<Token> answer;
  for (const int id : plain) answer.push_back(Token{id});
  options.known_answer = answer;
  options.method = contender.method.spec;
  options.preset = contender.preset.value_or(options.preset);
  options.memory = &contender.memory;
  return engine.Generate(request, options);
}

}  // namespace schemafill
