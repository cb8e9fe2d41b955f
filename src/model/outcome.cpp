#include "model/outcome.hpp"

#include <array>
#include <utility>

namespace gemmpeak {
namespace {

constexpr std::array<std::pair<OutcomeState, std::string_view>, 10> kNames{{
    {OutcomeState::ok, "ok"},
    {OutcomeState::unsupported, "unsupported"},
    {OutcomeState::out_of_memory, "out_of_memory"},
    {OutcomeState::compile_failed, "compile_failed"},
    {OutcomeState::wrong_result, "wrong_result"},
    {OutcomeState::throttled, "throttled"},
    {OutcomeState::noisy, "noisy"},
    {OutcomeState::untrusted, "untrusted"},
    {OutcomeState::skipped, "skipped"},
    {OutcomeState::error, "error"},
}};

}  // namespace

std::string_view outcome_name(OutcomeState state) {
  for (const auto& [value, name] : kNames)
    if (value == state) return name;
  return "error";
}

std::optional<OutcomeState> parse_outcome(std::string_view name) {
  for (const auto& [value, text] : kNames)
    if (text == name) return value;
  return std::nullopt;
}

}  // namespace gemmpeak
