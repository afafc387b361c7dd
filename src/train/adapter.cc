#include "train/adapter.h"

#include <fmt/format.h>

#include <utility>

#include "model/llama/gguf_header.h"
#include "model/llama/llama_model.h"
#include "train/examples.h"
#include "train/llama_net.h"
#include "train/lora.h"
#include "train/parallel.h"

namespace schemafill {
namespace {

// An answer's tokens, each predicted from everything before it.
Learned Learn(const LlamaNet& net, const Lora& lora, const Example& example) {
  std::vector<int64_t> ids;
  for (const Token token : example.tokens) ids.push_back(Index(token));
  const torch::Tensor tokens = torch::tensor(ids);
  const int64_t last = tokens.size(0) - 1;
  const torch::Tensor hidden = net.Forward(tokens.slice(0, 0, last), &lora);
  const torch::Tensor logits = net.Logits(hidden.slice(0, example.prompt_tokens - 1, last));
  const torch::Tensor answer = tokens.slice(0, example.prompt_tokens);
  Learned learned;
  learned.loss = torch::nn::functional::cross_entropy(logits, answer);
  learned.tally.tokens = answer.size(0);
  learned.tally.loss = learned.loss.item<double>() * double(answer.size(0));
  learned.tally.correct = logits.argmax(-1).eq(answer).sum().item<int64_t>();
  return learned;
}

Result<Token> EndOfTurn(const GgufHeader& header, const std::string& path) {
  const auto id = header.Integer("tokenizer.ggml.eos_token_id");
  if (!id) return BadInput(fmt::format("'{}' names no token that ends a turn", path));
  return static_cast<Token>(*id);
}

struct Data {
  std::vector<Example> train;
  std::vector<Example> held_out;
  AdapterData counts;
};

Result<Data> ReadData(const AdapterOptions& options) {
  const auto header = GgufHeader::Read("model", options.target);
  if (!header) return header.error();
  const Result<Token> end = EndOfTurn(*header, options.target);
  if (!end) return end.error();
  // The target's own vocabulary and chat template; its cells are not needed.
  const auto target = LoadTarget({.path = options.target, .context_size = 256});
  if (!target) return target.error();
  const Tokenizer& tokenizer = (*target)->tokenizer();
  Result<Examples> train = ReadExamples(options.examples, tokenizer, *end, options.max_tokens);
  if (!train) return train.error();
  Result<Examples> held_out = ReadExamples(options.held_out, tokenizer, *end, options.max_tokens);
  if (!held_out) return held_out.error();
  Data data{std::move(train->examples), std::move(held_out->examples), {}};
  if (static_cast<int>(data.held_out.size()) > options.held_out_examples) {
    data.held_out.resize(options.held_out_examples);
  }
  data.counts = {.examples = static_cast<int>(data.train.size()),
                 .held_out = static_cast<int>(data.held_out.size()),
                 .too_long = train->too_long};
  return data;
}

Json Settings(const AdapterOptions& options, const AdapterData& data) {
  return {{"rank", options.rank},
          {"scale", options.scale},
          {"steps", options.loop.steps},
          {"batch", options.loop.batch},
          {"rate", options.loop.peak_rate},
          {"seed", options.loop.seed},
          {"from", options.from},
          {"examples", data.examples},
          {"max_tokens", options.max_tokens}};
}

}  // namespace

Result<LoopResult> TrainAdapter(const AdapterOptions& options, const std::atomic<bool>& stop,
                                const AdapterProgress& progress) {
  const Result<Data> data = ReadData(options);
  if (!data) return data.error();
  const Result<LlamaNet> net = LlamaNet::Load(options.target);
  if (!net) return net.error();
  Lora lora(net->LinearMaps(), options.rank, options.scale * options.rank, options.loop.seed);
  if (!options.from.empty()) {
    if (Status status = lora.Load(options.from); !status) return status.error();
  }

  LoopTask task;
  task.parameters = lora.Parameters();
  task.examples = data->counts.examples;
  task.learn = [&](int index) { return Learn(*net, lora, data->train[index]); };
  task.score = [&] {
    std::vector<Tally> tallies(data->held_out.size());
    ParallelFor(options.loop.threads, data->counts.held_out, [&](int i) {
      const torch::NoGradGuard no_grad;  // a guard holds for its thread
      tallies[i] = Learn(*net, lora, data->held_out[i]).tally;
    });
    Tally tally;
    for (const Tally& one : tallies) tally.Add(one);
    return std::map<std::string, double>{{"loss", tally.mean_loss()},
                                         {"accuracy", tally.accuracy()}};
  };
  LoopOptions loop = options.loop;
  loop.checkpoint = options.out + ".checkpoint";
  loop.curve = options.out + ".curve.jsonl";
  loop.settings = Settings(options, data->counts);
  Result<LoopResult> result =
      RunLoop(loop, task, stop, [&](const LoopProgress& step) { progress(data->counts, step); });
  if (!result || !result->finished) return result;
  const Status saved = lora.Save(options.out, "llama", "SchemaFill tool calls");
  if (!saved) return saved.error();
  return result;
}

}  // namespace schemafill
