// The client's side of an HTTP exchange, watched while its answer is being made.
#pragma once

#include <string>

namespace schemafill {

class Connection {
 public:
  // The socket of this process between these ends. cpp-httplib 0.11 keeps it from its handlers, so
  // it is looked up among the open files. Where there is none, Closed never says so.
  static Connection Find(const std::string& remote_address, int remote_port, int local_port);

  // Whether the client has hung up. Valid until the handler that found it returns.
  bool Closed() const;

 private:
  explicit Connection(int socket) : socket_(socket) {}

  int socket_;
};

}  // namespace schemafill
