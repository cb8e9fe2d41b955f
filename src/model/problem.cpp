#include "model/problem.hpp"

#include <array>
#include <utility>

namespace gemmpeak {
namespace {

constexpr std::array<std::pair<Layout, std::string_view>, 4> kLayouts{
    {{Layout::tn, "tn"}, {Layout::nt, "nt"}, {Layout::nn, "nn"}, {Layout::tt, "tt"}}};
constexpr std::array<std::pair<DataKind, std::string_view>, 5> kKinds{
    {{DataKind::normal, "normal"},
     {DataKind::uniform, "uniform"},
     {DataKind::zeros, "zeros"},
     {DataKind::ones, "ones"},
     {DataKind::ints, "ints"}}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [v, name] : table)
    if (v == value) return name;
  return "?";
}

}  // namespace

std::string_view layout_name(Layout layout) { return name_in(kLayouts, layout); }
std::optional<Layout> parse_layout(std::string_view name) {
  for (const auto& [v, text] : kLayouts)
    if (text == name) return v;
  return std::nullopt;
}
std::string_view data_kind_name(DataKind kind) { return name_in(kKinds, kind); }
std::optional<DataKind> parse_data_kind(std::string_view name) {
  for (const auto& [v, text] : kKinds)
    if (text == name) return v;
  return std::nullopt;
}

GemmProblem reference_problem(DType dtype, GemmShape shape) {
  return GemmProblem{shape, dtype, dtype_info(dtype).output, Layout::tn, false};
}

}  // namespace gemmpeak
