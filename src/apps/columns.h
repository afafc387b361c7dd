// Labelled text in 80 columns, for people.
//
//   side      send_email#2.to "ben@example.com
//             "  ready
#pragma once

#include <cstdio>
#include <string_view>

namespace schemafill {

// One entry: a label, then text that is broken where the line ends. Ends its line itself.
class Columns {
 public:
  Columns(std::FILE* out, std::string_view label);
  ~Columns();
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

  // Text on one line, broken at any character. `colour` and `off` are escape sequences around it
  // and take no room.
  void Put(std::string_view text, std::string_view colour = {}, std::string_view off = {});
  // The same, broken at blanks.
  void PutWords(std::string_view text);

 private:
  void Break();

  std::FILE* out_;
  size_t column_;
};

}  // namespace schemafill
