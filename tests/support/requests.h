// Catalogs and requests from JSON text.
#pragma once

#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "catalog/request.h"

namespace schemafill {

inline Catalog ReadCatalog(std::string_view tools) {
  return ParseCatalog(ParseJson(tools, "tools").value()).value();
}

// A request of one user turn.
inline Request ReadRequest(std::string_view tools, std::string_view text) {
  Request request;
  request.messages.emplace_back().content = text;
  request.catalog = ReadCatalog(tools);
  return request;
}

}  // namespace schemafill
