#include "apps/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "apps/files.h"
#include "base/clock.h"
#include "catalog/prompt.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;
using Drafts = PeerMethod::Drafts;

constexpr auto kPeers = std::to_array<PeerMethod>({
    {.name = "llamacpp"},
    {.name = "llamacpp-ngram", .drafts = Drafts::kNgram},
    {.name = "llamacpp-eagle3", .drafts = Drafts::kEagle3},
    {.name = "llamacpp-default", .tuned = false},
    {.name = "llamacpp-ngram-default", .drafts = Drafts::kNgram, .tuned = false},
    {.name = "llamacpp-eagle3-default", .drafts = Drafts::kEagle3, .tuned = false},
});

fs::path BuiltServer() { return PeerToolsFolder() / "bin" / "llama-server"; }

// Keeps what our session takes of the answer.
Status Cut(const LlamaServerAnswer& answer, const TargetModel& target, Session* session) {
  for (const Token token : answer.tokens) {
    if (Index(token) < 0 || Index(token) >= target.tokenizer().vocab_size()) {
      return Unavailable(
          fmt::format("llama-server's token {} is not in the model's vocabulary", Index(token)));
    }
  }
  Commit(answer.tokens, target.tokenizer(), session);
  // It sees the end of the context a token earlier.
  if (session->stop == StopReason::kNone) session->stop = StopReason::kLength;
  return {};
}

int ShareOf(int count, double share) { return static_cast<int>(std::lround(count * share)); }

GenerateStats StatsOf(const LlamaServerAnswer& answer, int kept) {
  const auto predicted = static_cast<int>(answer.tokens.size());
  const double share = static_cast<double>(kept) / predicted;
  GenerateStats stats;
  stats.reused_tokens = answer.prompt_reused;
  stats.tokens = kept;
  stats.forwards = std::max(1, ShareOf(predicted - answer.accepted, share));
  stats.nodes = ShareOf(answer.drafted, share);
  stats.accepted = ShareOf(answer.accepted, share);
  stats.prefill_ms = answer.prompt_ms;
  stats.verify_ms = kept * answer.predicted_ms / std::max(1, predicted - 1);
  return stats;
}

}  // namespace

const PeerMethod* FindPeer(std::string_view name) {
  const auto found = std::find_if(kPeers.begin(), kPeers.end(),
                                  [&](const PeerMethod& peer) { return peer.name == name; });
  return found == kPeers.end() ? nullptr : &*found;
}

Result<AnyMethod> ParseAnyMethod(std::string_view name) {
  if (const PeerMethod* peer = FindPeer(name)) return AnyMethod{.peer = peer};
  const Result<MethodSpec> spec = ParseMethod(name);
  if (spec) return AnyMethod{.spec = *spec};
  std::string known;
  for (const PeerMethod& peer : kPeers) known += fmt::format(", {}", peer.name);
  return BadInput(spec.error().message + known);  // ParseMethod's ends with its own names
}

void AddPeerOptions(CLI::App& command, PeerOptions* options) {
  command.add_option("--llama-server", options->program,
                     "The llama-server of methods llamacpp... (default: what `make peer-tools` "
                     "built)");
}

Result<std::string> FindLlamaServer(const PeerOptions& options) {
  std::error_code error;
  if (options.program.empty()) {
    const fs::path built = BuiltServer();
    return fs::exists(built, error) ? built.string() : std::string();
  }
  if (fs::is_regular_file(options.program, error)) return options.program;
  return BadInput(fmt::format("--llama-server {}: there is no such file", options.program));
}

std::string NoLlamaServer() {
  return fmt::format(
      "no llama-server at {}: build it with `make peer-tools`, or name one with --llama-server "
      "FILE",
      BuiltServer().string());
}

Result<std::vector<std::string>> PeerArguments(const PeerMethod& method, const ModelOptions& model,
                                               const ModelInfo& info) {
  const std::string threads = std::to_string(info.threads);
  // One slot: by default several share the context. No page to look at, nothing from the network.
  std::vector<std::string> words = {
      "--model",   ModelPath(model), "--ctx-size", std::to_string(info.context_size),
      "--threads", threads,          "--parallel", "1",
      "--no-ui",   "--offline"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (method.drafts == Drafts::kNgram && !method.tuned) add({"--spec-default"});
  if (method.drafts == Drafts::kEagle3) {
    const std::string head = HeadPath(model);
    if (head.empty())
      return BadInput(fmt::format("{} drafts with a head: give --head FILE.gguf", method.name));
    add({"--spec-type", "draft-eagle3", "--spec-draft-model", head, "--spec-draft-threads",
         threads});
  }
  if (!method.tuned) return words;
  // Our own cache types and attention (src/model/llama/settings.cc).
  if (info.device == "CPU") add({"--flash-attn", "on", "--cache-type-k", "q8_0"});
  if (method.drafts == Drafts::kNgram) {
    add({"--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", "6", "--spec-ngram-mod-n-min", "1",
         "--spec-ngram-mod-n-max", "12"});
  }
  add({"--cache-ram", "0"});  // kept prompts of earlier requests, which none here comes back to
  return words;
}

Result<std::unique_ptr<Peer>> Peer::Start(const PeerMethod& method, const std::string& program,
                                          const ModelOptions& model, const TargetModel& target) {
  Result<std::vector<std::string>> arguments = PeerArguments(method, model, target.info());
  if (!arguments) return arguments.error();
  std::unique_ptr<Peer> peer(
      new Peer({.program = program, .arguments = std::move(*arguments)}, target));
  Result<std::unique_ptr<LlamaServer>> server = LlamaServer::Start(peer->server_options_);
  if (!server) return BadInput(fmt::format("{}: {}", method.name, server.error().message));
  peer->server_ = std::move(*server);
  return peer;
}

Result<Generation> Peer::Generate(const Request& request, const GenerateOptions& options) {
  if (request.temperature.value_or(options.sampling.temperature) > 0)
    return BadInput("methods of llama.cpp are compared at temperature 0 only");
  const Stopwatch watch;
  const Prompt prompt = BuildPrompt(request, target_.tokenizer());
  const auto prompt_tokens = static_cast<int>(prompt.tokens.size());
  if (const Status status = CheckLength(prompt_tokens, target_.info()); !status)
    return status.error();
  Session session = StartSession(request, options, prompt, target_.info());
  const double prepare_ms = watch.ElapsedMs();

  if (server_ == nullptr || !server_->running()) {
    server_.reset();
    Result<std::unique_ptr<LlamaServer>> server = LlamaServer::Start(server_options_);
    if (!server) return server.error();
    server_ = std::move(*server);
  }
  const Result<LlamaServerAnswer> answer = server_->Complete(prompt.tokens, session.max_tokens);
  if (!answer) return answer.error();
  if (const Status cut = Cut(*answer, target_, &session); !cut) return cut.error();

  GenerateStats stats = StatsOf(*answer, static_cast<int>(session.tokens.size()));
  stats.prompt_tokens = prompt_tokens;
  stats.prepare_ms = prepare_ms;
  stats.total_ms = prepare_ms + stats.prefill_ms + stats.verify_ms;
  return FinishSession(session, stats);
}

}  // namespace schemafill
