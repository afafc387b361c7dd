// Drafted text to tokens. Tested by tests/draft/encode_test.cc.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer.h"

namespace schemafill {

// The tokens that continue `tokens` by `text`, as the tokenizer would write them there: a forced
// string is not a forced token, because the border may merge.
std::vector<Token> EncodeBehind(const Tokenizer& tokenizer, std::span<const Token> tokens,
                                std::string_view text);

}  // namespace schemafill
