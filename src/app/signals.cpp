#include "app/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include "app/exit_codes.hpp"

namespace gemmpeak::app {
namespace {

// A handler can reach nothing but globals; this is the program's only one.
std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not take locks");

extern "C" void on_signal(int number) {
  int none = 0;
  if (!caught.compare_exchange_strong(none, number)) _exit(kExitNoResult);
}

}  // namespace

const std::atomic<int>* watch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, nullptr);
  }
  (void)signal(SIGPIPE, SIG_IGN);
  return &caught;
}

std::string signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
  }
  return "signal " + std::to_string(number);
}

}  // namespace gemmpeak::app
