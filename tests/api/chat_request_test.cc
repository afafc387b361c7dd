#include "api/chat_request.h"

#include <gtest/gtest.h>

#include <array>

namespace schemafill {
namespace {

Result<ChatRequest> Parse(std::string_view fields) {
  return ParseChatRequest(
      ParseJson(R"({"messages":[{"role":"user","content":"Hi"}])" + std::string(fields) + "}",
                "body")
          .value());
}

TEST(ChatRequest, Fields) {
  const ChatRequest plain = Parse("").value();
  EXPECT_EQ(plain.model, "");
  EXPECT_FALSE(plain.stream || plain.include_usage || plain.with_stats);
  const ChatRequest all =
      Parse(R"(,"model":"m","stream":true,"stream_options":{"include_usage":true},)"
            R"("schemafill":true,"max_tokens":7)")
          .value();
  EXPECT_EQ(all.model, "m");
  EXPECT_TRUE(all.stream && all.include_usage && all.with_stats);
  EXPECT_EQ(all.request.max_tokens, 7);
}

TEST(ChatRequest, WhatChangesNothing) {
  const auto kFields = std::to_array<std::string_view>(
      {R"("user":"u")", R"("metadata":{"a":"b"})", R"("store":true)", R"("service_tier":"auto")",
       R"("logprobs":false)", R"("logprobs":null)", R"("frequency_penalty":0)",
       R"("presence_penalty":0.0)", R"("response_format":{"type":"text"})", R"("logit_bias":{})",
       R"("n":1)", R"("modalities":["text"])", R"("whatever":null)",
       R"("tools":[{"type":"function","function":{"name":"f","strict":false}}])",
       R"("stream":true,"stream_options":{})", R"("stream_options":null)"});
  for (const std::string_view field : kFields) {
    const Result<ChatRequest> chat = Parse("," + std::string(field));
    EXPECT_TRUE(chat.ok()) << field << chat.error().message;
  }
}

struct Refused {
  std::string_view fields;
  std::string_view field;
};

TEST(ChatRequest, WhatIsRefusedIsNamed) {
  constexpr auto kCases = std::to_array<Refused>({
      {R"("logprobs":true)", "logprobs"},
      {R"("top_logprobs":2)", "top_logprobs"},
      {R"("n":2)", "n"},
      {R"("response_format":{"type":"json_object"})", "response_format"},
      {R"("modalities":["text","audio"])", "modalities"},
      {R"("audio":{"voice":"v"})", "audio"},
      {R"("functions":[])", "functions"},
      {R"("frequency_penalty":0.5)", "frequency_penalty"},
      {R"("logit_bias":{"1":2})", "logit_bias"},
      {R"("temprature":1)", "temprature"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":[])", "stream_options"},
      {R"("stream":true,"stream_options":{"x":1})", "stream_options.x"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("schemafill":1)", "schemafill"},
      {R"("model":5)", "model"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("tools":[{"type":"function","function":{"name":"f","strict":true}}])",
       "tools[0].function.strict"},
      {R"("tools":[{"type":"custom","custom":{"name":"f"}}])", "tools[0].name"},
      {R"("messages":[{"role":"assistant","audio":{"id":"a"}}])", "messages[0].audio"},
      {R"("messages":[{"role":"assistant","function_call":{"name":"f"}}])",
       "messages[0].function_call"},
  });
  for (const Refused& row : kCases) {
    const Result<ChatRequest> chat = Parse("," + std::string(row.fields));
    ASSERT_FALSE(chat.ok()) << row.fields;
    EXPECT_EQ(chat.error().field, row.field);
    EXPECT_TRUE(chat.error().message.starts_with(std::string(row.field) + ": "))
        << chat.error().message;
  }
}

}  // namespace
}  // namespace schemafill
