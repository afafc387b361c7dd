// What SIDE branches have ready for MAIN: values of slots that it has not come to yet. A hint like
// any other: MAIN verifies it again where it stands.
#pragma once

#include <string>

namespace schemafill {

struct PreparedValue {
  int call = 0;       // position in the answer
  int tool = 0;       // index in Catalog::tools
  std::string field;  // top-level argument
  std::string json;   // the literal, or its begin
  bool complete = false;
};

}  // namespace schemafill
