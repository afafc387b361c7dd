#include "train/head_samples.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr std::string_view kMagic = "SFHEADS1";
constexpr uint32_t kLongestOrigin = 1 << 16;
constexpr double kLargestHalf = 65504;

struct RecordStart {
  uint64_t request;
  int32_t tokens, prompt_tokens, first_row, rows;
};

static_assert(sizeof(RecordStart) == 24);

Json ToJson(const SampleOrigin& origin) {
  return {{"target", origin.target},
          {"width", origin.width},
          {"layers", origin.layers},
          {"prompt_rows", origin.prompt_rows}};
}

template <typename T>
bool Read(std::FILE* file, T* values, size_t count) {
  return std::fread(values, sizeof(T), count, file) == count;
}

template <typename T>
void Put(std::string* bytes, const T* values, size_t count) {
  bytes->append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

int64_t FileSize(std::FILE* file) {
  fseeko(file, 0, SEEK_END);
  return ftello(file);
}

// Whether a record may begin so. What it says is looked at before anything is read by it.
bool Plausible(const RecordStart& start) {
  return start.prompt_tokens >= 1 && start.tokens > start.prompt_tokens &&
         start.tokens < (1 << 24) && start.first_row >= 0 && start.rows >= 1 &&
         start.first_row + int64_t{start.rows} <= start.tokens;
}

}  // namespace

Result<HeadSamples> HeadSamples::Open(const std::string& path, const SampleOrigin& origin) {
  HeadSamples samples(path, origin);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return BadInput(fmt::format("samples file '{}' can't be opened ({}); check the path", path,
                                std::strerror(errno)));
  }
  samples.file_.reset(fdopen(descriptor, "r+b"));
  Check(samples.file_ != nullptr, "fdopen failed");
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return BadInput(
        fmt::format("samples file '{}' is in use by another run; stop it, or name "
                    "another file",
                    path));
  }
  const bool fresh = FileSize(samples.file_.get()) == 0;
  if (Status status = fresh ? samples.WriteOrigin() : samples.ReadOrigin(); !status) {
    return status.error();
  }
  if (Status status = samples.ReadRecords(); !status) return status.error();
  return samples;
}

Status HeadSamples::WriteOrigin() {
  const std::string text = DumpLine(ToJson(origin_));
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(kMagic);
  Put(&bytes, &size, 1);
  bytes += text;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() ||
      std::fflush(file_.get()) != 0) {
    const std::string reason = std::strerror(errno);
    if (ftruncate(fileno(file_.get()), 0) != 0) end_ = 0;
    return Unavailable(fmt::format("samples file '{}' can't be written ({}); free some disk space",
                                   path_, reason));
  }
  end_ = static_cast<int64_t>(bytes.size());
  return {};
}

Status HeadSamples::ReadOrigin() {
  std::FILE* file = file_.get();
  std::rewind(file);
  std::array<char, kMagic.size()> magic{};
  uint32_t size = 0;
  std::string text;
  const bool begins = Read(file, magic.data(), magic.size()) &&
                      std::string_view(magic.data(), magic.size()) == kMagic &&
                      Read(file, &size, 1) && size <= kLongestOrigin;
  if (begins) text.resize(size);
  const Result<Json> found = begins && Read(file, text.data(), size)
                                 ? ParseJson(text, path_)
                                 : Result<Json>(BadInput("no origin"));
  if (!found || !found->is_object()) {
    return BadInput(fmt::format(
        "'{}' is no file of samples that train-head wrote; name another with --samples", path_));
  }
  const Json ours = ToJson(origin_);
  for (const auto& [name, value] : ours.items()) {
    const Json theirs = found->value(name, Json());
    if (theirs == value) continue;
    return BadInput(fmt::format(
        "samples file '{}' was made for another target or other options: its {} is {}, here it is "
        "{}; name another with --samples, or remove it",
        path_, name, DumpLine(theirs), DumpLine(value)));
  }
  end_ = static_cast<int64_t>(kMagic.size() + sizeof(size) + size);
  return {};
}

Status HeadSamples::ReadRecords() {
  const int64_t size = FileSize(file_.get());
  while (end_ < size) {
    HeadSample sample;
    int64_t features = 0;
    fseeko(file_.get(), end_, SEEK_SET);
    if (!ReadRecord(size, &sample, &features)) break;
    samples_.push_back(std::move(sample));
    places_.push_back(features);
    end_ = ftello(file_.get());
  }
  if (end_ < size && ftruncate(fileno(file_.get()), end_) != 0) {
    return BadInput(
        fmt::format("samples file '{}' ends in half a record that can't be cut off ({})", path_,
                    std::strerror(errno)));
  }
  return {};
}

// False if the file, which has `end` bytes, doesn't hold a whole record here.
bool HeadSamples::ReadRecord(int64_t end, HeadSample* sample, int64_t* features) {
  std::FILE* file = file_.get();
  RecordStart start{};
  if (!Read(file, &start, 1) || !Plausible(start)) return false;
  *features = ftello(file) + start.tokens * int64_t{sizeof(int32_t)};
  const int64_t seal = *features + start.rows * FeatureWidth() * int64_t{sizeof(at::Half)};
  if (seal + int64_t{sizeof(uint64_t)} > end) return false;
  sample->request = start.request;
  sample->prompt_tokens = start.prompt_tokens;
  sample->first_row = start.first_row;
  sample->rows = start.rows;
  sample->tokens.resize(start.tokens);
  uint64_t request = 0;
  if (!Read(file, sample->tokens.data(), sample->tokens.size())) return false;
  fseeko(file, seal, SEEK_SET);
  return Read(file, &request, 1) && request == start.request;
}

Status HeadSamples::Append(const HeadSample& sample, std::span<const float> features) {
  Check(std::ssize(features) == sample.rows * FeatureWidth(), "features of another size");
  const RecordStart start{sample.request, static_cast<int32_t>(sample.tokens.size()),
                          sample.prompt_tokens, sample.first_row, sample.rows};
  Check(Plausible(start), "a sample without a continuation or rows");
  const torch::Tensor halves =
      torch::from_blob(const_cast<float*>(features.data()), {std::ssize(features)}, torch::kFloat32)
          .clamp(-kLargestHalf, kLargestHalf)
          .to(torch::kFloat16);
  std::string bytes;
  Put(&bytes, &start, 1);
  Put(&bytes, sample.tokens.data(), sample.tokens.size());
  const auto place = end_ + static_cast<int64_t>(bytes.size());
  Put(&bytes, halves.data_ptr<at::Half>(), features.size());
  Put(&bytes, &sample.request, 1);
  fseeko(file_.get(), end_, SEEK_SET);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() ||
      std::fflush(file_.get()) != 0) {
    const std::string reason = std::strerror(errno);
    std::clearerr(file_.get());
    const bool cut = ftruncate(fileno(file_.get()), end_) == 0;
    return Unavailable(
        fmt::format("samples file '{}' can't be written ({}){}; free some disk space "
                    "and start again, it goes on where it stopped",
                    path_, reason, cut ? "" : " and ends in half a record"));
  }
  samples_.push_back(sample);
  places_.push_back(place);
  end_ += static_cast<int64_t>(bytes.size());
  return {};
}

torch::Tensor HeadSamples::Features(int index) const {
  const int64_t rows = samples_.at(index).rows;
  torch::Tensor halves = torch::empty({rows, FeatureWidth()}, torch::kFloat16);
  const auto bytes = static_cast<ssize_t>(halves.nbytes());
  // pread: several threads at once.
  Check(pread(fileno(file_.get()), halves.data_ptr(), bytes, places_[index]) == bytes,
        "a file of samples that shrank while it was read");
  return halves.to(torch::kFloat32);
}

}  // namespace schemafill
