// Peers: methods that llama.cpp's own llama-server runs, on the same model file, head, prompt
// tokens and threads, timed by its own clock. They are measured beside ours; what they answer
// promises nothing.
//
// How its figures become ours, so that rows of a table compare:
//   answer     cut where our session stops: its tokens are committed one by one like our own
//   decode_ms  tokens kept x llama-server's own time per token, predicted_ms / (predicted_n - 1):
//              the first token comes with the prompt there, and costs a forward in our count
//   forwards   predicted_n - draft_n_accepted: each forward gives one token of its own, the first
//              one included, as in our count; of it the share of tokens kept. (A draft that runs
//              beyond the end token counts up to the whole of it as accepted: less than one forward
//              an answer.)
//   nodes      draft_n, the same share
// Tested by tests/apps/llama_server_test.cc and peers_cli_test.py.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/llama_server.h"
#include "apps/options.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/target_model.h"

namespace schemafill {

struct PeerMethod {
  enum class Drafts { kNone, kNgram, kEagle3 };

  std::string_view name;
  Drafts drafts = Drafts::kNone;
  bool tuned = true;  // by PeerArguments; otherwise as llama-server comes
};

// Null for other names.
const PeerMethod* FindPeer(std::string_view name);

// Any method's name: the engine's own or a peer's.
struct AnyMethod {
  MethodSpec spec = Method::kAr;     // where peer is null
  const PeerMethod* peer = nullptr;  // of a table that lives as long as the program

  std::string_view name() const { return peer != nullptr ? peer->name : Name(spec); }
  bool lossy() const { return peer == nullptr && IsLossy(spec); }
  bool exact() const { return peer == nullptr && !lossy(); }  // promises the answer of `ar`
  friend bool operator==(const AnyMethod&, const AnyMethod&) = default;
};

// The error lists the names of both kinds.
Result<AnyMethod> ParseAnyMethod(std::string_view name);

struct PeerOptions {
  std::string program;  // empty: the one that `make peer-tools` built
};

void AddPeerOptions(CLI::App& command, PeerOptions* options);

// The llama-server to run; empty where set-up built none. Errors: the one that the user named is
// not there.
Result<std::string> FindLlamaServer(const PeerOptions& options);

// "no llama-server at ...: build it with `make peer-tools`, ...".
std::string NoLlamaServer();

// What llama-server is started with. Errors: the method drafts with a head and there is none.
//
// Tuned is: on the CPU our own cache types and attention (K q8_0, V f16, flash attention), no store
// of old prompts, and for n-grams the best of tools/peer_trial.py. That ran the first 4 requests,
// composed for several calls from BFCL's training files, at most 130 tokens each, default model, 1
// thread, on a machine busy with other work: speed-ups are good to about a third, AL and nodes are
// exact. All answers were those of plain decoding. Two rounds; numbers behind ngram-mod are
// n-match, n-min and n-max, behind the others size-n and size-m:
//
//   setting              AL  nodes/verify  speed-up over plain
//   plain, its defaults 1.00     0          0.97
//   ngram-simple 12 48  1.38     0.6        1.53, 1.01   (its defaults)
//   ngram-simple 6 12   1.69     1.3              1.21
//   ngram-simple 4 8    2.00     2.2              0.89
//   ngram-simple 3 4    2.06     1.9        1.37
//   ngram-map-k 3 4     1.58     0.8        1.31
//   ngram-map-k4v 3 4   1.49     0.6        1.26
//   ngram-cache         1.25     1.2        1.03         (--spec-draft-n-max 3)
//   ngram-mod 8 2 16    1.65     1.5              1.62
//   ngram-mod 6 1 12    1.82     1.8              1.66   <- taken
//   ngram-mod 4 1 16    2.30     4.6              1.24
//   ngram-mod 4 1 8     2.18     2.7        1.57, 1.42
//   ngram-mod 4 1 4     2.00     1.7              0.96
//
// ngram-mod remembers n-grams of earlier requests and gets better with each, as it would in use.
// Drafts by a head keep llama-server's own 3 tokens. Where the method is not tuned, n-grams are
// those of --spec-default.
Result<std::vector<std::string>> PeerArguments(const PeerMethod& method, const ModelOptions& model,
                                               const ModelInfo& info);

// A peer's server with our tokenizer, prompt and end of an answer. Not thread-safe.
class Peer {
 public:
  // The target must outlive it, and be the one of model.model.
  static Result<std::unique_ptr<Peer>> Start(const PeerMethod& method, const std::string& program,
                                             const ModelOptions& model, const TargetModel& target);

  // Errors: a temperature above 0, since other samplers draw other tokens; what llama-server can't
  // do. One that ended is started again for the next request.
  Result<Generation> Generate(const Request& request, const GenerateOptions& options);

 private:
  Peer(LlamaServerOptions server_options, const TargetModel& target)
      : server_options_(std::move(server_options)), target_(target) {}

  LlamaServerOptions server_options_;
  const TargetModel& target_;
  std::unique_ptr<LlamaServer> server_;
};

}  // namespace schemafill
