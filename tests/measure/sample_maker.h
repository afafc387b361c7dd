// Samples with given counts and times.
#pragma once

#include <string>

#include "measure/run_file.h"

namespace schemafill {

struct SampleMaker {
  std::string dataset = "bfcl";
  std::string request = "a";
  std::string method = "ar";
  int launch = 0;
  int tokens = 20;
  int forwards = 20;
  double decode_ms = 200;
  double prefill_ms = 100;

  Sample Make() const {
    Sample sample;
    sample.dataset = dataset;
    sample.request = request;
    sample.prompt = "p";
    sample.method = method;
    sample.launch = launch;
    sample.agrees = true;
    sample.stats.tokens = tokens;
    sample.stats.forwards = forwards;
    sample.stats.prefill_ms = prefill_ms;
    sample.stats.total_ms = prefill_ms + decode_ms;
    return sample;
  }
};

}  // namespace schemafill
