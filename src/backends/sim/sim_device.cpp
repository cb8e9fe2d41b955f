#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "backends/sim/sim_kernels.hpp"
#include "backends/sim/sim_shared.hpp"

namespace gemmpeak {
namespace {

using sim::Machine;
using sim::Shared;
using sim::Work;

class SimBuffer : public Buffer {
 public:
  SimBuffer(std::shared_ptr<Shared> shared, std::int64_t bytes)
      : shared_(std::move(shared)), bytes_(bytes), address_(shared_->next_address) {
    shared_->used_bytes += bytes;
    shared_->next_address += (bytes + 511) / 512 * 512;
  }
  ~SimBuffer() override { shared_->used_bytes -= bytes_; }
  std::int64_t bytes() const override { return bytes_; }
  void* address() const override { return reinterpret_cast<void*>(address_); }

  // What a C in this buffer would look like, by what was last queued for its offset.
  struct Written {
    int set_value = -1;          // the last memset's byte, -1: none
    bool product = false;        // a product came after it
    std::int64_t unwritten = 0;  // elements it left alone
    std::int64_t wrong = 0;
  };
  mutable std::map<std::int64_t, Written> written;

 private:
  std::shared_ptr<Shared> shared_;
  std::int64_t bytes_;
  std::int64_t address_;
};

SimBuffer::Written& written_at(View view) {
  return static_cast<const SimBuffer*>(view.buffer)->written[view.offset];
}

Result<void> check_view(View view, std::int64_t least_bytes, const char* what) {
  const bool inside = view.buffer != nullptr && view.offset >= 0 && view.bytes >= least_bytes &&
                      view.offset + view.bytes <= view.buffer->bytes();
  if (inside || least_bytes == 0) return {};
  return Error{"sim", 1, std::string(what) + " is outside its buffer or too small"};
}

class SimPlan : public GemmPlan {
 public:
  SimPlan(const SimSpec& spec, const GemmProblem& problem, int rank)
      : problem_(problem), rank_(rank), work(sim::product_work(spec, problem, rank)) {
    const TileHint tile = spec.info.tile.value_or(TileHint{128, 256});
    algorithm_.provider = "sim";
    algorithm_.name = "tile" + std::to_string(tile.m) + "x" + std::to_string(tile.n) + " rank" +
                      std::to_string(rank);
    algorithm_.is_default = rank == 0;
  }
  const GemmProblem& problem() const override { return problem_; }
  const Algorithm& algorithm() const override { return algorithm_; }
  int rank() const { return rank_; }

 private:
  GemmProblem problem_;
  Algorithm algorithm_;
  int rank_;

 public:
  const Work work;
};

class SimStream : public Stream {
 public:
  explicit SimStream(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Result<void> reserve(int marks, int stamps) override {
    GEMMPEAK_TRY(shared_->alive());
    if (marks > static_cast<int>(marks_.size())) marks_.resize(static_cast<std::size_t>(marks), -1);
    if (stamps > static_cast<int>(stamps_.size()))
      stamps_.resize(static_cast<std::size_t>(stamps), Stamp{});
    return {};
  }

  Result<void> enqueue_set(View target, std::uint8_t value) override {
    GEMMPEAK_TRY(begin());
    GEMMPEAK_TRY(check_view(target, 1, "the target"));
    shared_->memory_work(target.bytes);
    written_at(target) = SimBuffer::Written{value, false, 0, 0};
    return {};
  }

  Result<void> enqueue_copy(View target, View source) override {
    GEMMPEAK_TRY(begin());
    GEMMPEAK_TRY(check_view(target, 1, "the target"));
    GEMMPEAK_TRY(check_view(source, 1, "the source"));
    if (target.bytes != source.bytes) return Error{"sim", 1, "the sizes of a copy differ"};
    shared_->memory_work(2 * target.bytes);
    written_at(target) = SimBuffer::Written{};
    return {};
  }

  Result<void> enqueue_gemm(const GemmPlan& plan, const Operands& operands) override {
    GEMMPEAK_TRY(begin());
    const auto& sim_plan = static_cast<const SimPlan&>(plan);
    const GemmProblem& problem = plan.problem();
    const OperandSizes sizes = sim::sim_operand_sizes(problem);
    GEMMPEAK_TRY(check_view(operands.a, sizes.a, "A"));
    GEMMPEAK_TRY(check_view(operands.b, sizes.b, "B"));
    GEMMPEAK_TRY(check_view(operands.c, sizes.c, "C"));
    GEMMPEAK_TRY(check_view(operands.scale_a, sizes.scale_a, "the scales of A"));
    GEMMPEAK_TRY(check_view(operands.scale_b, sizes.scale_b, "the scales of B"));
    if (fault(SimFaultKind::out_of_memory, sim_plan) != nullptr)
      return Error{"sim", 2, "out of memory for the workspace"};
    if (fault(SimFaultKind::failing, sim_plan) != nullptr)
      return Error{"sim", 13, "execution failed"};
    if (fault(SimFaultKind::crash, sim_plan) != nullptr) shared_->crashing = true;
    Machine& machine = shared_->machine;
    machine.reach_queue_place();
    Work work = sim_plan.work;
    const SimSpec& spec = shared_->spec();
    const double factor =
        1 + spec.noise * sim::hash_normal(spec.noise_seed, machine.next_operation());
    work.cycles *= factor;
    work.memory_s *= factor;
    machine.run(work);
    SimBuffer::Written& written = written_at(operands.c);
    written.product = true;
    const SimFault* unwritten = fault(SimFaultKind::unwritten, sim_plan);
    const SimFault* wrong = fault(SimFaultKind::wrong, sim_plan);
    written.unwritten = unwritten == nullptr ? 0 : unwritten->count;
    written.wrong = wrong == nullptr ? 0 : wrong->count;
    return {};
  }

  Result<void> enqueue_mark(Mark mark) override {
    GEMMPEAK_TRY(begin());
    if (mark < 0 || mark >= static_cast<int>(marks_.size())) return not_reserved("mark", mark);
    shared_->machine.reach_queue_place();
    marks_[static_cast<std::size_t>(mark)] = shared_->machine.queue_end_s();
    return {};
  }

  Result<void> enqueue_stamp(int stamp) override {
    if (!shared_->spec().stamps) return {};
    GEMMPEAK_TRY(begin());
    if (stamp < 0 || stamp >= static_cast<int>(stamps_.size())) return not_reserved("stamp", stamp);
    shared_->machine.reach_queue_place();
    stamps_[static_cast<std::size_t>(stamp)] = {shared_->machine.queue_end_s(),
                                                shared_->machine.cycles()};
    return {};
  }

  Result<void> wait(Mark mark) override {
    GEMMPEAK_TRY(shared_->met());
    GEMMPEAK_TRY(known(mark));
    wait_until(marks_[static_cast<std::size_t>(mark)]);
    return {};
  }

  Result<bool> passed(Mark mark) override {
    GEMMPEAK_TRY(shared_->alive());
    GEMMPEAK_TRY(known(mark));
    shared_->machine.host_passes(1e-6);  // asking takes time, so that polling ends
    return marks_[static_cast<std::size_t>(mark)] <= shared_->machine.host_s();
  }

  Result<void> synchronize() override {
    GEMMPEAK_TRY(shared_->met());
    wait_until(shared_->machine.queue_end_s());
    return {};
  }

  Result<double> elapsed_s(Mark from, Mark to) override {
    GEMMPEAK_TRY(shared_->alive());
    GEMMPEAK_TRY(known(from));
    GEMMPEAK_TRY(known(to));
    return (marks_[static_cast<std::size_t>(to)] - marks_[static_cast<std::size_t>(from)]) *
           shared_->spec().mark_scale;
  }

  Result<DeviceClock> clock_between(int from, int to) override {
    GEMMPEAK_TRY(shared_->alive());
    const int count = static_cast<int>(stamps_.size());
    if (from < 0 || from >= count) return not_reserved("stamp", from);
    if (to < 0 || to >= count) return not_reserved("stamp", to);
    const Stamp& a = stamps_[static_cast<std::size_t>(from)];
    const Stamp& b = stamps_[static_cast<std::size_t>(to)];
    if (a.t < 0 || b.t <= a.t) return Error{"sim", 1, "the stamps enclose no time"};
    DeviceClock out;
    out.window_s = b.t - a.t;
    out.mhz = (b.cycles - a.cycles) / out.window_s / 1e6;
    out.precise = out.window_s >= 1e-3;  // a timer of 1 us, as NVIDIA's global timer
    return out;
  }

 private:
  struct Stamp {
    double t = -1;
    double cycles = 0;
  };
  Result<void> begin() {
    GEMMPEAK_TRY(shared_->alive());
    shared_->machine.host_passes(shared_->spec().enqueue_s);
    return {};
  }
  void wait_until(double t) {
    shared_->machine.host_waits_until(t);
    shared_->machine.host_passes(shared_->spec().wait_s);
  }
  Result<void> known(Mark mark) const {
    if (mark >= 0 && mark < static_cast<int>(marks_.size()) &&
        marks_[static_cast<std::size_t>(mark)] >= 0)
      return {};
    return not_reserved("mark", mark);
  }
  static Error not_reserved(const char* what, int number) {
    return Error{"sim", 1, std::string(what) + " " + std::to_string(number) + " was never placed"};
  }
  const SimFault* fault(SimFaultKind kind, const SimPlan& plan) const {
    if (shared_->spec().faults.empty()) return nullptr;
    return sim::find_fault(shared_->spec(), kind, plan.problem().shape, plan.rank());
  }

  std::shared_ptr<Shared> shared_;
  std::vector<double> marks_;
  std::vector<Stamp> stamps_;
};

class SimDevice : public Device {
 public:
  explicit SimDevice(SimSpec spec) : shared_(std::make_shared<Shared>(std::move(spec))) {}

  const DeviceInfo& info() const override { return shared_->spec().info; }
  bool dead() const override { return shared_->dead; }
  bool has_stamps() const override { return shared_->spec().stamps; }

  Capability capability(DType dtype) const override {
    if (shared_->spec().info.flop_per_clock_per_unit.count(dtype) != 0) return {true, "", ""};
    return {false, info().name + " has no " + std::string(dtype_name(dtype)) + " products",
            dtype_info(dtype).scale_block > 0 ? "sim:b200 has them" : ""};
  }

  Result<MemoryInfo> memory() override {
    GEMMPEAK_TRY(shared_->alive());
    return MemoryInfo{info().memory_bytes - shared_->used_bytes, info().memory_bytes};
  }

  Result<std::unique_ptr<Buffer>> allocate(std::int64_t bytes) override {
    GEMMPEAK_TRY(shared_->alive());
    if (bytes < 0) return Error{"sim", 1, "a negative size"};
    if (bytes > info().memory_bytes - shared_->used_bytes)
      return Error{"sim", 2, "out of memory for " + std::to_string(bytes) + " bytes"};
    shared_->machine.host_passes(1e-4);
    return std::unique_ptr<Buffer>(std::make_unique<SimBuffer>(shared_, bytes));
  }

  OperandSizes operand_sizes(const GemmProblem& problem) const override {
    return sim::sim_operand_sizes(problem);
  }

  Result<void> fill(View target, DType, DataKind, std::uint64_t) override { return fill(target); }
  Result<void> fill_unit_scales(View target, DType) override { return fill(target); }

  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const PlanRequest& request) override {
    GEMMPEAK_TRY(shared_->alive());
    shared_->machine.host_passes(shared_->spec().plan_s);
    GEMMPEAK_TRY(check(problem));
    if (request.rank < 0 || request.rank >= shared_->spec().suggestions)
      return Error{"sim", 15, "there is no suggestion " + std::to_string(request.rank)};
    if (sim::find_fault(shared_->spec(), SimFaultKind::refused, problem.shape, request.rank) !=
        nullptr)
      return Error{"sim", 15, "not supported for " + problem.shape.str()};
    return std::unique_ptr<GemmPlan>(
        std::make_unique<SimPlan>(shared_->spec(), problem, request.rank));
  }

  Result<int> suggestions(const GemmProblem& problem, std::int64_t) override {
    GEMMPEAK_TRY(shared_->alive());
    GEMMPEAK_TRY(check(problem));
    return shared_->spec().suggestions;
  }

  Result<std::unique_ptr<Stream>> make_stream() override {
    GEMMPEAK_TRY(shared_->alive());
    return std::unique_ptr<Stream>(std::make_unique<SimStream>(shared_));
  }

  Result<VerifyCounts> verify(const GemmProblem& problem, const Operands& operands,
                              std::span<const std::int64_t> rows,
                              std::span<const std::int64_t> cols, const Tolerance&) override {
    GEMMPEAK_TRY(shared_->met());
    GEMMPEAK_TRY(check_view(operands.c, sim::sim_operand_sizes(problem).c, "C"));
    VerifyCounts out;
    out.checked = static_cast<std::int64_t>(rows.size()) * static_cast<std::int64_t>(cols.size());
    const SimBuffer::Written& written = written_at(operands.c);
    out.bad =
        written.product ? std::min(out.checked, written.wrong + written.unwritten) : out.checked;
    out.worst_ratio = out.bad > 0 ? 100.0 : 0.25;
    if (out.bad > 0) {
      out.worst_row = rows.front();
      out.worst_col = cols.front();
      out.worst_got = 1;
    }
    return out;
  }

  Result<std::int64_t> count_bytes_equal(View c, DType, std::int64_t elements,
                                         std::uint8_t value) override {
    GEMMPEAK_TRY(shared_->met());
    const SimBuffer::Written& written = written_at(c);
    if (written.set_value != value) return std::int64_t{0};
    return written.product ? std::min(written.unwritten, elements) : elements;
  }

  double now_s() override { return shared_->machine.host_s(); }
  void sleep_s(double seconds) override { shared_->machine.host_passes(std::max(seconds, 0.0)); }

  std::unique_ptr<Telemetry> own_telemetry() override {
    if (!shared_->spec().telemetry) return nullptr;
    return sim::make_sim_telemetry(shared_);
  }

 private:
  Result<void> fill(View target) {
    GEMMPEAK_TRY(shared_->alive());
    GEMMPEAK_TRY(check_view(target, 1, "the target"));
    shared_->memory_work(target.bytes);
    shared_->machine.host_waits_until(shared_->machine.queue_end_s());
    return {};
  }

  Result<void> check(const GemmProblem& problem) const {
    const GemmShape& s = problem.shape;
    if (s.m <= 0 || s.n <= 0 || s.k <= 0) return Error{"sim", 1, "a dimension is not positive"};
    const Capability can = capability(problem.dtype);
    if (!can.supported) return Error{"sim", 15, can.reason};
    // cuBLASLt's rule for its 8-bit and narrower products.
    if (dtype_info(problem.dtype).bits <= 8 && (s.k % 16 != 0 || s.n % 16 != 0))
      return Error{
          "sim", 15,
          std::string(dtype_name(problem.dtype)) + " products need N and K to be multiples of 16"};
    return {};
  }

  std::shared_ptr<Shared> shared_;
};

class SimBackend : public Backend {
 public:
  std::string name() const override { return "sim"; }
  Result<std::vector<DeviceInfo>> list() override {
    std::vector<DeviceInfo> out;
    for (const std::string& name : sim_names()) out.push_back(sim_spec(name)->info);
    return out;
  }
  Result<std::unique_ptr<Device>> open(const std::string& id) override {
    const std::string prefix = "sim:";
    if (id.rfind(prefix, 0) == 0)
      if (auto spec = sim_spec(id.substr(prefix.size()))) return make_sim_device(*std::move(spec));
    std::string known;
    for (const std::string& name : sim_names()) known += (known.empty() ? "sim:" : ", sim:") + name;
    return error_text("there is no simulated device " + id + "; there are " + known);
  }
};

}  // namespace

std::unique_ptr<Device> make_sim_device(SimSpec spec) {
  return std::make_unique<SimDevice>(std::move(spec));
}

std::unique_ptr<Backend> make_sim_backend(const BackendSettings&) {
  return std::make_unique<SimBackend>();
}

}  // namespace gemmpeak
