// Text in a page. Tested by tests/measure/report_test.cc.
#pragma once

#include <string>
#include <string_view>

namespace schemafill {

// `text` so that it can't become markup, in an element or between double quotes, nor turn the text
// behind it around (bidirectional controls become U+FFFD).
std::string EscapeHtml(std::string_view text);

}  // namespace schemafill
