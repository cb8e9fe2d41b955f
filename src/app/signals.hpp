// SIGINT, SIGTERM and SIGHUP as a number that measuring looks at. Used by find. The first signal asks the
// run to end with what it has, a second one ends the program at once.
#pragma once

#include <atomic>
#include <string>

namespace gemmpeak::app {

// Installs the handlers; 0 until a signal came, then its number. A signal that the parent chose to
// ignore (nohup) stays ignored. SIGPIPE is ignored: a closed pager must not cost the measurements.
const std::atomic<int>* watch_signals();
std::string signal_name(int number);  // "SIGINT"

}  // namespace gemmpeak::app
