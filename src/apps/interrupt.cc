#include "apps/interrupt.h"

#include <csignal>

namespace schemafill {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void Interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void CatchInterrupt() { std::signal(SIGINT, Interrupt); }
bool Interrupted() { return interrupted != 0; }

}  // namespace schemafill
