// What the GPU tests share: the module as it ships, the device opened once, operand sets, read-back
// and tolerances. Used by tests/gpu only.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.hpp"

namespace gemmpeak::gpu_test {

// Loads the module: empty, or why it failed, which is a failure of the test.
std::string load(const std::string& module_path);
// Empty, or why there is no device to test.
std::string no_device();
Backend& backend();
// A backend of the same module that was told of these variables.
std::unique_ptr<Backend> backend_with(const BackendSettings& settings);
Device& device();  // the first GPU, opened once

// Buffers of one problem, A and B filled.
struct OperandSet {
  std::unique_ptr<Buffer> a, b, c, scale_a, scale_b;
  Operands views;
};
OperandSet make_operands(const GemmProblem& problem, DataKind kind = DataKind::normal,
                         std::uint64_t seed = 1);
std::unique_ptr<Buffer> make_buffer(std::int64_t bytes);
View whole(const std::unique_ptr<Buffer>& buffer);

// Poisons C with `poison`, runs the plan once and waits.
void run_once(const GemmPlan& plan, const Operands& operands, std::uint8_t poison = 0xff);

// Bytes of a view on the host.
std::vector<std::uint8_t> download(View view);
template <class T>
std::vector<T> download_as(View view) {
  const std::vector<std::uint8_t> bytes = download(view);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

// A bound that a right product of standard normals keeps and a wrong element does not.
Tolerance tolerance_for(const GemmProblem& problem);

std::vector<std::int64_t> every(std::int64_t count);
std::vector<std::int64_t> spread(std::int64_t count,
                                 std::int64_t wanted);  // first and last among them

VerifyCounts verify_all(const GemmProblem& problem, const Operands& operands);
std::string describe(const VerifyCounts& counts);

}  // namespace gemmpeak::gpu_test
