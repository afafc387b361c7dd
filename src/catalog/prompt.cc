#include "catalog/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace schemafill {
namespace {

// The words that the shipped adapter was trained on. Changing one changes what the model answers.
constexpr std::string_view kInstruction =
    "Call the tools that the request needs. Answer with one JSON object: "
    "{\"tool_calls\": [{\"name\": ..., \"arguments\": {...}}, ...]}.";

void AppendLine(std::string_view text, std::string& out) {
  if (text.empty()) return;
  if (!out.empty()) out += '\n';
  out += text;
}

std::string Instruction(const Request& request) {
  std::string text(kInstruction);
  if (request.tool_choice.kind == ToolChoice::Kind::kRequired) text += " Call at least one tool.";
  if (request.tool_choice.kind == ToolChoice::Kind::kFunction) {
    text += fmt::format(" Call the tool {}.", request.tool_choice.function);
  }
  if (!request.parallel_tool_calls) text += " Make only one call.";
  return text;
}

std::string SystemText(const Request& request, bool uses_tools) {
  std::string text = uses_tools ? Instruction(request) : "";
  for (const Message& message : request.messages) {
    if (message.role == Message::Role::kSystem) AppendLine(message.content, text);
  }
  return text;
}

std::string CatalogText(const Catalog& catalog) {
  std::string text = "Tools:";
  for (const Tool& tool : catalog.tools) AppendLine(tool.rendered, text);
  return text;
}

// The arguments as the answer would hold them. History is the client's: text that is no JSON must
// not break the answer's format, so it becomes a string; no text at all means no arguments.
std::string ArgumentsText(const std::string& arguments) {
  if (arguments.find_first_not_of(" \t\r\n") == std::string::npos) return "{}";
  if (ParseJson(arguments, "arguments").ok()) return arguments;
  return fmt::format("\"{}\"", EscapeJson(arguments));
}

std::string AssistantText(const Message& message) {
  std::string text = message.content;
  if (message.calls.empty()) return text;
  std::string calls;
  for (const RequestedCall& call : message.calls) {
    calls += fmt::format("{}{{\"name\": \"{}\", \"arguments\": {}}}", calls.empty() ? "" : ", ",
                         EscapeJson(call.name), ArgumentsText(call.arguments));
  }
  AppendLine(fmt::format("{{\"tool_calls\": [{}]}}", calls), text);
  return text;
}

ChatTurn DialogueTurn(const Message& message) {
  if (message.role == Message::Role::kAssistant) return {"assistant", AssistantText(message)};
  if (message.role == Message::Role::kUser) return {"user", message.content};
  const std::string_view of = message.tool_name.empty() ? "" : " of ";
  return {"user", fmt::format("Result{}{}: {}", of, message.tool_name, message.content)};
}

}  // namespace

bool UsesTools(const Request& request) {
  return !request.catalog.tools.empty() && request.tool_choice.kind != ToolChoice::Kind::kNone;
}

namespace {

std::string Opening(const Request& request) {
  using Kind = ToolChoice::Kind;
  constexpr std::string_view kName = "{\"tool_calls\": [{\"name\": \"";
  const ToolChoice& choice = request.tool_choice;
  if (!UsesTools(request) || choice.kind == Kind::kAuto) return "";
  if (choice.kind == Kind::kRequired) return std::string(kName);
  return fmt::format("{}{}\", \"arguments\":", kName, EscapeJson(choice.function));
}

}  // namespace

std::vector<ChatTurn> BuildTurns(const Request& request) {
  const bool uses_tools = UsesTools(request);
  std::vector<ChatTurn> turns;
  std::string system = SystemText(request, uses_tools);
  if (!system.empty()) turns.push_back({"system", std::move(system)});
  const auto is_user = [](const Message& message) { return message.role == Message::Role::kUser; };
  const auto first_user = std::find_if(request.messages.begin(), request.messages.end(), is_user);
  if (uses_tools && first_user == request.messages.end()) {
    turns.push_back({"user", CatalogText(request.catalog)});
  }
  for (auto message = request.messages.begin(); message != request.messages.end(); ++message) {
    if (message->role == Message::Role::kSystem) continue;
    ChatTurn turn = DialogueTurn(*message);
    if (uses_tools && message == first_user) {
      turn.content = CatalogText(request.catalog) + "\nRequest: " + turn.content;
    }
    turns.push_back(std::move(turn));
  }
  return turns;
}

Prompt BuildPrompt(const Request& request, const Tokenizer& tokenizer) {
  Prompt prompt;
  const std::vector<ChatTurn> turns = BuildTurns(request);
  prompt.text = tokenizer.ApplyChatTemplate(turns);
  // Control words in what the user or a tool wrote stay text: they can't open a turn of their own.
  prompt.tokens = tokenizer.EncodeChat(turns);
  prompt.opening = Opening(request);
  const std::vector<Token> opening = tokenizer.Encode(prompt.opening);
  prompt.tokens.insert(prompt.tokens.end(), opening.begin(), opening.end());
  prompt.text += prompt.opening;
  for (const Message& message : request.messages) {
    const bool is_source =
        message.role == Message::Role::kUser || message.role == Message::Role::kTool;
    if (is_source) AppendLine(message.content, prompt.context);
  }
  return prompt;
}

}  // namespace schemafill
