// The server's face: OpenAI's routes over HTTP. No CORS headers, no request contents in the log.
// Tested by tests/apps/serve_test.py.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "json/json.h"
#include "serve/engine_thread.h"
#include "serve/metrics.h"

namespace schemafill {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;          // 0: a free one
  std::string api_key;      // empty: everyone may ask
  std::string model;        // the name that clients see
  size_t body_limit = 0;    // bytes
  int threads = 16;         // each request that waits takes one
  bool random_seed = true;  // for requests that give none; otherwise the server's own
  LogSink log;
};

class HttpServer {
 public:
  // Errors: the port is taken, the address is not ours.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpOptions options);

  int port() const { return port_; }

  // Answers until Stop, then waits until every response is out. False: it could not go on.
  bool Run(EngineThread& engine, Metrics& metrics);
  // From any thread.
  void Stop() { server_.stop(); }

 private:
  explicit HttpServer(HttpOptions options);

  void AddRoutes(EngineThread& engine, Metrics& metrics);
  // Nothing: the caller may ask.
  std::optional<ApiError> Refusal(const httplib::Request& http) const;
  Result<ChatRequest> ReadChat(const httplib::Request& http, const std::string& body) const;
  void Complete(const httplib::Request& http, httplib::Response& response, const std::string& body,
                EngineThread& engine) const;
  ApiError TooLong() const;
  ApiError NoModel() const;
  Json ModelJson() const;
  // Sends what the job gives.
  void Answer(std::shared_ptr<Job> job, httplib::Response& response) const;

  const HttpOptions options_;
  const int64_t started_;
  httplib::Server server_;
  int port_ = 0;
};

}  // namespace schemafill
