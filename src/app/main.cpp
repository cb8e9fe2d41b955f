#include "app/command.hpp"

int main(int argc, char** argv) {
  return gemmpeak::app::run_program(gemmpeak::app::read_host(argc, argv));
}
