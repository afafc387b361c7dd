// What a draft is made from, of a request.
#pragma once

#include <string>
#include <string_view>

#include "draft/pieces.h"
#include "support/requests.h"

namespace schemafill {

struct DraftInputs {
  DraftInputs(std::string_view tools, std::string_view text)
      : catalog(ReadCatalog(tools)),
        forecast(MakeForecast(catalog, text, {})),
        source(std::string(text)) {}
  DraftInputs(const DraftInputs&) = delete;
  DraftInputs& operator=(const DraftInputs&) = delete;

  DraftSources sources() const {
    return {.catalog = &catalog, .forecast = &forecast, .source = &source};
  }

  Catalog catalog;
  Forecast forecast;
  SourceText source;
};

// Three tools and a request that needs the first one twice.
inline constexpr std::string_view kWeatherTools = R"([
    {"name": "get_weather", "description": "The weather in a city.", "parameters": {"type": "object",
     "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
                    "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city", "days"]}},
    {"name": "send-mail:v2", "description": "Sends mail.", "parameters": {"type": "object",
     "properties": {"to": {"type": "array", "items": {"type": "string"}},
                    "body": {"type": "object", "properties": {"subject": {"type": "string"},
                             "size": {"type": "number"}}, "required": ["subject"]}},
     "required": ["to", "body"]}},
    {"name": "noop", "parameters": {"type": "object", "properties": {}}}])";
inline constexpr std::string_view kWeatherText =
    "What is the weather in Paris for 3 days, and in London for 5 days?";

}  // namespace schemafill
