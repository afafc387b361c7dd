#include "serve/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>

#include "api/chat_response.h"
#include "json/json.h"
#include "serve/connection.h"

namespace schemafill {
namespace {

constexpr const char* kJson = "application/json";

// Without SO_REUSEPORT, which cpp-httplib sets by itself: a second server on the port must fail.
void SetSocketOptions(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

// Takes the same time wherever the texts differ.
bool SameSecret(std::string_view given, std::string_view secret) {
  size_t difference = given.size() ^ secret.size();
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
  return difference == 0;
}

// 24 hexadecimal digits that no other answer has.
std::string NewId() {
  static const uint64_t process =
      std::random_device()() * uint64_t{0x100000000} + std::random_device()();
  static std::atomic<uint32_t> count = 0;
  return fmt::format("{:016x}{:08x}", process, ++count);
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

// Of "name:port" or "[address]:port".
std::string_view HostName(std::string_view host) {
  const size_t bracket = host.find(']');
  return host.substr(0, host.find(':', bracket == std::string_view::npos ? 0 : bracket));
}

void Send(httplib::Response& response, int status, std::string text, const char* type = kJson) {
  response.status = status;
  response.set_content(std::move(text), type);
}

void Fail(httplib::Response& response, const ApiError& error) {
  if (error.status == 401) response.set_header("WWW-Authenticate", "Bearer");
  if (error.status == 503) response.set_header("Retry-After", "1");
  Send(response, error.status, ErrorJson(error));
}

ApiError NotFound(std::string message, std::string param, std::string code) {
  return {.status = 404,
          .message = std::move(message),
          .param = std::move(param),
          .code = std::move(code)};
}

// What cpp-httplib refuses by itself.
ApiError ErrorOfStatus(int status) {
  if (status == 404) {
    return NotFound("there are POST /v1/chat/completions and GET /v1/models, /health and /metrics",
                    "", "");
  }
  return {.status = status,
          .message = fmt::format("the request can't be read (status {})", status),
          .param = "",
          .code = ""};
}

// Writes a job's answer as it comes.
class StreamWriter {
 public:
  // `text` is what the job has told so far.
  StreamWriter(std::shared_ptr<Job> job, ChatIdentity identity, const std::string& text)
      : job_(std::move(job)), stream_(std::move(identity), job_->chat()) {
    events_ = stream_.Begin() + stream_.Feed(text);
  }
  ~StreamWriter() { job_->Abandon(); }
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  // False: the client is gone.
  bool WriteNext(httplib::DataSink& sink) {
    if (events_.empty()) {
      const std::optional<std::string> text = job_->NextText();
      events_ = text ? stream_.Feed(*text) : End();
      ended_ = !text;
    }
    const bool sent = events_.empty() || sink.write(events_.data(), events_.size());
    events_.clear();
    if (sent && ended_) sink.done();
    return sent;
  }

 private:
  std::string End() {
    if (const auto* error = std::get_if<ApiError>(&job_->outcome()))
      return ServerSentEvent(ErrorJson(*error));
    return stream_.End(std::get<Generation>(job_->outcome()));
  }

  const std::shared_ptr<Job> job_;
  ChatStream stream_;
  std::string events_;
  bool ended_ = false;
};

}  // namespace

HttpServer::HttpServer(HttpOptions options)
    : options_(std::move(options)), started_(std::time(nullptr)) {
  const auto threads = static_cast<size_t>(options_.threads);
  server_.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  server_.set_socket_options(SetSocketOptions);
  server_.set_tcp_nodelay(true);
  server_.set_keep_alive_max_count(1000);
  server_.set_read_timeout(10);
  server_.set_payload_max_length(options_.body_limit);
  server_.set_write_timeout(30);
}

Result<std::unique_ptr<HttpServer>> HttpServer::Bind(HttpOptions options) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options)));
  const HttpOptions& own = server->options_;
  errno = 0;
  if (own.port == 0) {
    server->port_ = server->server_.bind_to_any_port(own.host);
  } else if (server->server_.bind_to_port(own.host, own.port)) {
    server->port_ = own.port;
  }
  if (server->port_ > 0) return server;
  const char* reason = errno != 0 ? strerror(errno) : "not an address of this machine";
  return BadInput(fmt::format("--host {} --port {}: {}", own.host, own.port, reason));
}

bool HttpServer::Run(EngineThread& engine, Metrics& metrics) {
  AddRoutes(engine, metrics);
  return server_.listen_after_bind();
}

void HttpServer::AddRoutes(EngineThread& engine, Metrics& metrics) {
  server_.Post("/v1/chat/completions",
               [&](const httplib::Request& http, httplib::Response& response,
                   const httplib::ContentReader& read) {
                 // What is too long is read to its end, where the next request begins.
                 std::string body;
                 bool fits = true;
                 const bool whole = read([&](const char* data, size_t size) {
                   fits = fits && body.size() + size <= options_.body_limit;
                   if (fits) body.append(data, size);
                   return true;
                 });
                 if (!whole || !fits) return Fail(response, TooLong());
                 Complete(http, response, body, engine);
               });
  const auto get = [&](const char* path, auto answer) {
    server_.Get(path, [this, answer](const httplib::Request& http, httplib::Response& response) {
      if (const std::optional<ApiError> refusal = Refusal(http)) return Fail(response, *refusal);
      answer(http, response);
    });
  };
  get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
    Send(response, 200, DumpLine({{"object", "list"}, {"data", Json::array({ModelJson()})}}));
  });
  get("/v1/models/(.+)", [this](const httplib::Request& http, httplib::Response& response) {
    if (http.matches[1] != options_.model) return Fail(response, NoModel());
    Send(response, 200, DumpLine(ModelJson()));
  });
  get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    Send(response, 200, metrics.Text(engine.waiting(), engine.running()),
         "text/plain; version=0.0.4");
  });
  server_.Get("/health", [&](const httplib::Request&, httplib::Response& response) {
    if (engine.stopping()) return Send(response, 503, R"({"status":"stopping"})");
    Send(response, 200, R"({"status":"ok"})");
  });
  server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) Fail(response, ErrorOfStatus(response.status));
  });
  server_.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        Fail(response, {.status = 500,
                        .message = "our fault",
                        .type = "server_error",
                        .param = "",
                        .code = "internal"});
      });
  server_.set_logger([&](const httplib::Request& http, const httplib::Response& response) {
    metrics.CountResponse(response.status);
    options_.log(LogLevel::kInfo,
                 fmt::format("{} {} {}", EscapeJson(http.method.substr(0, 10)),
                             EscapeJson(http.path.substr(0, 80)), response.status));
  });
}

// Where anyone on this machine may ask, a web page may not, by a name of its own that leads here.
std::optional<ApiError> HttpServer::Refusal(const httplib::Request& http) const {
  if (!options_.api_key.empty()) {
    constexpr std::string_view kScheme = "Bearer ";
    const std::string given = http.get_header_value("Authorization");
    if (given.starts_with(kScheme) &&
        SameSecret(std::string_view(given).substr(kScheme.size()), options_.api_key))
      return std::nullopt;
    return ApiError{.status = 401,
                    .message = "Authorization: must be \"Bearer KEY\" with this server's key",
                    .param = "",
                    .code = "invalid_api_key"};
  }
  const std::string host = http.get_header_value("Host");
  if (!IsLoopback(options_.host) || IsLoopback(HostName(host))) return std::nullopt;
  return ApiError{.status = 403,
                  .message = "Host: must name this machine as localhost or by its address",
                  .param = "",
                  .code = "wrong_host"};
}

ApiError HttpServer::TooLong() const {
  return {.status = 413,
          .message = fmt::format("the body could not be read; it may have {} bytes (--body-limit)",
                                 options_.body_limit),
          .param = "",
          .code = "body_too_large"};
}

ApiError HttpServer::NoModel() const {
  return NotFound(fmt::format("model: this server has \"{}\"", options_.model), "model",
                  "model_not_found");
}

Json HttpServer::ModelJson() const {
  return {{"id", options_.model},
          {"object", "model"},
          {"created", started_},
          {"owned_by", "schemafill"}};
}

Result<ChatRequest> HttpServer::ReadChat(const httplib::Request& http,
                                         const std::string& body) const {
  // Nor may a web page send a form here.
  if (http.get_header_value("Content-Type").find(kJson) == std::string::npos)
    return BadField("Content-Type", "must be application/json");
  const Result<Json> json = ParseJson(body, "the body");
  if (!json) return json.error();
  Result<ChatRequest> chat = ParseChatRequest(*json);
  if (!chat) return chat;
  if (http.has_header("X-SchemaFill")) chat->with_stats = true;
  if (!chat->request.seed && options_.random_seed) chat->request.seed = std::random_device()();
  return chat;
}

void HttpServer::Complete(const httplib::Request& http, httplib::Response& response,
                          const std::string& body, EngineThread& engine) const {
  if (const std::optional<ApiError> refusal = Refusal(http)) return Fail(response, *refusal);
  Result<ChatRequest> chat = ReadChat(http, body);
  if (!chat) return Fail(response, ToApiError(chat.error()));
  if (!chat->model.empty() && chat->model != options_.model) return Fail(response, NoModel());
  const Connection connection = Connection::Find(http.remote_addr, http.remote_port, port_);
  const auto job =
      std::make_shared<Job>(std::move(*chat), [connection] { return connection.Closed(); });
  if (const std::optional<ApiError> refusal = engine.Submit(job)) return Fail(response, *refusal);
  Answer(job, response);
}

void HttpServer::Answer(std::shared_ptr<Job> job, httplib::Response& response) const {
  ChatIdentity identity{.id = NewId(), .created = std::time(nullptr), .model = options_.model};
  std::optional<std::string> text = job->NextText();
  // A request that is refused says so by its status, streamed or not.
  if (text && job->chat().stream) {
    const auto writer = std::make_shared<StreamWriter>(job, std::move(identity), *text);
    response.set_header("Cache-Control", "no-cache");
    response.set_chunked_content_provider(
        "text/event-stream",
        [writer](size_t, httplib::DataSink& sink) { return writer->WriteNext(sink); });
    return;
  }
  while (text) text = job->NextText();
  if (const auto* error = std::get_if<ApiError>(&job->outcome())) return Fail(response, *error);
  const auto& generation = std::get<Generation>(job->outcome());
  if (job->chat().stream) {  // an answer without text
    ChatStream stream(std::move(identity), job->chat());
    return Send(response, 200, stream.Begin() + stream.End(generation), "text/event-stream");
  }
  Send(response, 200, ChatCompletion(identity, job->chat(), generation));
}

}  // namespace schemafill
