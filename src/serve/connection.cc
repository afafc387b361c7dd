#include "serve/connection.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace schemafill {
namespace {

// "ADDRESS PORT" of one end of a socket; empty if it has none.
std::string EndOf(int socket, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const bool found = name(socket, generic, &size) == 0 &&
                     getnameinfo(generic, size, host, sizeof(host), port, sizeof(port),
                                 NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  return found ? std::string(host) + " " + port : std::string();
}

}  // namespace

Connection Connection::Find(const std::string& remote_address, int remote_port, int local_port) {
  const std::string remote = remote_address + " " + std::to_string(remote_port);
  const std::string local = " " + std::to_string(local_port);
  std::error_code error;
  for (std::filesystem::directory_iterator files("/proc/self/fd", error), end;
       !error && files != end; files.increment(error)) {
    const int file = std::atoi(files->path().filename().c_str());
    if (EndOf(file, getpeername) == remote && EndOf(file, getsockname).ends_with(local))
      return Connection(file);
  }
  return Connection(-1);
}

bool Connection::Closed() const {
  if (socket_ < 0) return false;
  char byte;
  const ssize_t got = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got >= 0) return got == 0;
  return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
}

}  // namespace schemafill
