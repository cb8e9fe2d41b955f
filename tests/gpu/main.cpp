// test_gpu [--module=PATH] [gtest options]: exits 77 where there is no CUDA device.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "gpu_support.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string module = GEMMPEAK_CUDA_MODULE;
  for (int i = 1; i < argc; ++i)
    if (const std::string argument = argv[i]; argument.rfind("--module=", 0) == 0)
      module = argument.substr(9);
  if (const std::string why = gemmpeak::gpu_test::load(module); !why.empty()) {
    std::fprintf(stderr, "the module does not load: %s\n", why.c_str());
    return 1;
  }
  if (const std::string why = gemmpeak::gpu_test::no_device(); !why.empty()) {
    std::printf("not run: no CUDA device (%s)\n", why.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
