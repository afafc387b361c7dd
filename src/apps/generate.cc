// schemafill generate: one request to its tool calls.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "api/generation_json.h"
#include "apps/commands.h"
#include "apps/explain.h"
#include "apps/options.h"
#include "apps/peers.h"
#include "base/read_file.h"
#include "catalog/conformance.h"

namespace schemafill {
namespace {

struct GenerateCommand {
  ModelOptions model;
  DecodeOptions decode;
  PeerOptions peers;
  std::string request_file;
  std::string tools_file;
  std::string text;
  std::string method = "schemafill";
  std::string trace_file;
  bool strict = false;
  bool json = false;
  bool explain = false;
  bool compare = false;

  int Run() const;
  Result<Request> ReadRequest() const;
  Result<Generation> RunOnce(LoadedTarget& target, const Request& request,
                             const GenerateOptions& options, std::FILE* trace) const;
  Status CheckPeer(const PeerMethod& peer) const;
  Result<Generation> RunPeer(const PeerMethod& peer, const LoadedTarget& target,
                             const Request& request, const GenerateOptions& options) const;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Result<Request> ParseRequestText(const std::string& text, std::string_view what) {
  const Result<Json> body = ParseJson(text, what);
  if (!body) return body.error();
  Result<Request> request = ParseRequest(*body);
  if (!request) return BadInput(fmt::format("{}: {}", what, request.error().message));
  return request;
}

// `--request FILE`, or `--tools FILE "text"` for a quick try.
Result<Request> GenerateCommand::ReadRequest() const {
  if (!request_file.empty()) {
    const Result<std::string> text = ReadFile(request_file);
    if (!text) return text.error();
    return ParseRequestText(*text, request_file == "-" ? "standard input" : request_file);
  }
  if (text.empty())
    return BadInput("nothing to do: give --request FILE, or --tools FILE and the request's text");
  Json body = {{"messages", Json::array({{{"role", "user"}, {"content", text}}})}};
  if (!tools_file.empty()) {
    const Result<std::string> tools_text = ReadFile(tools_file);
    if (!tools_text) return tools_text.error();
    const Result<Json> tools = ParseJson(*tools_text, tools_file);
    if (!tools) return tools.error();
    body["tools"] = *tools;
  }
  Result<Request> request = ParseRequest(body);
  if (!request && !tools_file.empty())
    return BadInput(fmt::format("{}: {}", tools_file, request.error().message));
  return request;
}

Result<Generation> GenerateCommand::RunOnce(LoadedTarget& target, const Request& request,
                                            const GenerateOptions& options,
                                            std::FILE* trace) const {
  const Tokenizer& tokenizer = target.model->tokenizer();
  TraceSink sink;
  if (explain) sink = ExplainTo(stderr, request.catalog, tokenizer);
  if (trace != nullptr) sink = Join(sink, TraceTo(trace, request.catalog, tokenizer));
  // An engine of its own, so that a second method does not find the first one's prompt in place.
  Engine engine(*target.model, target.cost, target.head.get());
  return engine.Generate(request, options, sink);
}

// Before the model is loaded: whether there is a llama-server, and whether it can do what is asked.
Status GenerateCommand::CheckPeer(const PeerMethod& peer) const {
  if (explain || !trace_file.empty()) {
    return BadInput(
        fmt::format("{} runs in llama-server, which shows no rounds; leave --explain "
                    "and --trace out",
                    peer.name));
  }
  const Result<std::string> program = FindLlamaServer(peers);
  if (!program) return program.error();
  if (program->empty()) return BadInput(fmt::format("{}: {}", peer.name, NoLlamaServer()));
  return {};
}

Result<Generation> GenerateCommand::RunPeer(const PeerMethod& peer, const LoadedTarget& target,
                                            const Request& request,
                                            const GenerateOptions& options) const {
  const Result<std::string> program = FindLlamaServer(peers);
  if (!program) return program.error();
  Result<std::unique_ptr<Peer>> server = Peer::Start(peer, *program, model, *target.model);
  if (!server) return server.error();
  return (*server)->Generate(request, options);
}

void PrintCalls(const Generation& generation) {
  for (const ToolCall& call : generation.calls) fmt::print("{}({})\n", call.name, call.arguments);
  if (generation.calls.empty()) fmt::print("{}\n", generation.text);
}

std::string AlText(const GenerateStats& stats) {
  const std::optional<double> al = stats.acceptance_length();
  return al ? fmt::format("{:.2f}", *al) : "-";
}

// "-" where nothing was decoded behind the prompt.
std::string DecodeRateText(const GenerateStats& stats) {
  if (stats.decode_ms() <= 0) return "-";
  return fmt::format("{:.0f}", 1000 * stats.tokens / stats.decode_ms());
}

std::string StatsLine(const GenerateStats& stats) {
  return fmt::format("{} tokens, {:.2f} s in all, decoding {} tokens/s, {} forwards, {}",
                     stats.tokens, stats.total_ms / 1000, DecodeRateText(stats), stats.forwards,
                     stats.lossy ? "lossy: nothing verifies its values" : "AL " + AlText(stats));
}

void PrintTableRow(std::string_view method, const GenerateStats& stats,
                   const GenerateStats& reference) {
  fmt::print("{:<14}{:>7}{:>10}{:>7}{:>13.0f}{:>13}{:>9.2f}x\n", method, stats.tokens,
             stats.forwards, AlText(stats), stats.decode_ms(), DecodeRateText(stats),
             reference.decode_ms() / std::max(stats.decode_ms(), 1e-9));
}

int PrintComparison(const Generation& reference, const Generation& generation,
                    const AnyMethod& method) {
  const bool same = reference.tokens == generation.tokens && reference.text == generation.text;
  PrintCalls(generation);
  fmt::print("\n{:<14}{:>7}{:>10}{:>7}{:>13}{:>13}{:>10}\n", "method", "tokens", "forwards", "AL",
             "decoding ms", "tokens/s", "speed-up");
  PrintTableRow(Name(Method::kAr), reference.stats, reference.stats);
  PrintTableRow(method.name(), generation.stats, reference.stats);
  const std::string_view difference = generation.stats.lossy ? "no, the method is lossy" : "NO";
  fmt::print(
      "\nsame bytes: {}\nprompt: {} tokens, {:.0f} ms, the same for both and not in the table\n",
      same ? "yes" : difference, generation.stats.prompt_tokens,
      generation.stats.prepare_ms + generation.stats.prefill_ms);
  return same || !method.exact() ? kExitOk : kExitCheckFailed;
}

int GenerateCommand::Run() const {
  const Result<Request> request = ReadRequest();
  if (!request) return Report(request.error());
  const Result<AnyMethod> parsed = ParseAnyMethod(method);
  if (!parsed) return Report(parsed.error());
  const PeerMethod* peer = parsed->peer;
  if (peer != nullptr) {
    if (const Status runs = CheckPeer(*peer); !runs) return Report(runs.error());
  }
  Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  options->method = parsed->spec;

  File trace;
  if (!trace_file.empty()) {
    trace.reset(std::fopen(trace_file.c_str(), "w"));
    if (trace == nullptr)
      return Report(BadInput(fmt::format("--trace {}: can't be written", trace_file)));
  }
  Result<LoadedTarget> target =
      LoadTargetFor(model, options->preset == Preset::kAuto && parsed->spec != Method::kAr);
  if (!target) return Report(target.error());

  std::optional<Generation> reference;
  if (compare || parsed->spec == Method::kOracle) {
    GenerateOptions ar = *options;
    ar.method = Method::kAr;
    Engine engine(*target->model, target->cost, target->head.get());
    Result<Generation> result = engine.Generate(*request, ar);
    if (!result) return Report(result.error());
    reference = std::move(*result);
    options->known_answer = reference->tokens;
  }
  const Result<Generation> generation = peer != nullptr
                                            ? RunPeer(*peer, *target, *request, *options)
                                            : RunOnce(*target, *request, *options, trace.get());
  if (!generation) return Report(generation.error());
  if (trace != nullptr) TraceResult(trace.get(), *generation, parsed->name());

  if (json) {
    fmt::print("{}\n", GenerationJson(*generation, method));
  } else if (!compare) {
    PrintCalls(*generation);
    fmt::print(stderr, "{}: {}\n", method, StatsLine(generation->stats));
  }
  if (compare && !json) return PrintComparison(*reference, *generation, *parsed);
  if (reference && parsed->exact() && reference->tokens != generation->tokens)
    return kExitCheckFailed;
  if (strict) {
    const std::string fault = FindFault(request->catalog, generation->calls);
    if (!fault.empty()) {
      fmt::print(stderr, "strict: {}\n", fault);
      return kExitCheckFailed;
    }
  }
  return kExitOk;
}

}  // namespace

CommandRunner AddGenerate(CLI::App& program) {
  auto command = std::make_shared<GenerateCommand>();
  CLI::App* app = program.add_subcommand("generate", "One request to its tool calls");
  app->add_option("text", command->text, "The request in words, with --tools");
  app->add_option("--request", command->request_file,
                  "OpenAI chat-completions body as a JSON file; - is standard input");
  app->add_option("--tools", command->tools_file,
                  "Tools as a JSON list, with the request's text behind the options");
  app->add_option("--method", command->method,
                  "Decoding method: ar, eagle3, toolspec, schemafill, one of its stages, "
                  "parallel-fill (lossy), or llamacpp...: llama.cpp's own server")
      ->capture_default_str();
  app->add_flag("--strict", command->strict,
                "Exit with 1 unless the answer is complete calls that fit the tools");
  app->add_flag("--json", command->json, "One JSON object on stdout: tool_calls, text, stats");
  app->add_flag("--explain", command->explain,
                "Show forecast and rounds on stderr: accepted, corrected, rejected");
  app->add_flag("--compare", command->compare, "Run plain decoding too and show both side by side");
  app->add_option("--trace", command->trace_file,
                  "Write forecast and rounds to this file as JSON lines");
  AddModelOptions(*app, &command->model);
  AddDecodeOptions(*app, &command->decode);
  AddPeerOptions(*app, &command->peers);
  return [command] { return command->Run(); };
}

}  // namespace schemafill
