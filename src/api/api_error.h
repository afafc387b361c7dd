// Errors as OpenAI's clients read them.
#pragma once

#include <string>

#include "base/result.h"

namespace schemafill {

struct ApiError {
  int status = 400;  // of HTTP
  std::string message;
  std::string type = "invalid_request_error";
  std::string param;  // the request's field; empty: null
  std::string code;   // empty: null
};

ApiError ToApiError(const Error& error);

// {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}
std::string ErrorJson(const ApiError& error);

}  // namespace schemafill
