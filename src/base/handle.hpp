// Handle<T, destroy>: owns one vendor handle (a cublasLt descriptor, an event, a stream).
// Used by the backends. It refuses to be copied and never throws; a failing destroy is ignored,
// because nothing useful can be done about it.
#pragma once

#include <utility>

namespace gemmpeak {

template <class T, auto destroy>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, T{})) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, T{});
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  T get() const { return raw_; }
  T* out() {  // for create functions that write the handle
    reset();
    return &raw_;
  }
  explicit operator bool() const { return raw_ != T{}; }

 private:
  void reset() {
    if (raw_ != T{}) (void)destroy(raw_);
    raw_ = T{};
  }
  T raw_{};
};

}  // namespace gemmpeak
