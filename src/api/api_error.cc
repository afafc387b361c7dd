#include "api/api_error.h"

#include "json/json.h"

namespace schemafill {

ApiError ToApiError(const Error& error) {
  ApiError out{.message = error.message, .param = error.field, .code = ""};
  if (error.kind == ErrorKind::kTooLong) out.code = "context_length_exceeded";
  if (error.kind == ErrorKind::kUnavailable) {
    out.status = 503;
    out.type = "server_error";
  }
  return out;
}

std::string ErrorJson(const ApiError& error) {
  const auto given = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return DumpLine({{"error",
                    {{"message", error.message},
                     {"type", error.type},
                     {"param", given(error.param)},
                     {"code", given(error.code)}}}});
}

}  // namespace schemafill
