#include "api/chat_response.h"

#include <gtest/gtest.h>

#include <array>

#include "api/api_error.h"
#include "base/utf8.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

constexpr std::string_view kTwoCalls =
    R"({"tool_calls": [{"name": "f", "arguments": {"a": 1e20}}, {"name": "g", "arguments": {}}]})";

ChatIdentity Me() { return {.id = "7", .created = 5, .model = "m"}; }

ChatRequest Ask(std::string_view fields = "") {
  return ParseChatRequest(
             ParseJson(R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f"}])" +
                           std::string(fields) + "}",
                       "body")
                 .value())
      .value();
}

Generation Said(std::string_view text, StopReason stop = StopReason::kClosed) {
  Generation generation;
  generation.text = text;
  generation.stop = stop;
  generation.stats.prompt_tokens = 20;
  generation.stats.reused_tokens = 8;
  generation.stats.tokens = 10;
  generation.stats.forwards = 4;
  return generation;
}

TEST(ChatCompletion, Calls) {
  EXPECT_EQ(
      ChatCompletion(Me(), Ask(), Said(kTwoCalls)),
      R"({"id":"chatcmpl-7","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":null,"tool_calls":[)"
      R"({"id":"call_7_0","type":"function","function":{"name":"f","arguments":"{\"a\": 1e20}"}},)"
      R"({"id":"call_7_1","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"("logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,)"
      R"("completion_tokens":10,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":8}}})");
}

TEST(ChatCompletion, Prose) {
  const Json json = ParseJson(ChatCompletion(Me(), Ask(R"(,"schemafill":true)"),
                                             Said("Hi\xf0\x9f", StopReason::kEnd)),
                              "x")
                        .value();
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["message"], ParseJson(R"({"role":"assistant","content":"Hi"})", "x").value());
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(json["schemafill"]["al"], 2.5);
}

// Cases list, item 12.
TEST(FinishReason, LengthWins) {
  EXPECT_EQ(FinishReason(StopReason::kLength, true), "length");
  EXPECT_EQ(FinishReason(StopReason::kLength, false), "length");
  for (const StopReason stop : {StopReason::kClosed, StopReason::kEnd, StopReason::kStopText}) {
    EXPECT_EQ(FinishReason(stop, true), "tool_calls");
    EXPECT_EQ(FinishReason(stop, false), "stop");
  }
}

// The chunks of a stream; the last event must be [DONE].
std::vector<Json> Chunks(std::string events) {
  std::vector<Json> chunks;
  while (true) {
    EXPECT_TRUE(events.starts_with("data: ")) << events;
    const size_t end = events.find("\n\n");
    const std::string data = events.substr(6, end - 6);
    events.erase(0, end + 2);
    if (data == "[DONE]") break;
    chunks.push_back(ParseJson(data, "chunk").value());
  }
  EXPECT_EQ(events, "");
  return chunks;
}

TEST(ChatStream, CallsInPieces) {
  const ChatRequest chat =
      Ask(R"(,"stream":true,"stream_options":{"include_usage":true},"schemafill":true)");
  ChatStream stream(Me(), chat);
  std::string events = stream.Begin();
  for (const char c : kTwoCalls.substr(0, 54)) events += stream.Feed(std::string_view(&c, 1));
  events += stream.Feed(kTwoCalls.substr(54));
  const std::vector<Json> chunks = Chunks(events + stream.End(Said(kTwoCalls)));
  for (const Json& chunk : chunks) {
    EXPECT_EQ(chunk["id"], "chatcmpl-7");
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["usage"].is_null(), &chunk != &chunks.back());
  }
  const auto delta = [&](size_t i) { return DumpLine(chunks[i]["choices"][0]["delta"]); };
  EXPECT_EQ(delta(0), R"({"role":"assistant","content":null})");
  EXPECT_EQ(delta(1), R"({"tool_calls":[{"index":0,"id":"call_7_0","type":"function",)"
                      R"("function":{"name":"f","arguments":""}}]})");
  EXPECT_EQ(delta(2), R"({"tool_calls":[{"index":0,"function":{"arguments":"{"}}]})");
  const Json& finish = chunks[chunks.size() - 2];
  EXPECT_EQ(finish["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_EQ(finish["schemafill"]["tokens"], 10);
  EXPECT_TRUE(chunks.back()["choices"].empty());
  EXPECT_EQ(chunks.back()["usage"]["total_tokens"], 30);
}

// The message that a client puts together from a stream.
Json Together(const std::vector<Json>& chunks) {
  Json message = {{"role", nullptr}, {"content", nullptr}};
  for (const Json& chunk : chunks) {
    const Json& delta = chunk["choices"][0]["delta"];
    if (delta.contains("role")) message["role"] = delta["role"];
    if (delta.contains("content") && !delta["content"].is_null()) {
      const std::string before =
          message["content"].is_null() ? "" : message["content"].get<std::string>();
      message["content"] = before + delta["content"].get<std::string>();
    }
    if (!delta.contains("tool_calls")) continue;
    for (const Json& piece : delta["tool_calls"]) {
      Json& calls = message["tool_calls"];
      const auto index = piece["index"].get<size_t>();
      if (index == calls.size()) {
        calls.push_back(piece);
        calls.back().erase("index");
        continue;
      }
      Json& arguments = calls.at(index)["function"]["arguments"];
      arguments = arguments.get<std::string>() + piece["function"]["arguments"].get<std::string>();
    }
  }
  return message;
}

TEST(ChatStream, SumsToTheWholeAnswer) {
  const auto kTexts = std::to_array<std::string_view>(
      {kTwoCalls, "Hello \xf0\x9f\x98\x80, caf\xc3\xa9.",
       "Sure: {\"name\": \"f\", \"arguments\": {\"a\": \"\xf0\x9f\x98\x80\"}}",
       R"([{"name": "f", "arguments": {"a": )", "bytes \xff\xfe that are no text \xc3",
       R"({"a": {"b": 1}})"});
  KeyedDice dice(5);
  const ChatRequest chat = Ask(R"(,"stream":true)");
  for (const std::string_view text : kTexts) {
    for (const StopReason stop : {StopReason::kEnd, StopReason::kLength}) {
      const Json whole = ParseJson(ChatCompletion(Me(), chat, Said(text, stop)), "x").value();
      for (int round = 0; round < 20; ++round) {
        ChatStream stream(Me(), chat);
        std::string events = stream.Begin();
        // As on_text cuts it: at whole characters.
        for (size_t at = 0, told = 0; at < text.size();) {
          at = std::min(text.size(), at + 1 + static_cast<size_t>(dice.Roll(9)));
          const size_t settled = WholeCharacters(text.substr(0, at));
          events += stream.Feed(text.substr(told, settled - told));
          told = settled;
        }
        const std::vector<Json> chunks = Chunks(events + stream.End(Said(text, stop)));
        EXPECT_EQ(Together(chunks), whole["choices"][0]["message"]) << text;
        EXPECT_EQ(chunks.back()["choices"][0]["finish_reason"],
                  whole["choices"][0]["finish_reason"]);
      }
    }
  }
}

TEST(ApiError, AsOpenAisClientsReadThem) {
  EXPECT_EQ(ErrorJson(ToApiError(BadField("tools", "must be a list"))),
            R"({"error":{"message":"tools: must be a list","type":"invalid_request_error",)"
            R"("param":"tools","code":null}})");
  const ApiError too_long = ToApiError({ErrorKind::kTooLong, "too long", "messages"});
  EXPECT_EQ(too_long.status, 400);
  EXPECT_EQ(too_long.code, "context_length_exceeded");
  EXPECT_EQ(ToApiError(Unavailable("no memory")).status, 503);
}

}  // namespace
}  // namespace schemafill
