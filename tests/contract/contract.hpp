// The contract suite: what every backend promises of Device, Stream, Buffer and GemmPlan, tested
// through the Registry on one device at a time (--device=ID --modules=FOLDER). It assumes nothing
// of a backend beyond the interface: what a simulated device cannot show (numbers) is skipped there
// by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/registry.hpp"

namespace gemmpeak::contract {

// The device under test, opened once for the whole program by main, and where it came from.
Device& device();
Registry& registry();

// Fails the test with the error's words.
#define CONTRACT_OK(result) ASSERT_TRUE((result).ok()) << (result).error().message()

inline bool simulated() { return device().info().kind == DeviceKind::sim; }
inline bool on_cpu() { return device().info().kind == DeviceKind::cpu; }

// Input dtypes the device says it can run.
std::vector<DType> supported_dtypes();

// A shape every backend takes: multiples of 128 bytes of the narrowest format.
inline constexpr GemmShape kShape{256, 384, 512};

// Buffers for one product, A, B and C each in its own.
struct Work {
  GemmProblem problem;
  OperandSizes sizes;
  std::unique_ptr<Buffer> a, b, c, scale_a, scale_b;
  Operands operands;
  std::unique_ptr<GemmPlan> plan;
  std::unique_ptr<Stream> stream;

  std::vector<std::int64_t> rows() const { return iota(problem.shape.m); }
  std::vector<std::int64_t> cols() const { return iota(problem.shape.n); }
  std::int64_t element_bytes() const { return dtype_bytes(problem.output, 1); }
  // The view of elements [col, col + count) of a row of C.
  View c_part(std::int64_t row, std::int64_t col, std::int64_t count) const {
    return {c.get(), (row * problem.shape.n + col) * element_bytes(), count * element_bytes()};
  }

  Result<void> fill(DataKind kind, std::uint64_t seed);
  Result<void> poison(std::uint8_t value);                        // all of C, waited for
  Result<void> run();                                             // one product, waited for
  Result<VerifyCounts> verify(const Tolerance& tolerance) const;  // every element
  Result<std::int64_t> count_equal(std::uint8_t value) const;

 private:
  static std::vector<std::int64_t> iota(std::int64_t count) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

// Buffers allocated, scales set, plan of rank 0 and stream made.
Result<Work> make_work(const GemmProblem& problem);

// Sums of small whole numbers are exact, so only the rounding into C's type remains (none for wide
// types), with saturation where the type saturates.
Tolerance exact_tolerance(const GemmProblem& problem);
// For standard normal data: rounding plus K steps of float32 (or float64) accumulation in any
// order, or of the tensor cores' shortened sums for 8-bit types.
Tolerance loose_tolerance(const GemmProblem& problem);

// A byte that, repeated, is a finite value that `ints` products of kShape do not give; NaN bytes.
std::uint8_t foreign_byte(DType output);
std::uint8_t nan_byte(DType output);
bool is_integer(DType dtype);

}  // namespace gemmpeak::contract
