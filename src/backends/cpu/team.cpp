#include "backends/cpu/team.hpp"

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace gemmpeak::cpu {
namespace {

// Teams are told apart by number: a new one may lie where an old one lay.
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

thread_local std::uint64_t joined_team = 0;  // the team this calling thread is set up for
thread_local std::uint64_t pinned_team = 0;  // the team this thread is pinned for

int thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

constexpr std::int64_t kLine = 64;  // bytes of a cache line on x86-64 and most aarch64

// memset may store past the caches ("rep stos", non-temporal), and then a flush would leave the old
// lines where they are. Plain stores bring every line in; the barrier keeps the compiler from
// making a memset of the loop.
void write_through_caches(std::uint8_t* target, std::uint8_t value, std::int64_t bytes) {
  using Wide = std::uint64_t __attribute__((vector_size(16), aligned(1), may_alias));
  const std::uint64_t word = 0x0101010101010101ULL * value;
  const Wide wide{word, word};
  std::int64_t i = 0;
  for (; i + kLine <= bytes; i += kLine) {
    auto* line = reinterpret_cast<Wide*>(target + i);
    line[0] = wide;
    line[1] = wide;
    line[2] = wide;
    line[3] = wide;
    __asm__ volatile("" : : "r"(line) : "memory");
  }
  for (; i < bytes; ++i) target[i] = value;
}

}  // namespace

Team::Team(std::vector<int> cpus, std::function<void(int)> on_new_master)
    : cpus_(std::move(cpus)), on_new_master_(std::move(on_new_master)), serial_(next_serial()) {
  if (cpus_.empty()) cpus_.push_back(0);
}

Team::~Team() {
  // By thread id, because the last user may be another thread; one that has ended is simply not
  // found.
  for (const Saved& saved : masters_)
    (void)::sched_setaffinity(saved.thread_id, sizeof(saved.mask), &saved.mask);
}

void Team::pin_this(int cpu) {
  if (pinned_team == serial_) return;
  pinned_team = serial_;
  if (cpu >= CPU_SETSIZE) return;  // left where the scheduler puts it
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<unsigned>(cpu), &mask);
  (void)::sched_setaffinity(0, sizeof(mask), &mask);
}

// libgomp ends and remakes threads when a library asks for a smaller team in between, and a new
// thread inherits the master's single CPU: hence every parallel region here pins anew.
void Team::pin_all() {
#pragma omp parallel num_threads(size())
  pin_this(cpus_[static_cast<std::size_t>(omp_get_thread_num())]);
}

void Team::join() {
  if (joined_team == serial_) return;
  joined_team = serial_;
  Saved saved{thread_id(), {}};
  if (::sched_getaffinity(0, sizeof(saved.mask), &saved.mask) == 0) {
    const std::lock_guard lock(mutex_);
    masters_.push_back(saved);
  }
  omp_set_dynamic(0);
  omp_set_num_threads(size());
  if (on_new_master_) on_new_master_(size());
  pin_all();
}

void Team::parallel(std::int64_t count, const RangeBody& body) {
  if (count <= 0) return;
  join();
#pragma omp parallel num_threads(size())
  {
    const int thread = omp_get_thread_num();
    pin_this(cpus_[static_cast<std::size_t>(thread)]);
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t begin = count * thread / threads, end = count * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  }
}

void Team::set(void* target, std::uint8_t value, std::int64_t bytes) {
  auto* base = static_cast<std::uint8_t*>(target);
  const std::int64_t lines = (bytes + kLine - 1) / kLine;
  parallel(lines, [=](std::int64_t begin, std::int64_t end) {
    write_through_caches(base + begin * kLine, value, std::min(end * kLine, bytes) - begin * kLine);
  });
}

void Team::copy(void* target, const void* source, std::int64_t bytes) {
  const std::int64_t lines = (bytes + kLine - 1) / kLine;
  parallel(lines, [=](std::int64_t begin, std::int64_t end) {
    std::memmove(static_cast<char*>(target) + begin * kLine,
                 static_cast<const char*>(source) + begin * kLine,
                 static_cast<std::size_t>(std::min(end * kLine, bytes) - begin * kLine));
  });
}

}  // namespace gemmpeak::cpu
