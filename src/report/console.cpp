// Console and log while a find works. A progress row is written, then `\r` and an erase come before
// whatever follows it, so that rows of any width overwrite each other.
#include <fmt/format.h>

#include <map>

#include "report/report.hpp"

namespace gemmpeak::report {
namespace {

constexpr const char* kErase = "\r\033[K";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kPlain = "\033[0m";
// Off a terminal a phase of unknown length shows every so many rows.
constexpr int kEveryRow = 100;

std::string optional_cell(const std::optional<double>& value, int width) {
  return value ? fmt::format("{:>{}.0f}", *value, width) : fmt::format("{:>{}}", "-", width);
}

std::string rates_text(const std::vector<double>& rates) {
  std::string out;
  for (double rate : rates) {
    if (!out.empty()) out += ' ';
    out += rate_text(rate);
  }
  return out;
}

struct PhaseWords {
  const char* title;  // "{}" is the count
  std::string header;
};

class TextConsole final : public Console {
 public:
  explicit TextConsole(const ConsoleOptions& options) : options_(options) {
    phases_["scout"] = {"", fmt::format("{:>6}  {:<18} {:>6} {:>6} {:>6} {:>6}{}", "#", "MxNxK", "mean",
                                        "median", "max", "best", sensors("W", "MHz"))};
    phases_["screen"] = {"MAMF recall screen: {} shapes ...",
                         fmt::format("  {:>4}  {:<18} {:>6} {:>5}", "#", "MxNxK", "peak", "MHz")};
    phases_["msmf"] = {"MSMF (sustainable) confirm: {} shapes ...",
                       fmt::format("  {:<18} {:>6} {:>5} {:>5} {:>6}  runs (TFLOPS)", "MxNxK",
                                   "TFLOPS", "W", "MHz", "spread")};
    phases_["mamf"] = {"MAMF (achievable) confirm: {} shapes ...",
                       fmt::format("  {:<18} {:>6} {:>5} {:>5}  top peaks (TFLOPS)", "MxNxK", "TFLOPS",
                                   "W", "MHz")};
    phases_["held"] = {"Back-to-back (held, no gaps): {} shapes ...",
                       fmt::format("  {:<18} {:>6} {:>5} {:>5} {:>5} {:>6}", "MxNxK", "TFLOPS", "W",
                                   "MHz", "duty", "s")};
  }
  ~TextConsole() override { erase(); }

  void text(const std::string& text, const std::string& quiet_text) override {
    erase();
    to_console(options_.quiet ? quiet_text : text);
    to_log(text);
  }
  void note(const std::string& sentence) override { line(sentence, false); }
  void warning(const std::string& sentence) override { line("WARNING: " + sentence, true); }
  void detail(const std::string& row) override { to_log(row + "\n"); }
  void progress(const std::string& row) override { in_place(row); }

  void phase(const std::string& name, int shapes) override {
    const auto words = phases_.find(name);
    if (words == phases_.end()) return;
    phase_ = name;
    shapes_ = shapes;
    seen_ = 0;
    rows_.clear();
    if (words->second.title[0] != '\0')
      line(fmt::format("\n{}", fmt::format(fmt::runtime(words->second.title), shapes)), false);
    to_log(words->second.header + "\n");
    header_due_ = true;
  }

  void scout(int number, const LoopSample& s, double best_mean_tflops) override {
    std::string row = fmt::format("{:>6}  {:<18} {:>6} {:>6} {:>6} {:>6}", number, s.shape.str(),
                                  rate_text(s.mean_tflops()), rate_text(s.median_tflops()),
                                  rate_text(s.max_tflops()), rate_text(best_mean_tflops));
    const SensorSummary& sensors = s.window.sensors;
    if (options_.telemetry)
      row += fmt::format(" {} {}", optional_cell(sensors.power_w, 5),
                         optional_cell(sensors.clock_max_mhz, 5));
    measured(s.shape, row);
  }
  void screen(int number, const GemmShape& shape, double peak_tflops,
              std::optional<double> clock_mhz) override {
    measured(shape, fmt::format("  {:>4}  {:<18} {:>6} {}", number, shape.str(), rate_text(peak_tflops),
                                optional_cell(clock_mhz, 5)));
  }
  void confirmed(const search::Confirmed& c) override {
    measured(c.shape, fmt::format("  {:<18} {:>6} {} {} {:>5.1f}%  {}", c.shape.str(),
                                  rate_text(c.tflops), optional_cell(c.power_w, 5),
                                  optional_cell(c.clock_mhz, 5), c.spread_percent,
                                  rates_text(c.runs)));
  }
  void boosted(const search::Boosted& b) override {
    const bool base_clock = !b.boost && b.boost_reference_mhz > 0;
    measured(b.shape, fmt::format("  {:<18} {:>6} {} {}  {}{}", b.shape.str(), rate_text(b.tflops),
                                  optional_cell(b.power_w, 5), optional_cell(b.clock_mhz, 5),
                                  rates_text(b.top), base_clock ? "  base-clock, not boost" : ""));
  }
  void held(const HeldSample& h) override {
    const WindowFacts& w = h.window;
    if (!h.outcome.ok()) {
      detail(fmt::format("  {:<18} {} ({})", h.shape.str(), outcome_name(h.outcome.state),
                         h.outcome.reason));
      return;
    }
    measured(h.shape, fmt::format("  {:<18} {:>6} {} {} {:>4.0f}% {:>6.1f}", h.shape.str(),
                                  rate_text(h.tflops()), optional_cell(w.sensors.power_w, 5),
                                  optional_cell(w.sensors.clock_mean_mhz, 5), 100 * w.duty, w.span_s));
  }
  void winner(const std::string& phase, const GemmShape& shape, const std::string& label) override {
    const auto row = rows_.find(shape);
    if (phase != phase_ || row == rows_.end()) return;
    if (header_due_ && !options_.quiet) print_header();
    line(row->second + "  <- " + label, false);
  }
  void headline(const Headline& h) override { detail(headline_line(h)); }

 private:
  std::string sensors(const char* power, const char* clock) const {
    return options_.telemetry ? fmt::format(" {:>5} {:>5}", power, clock) : std::string();
  }

  void to_console(const std::string& text) {
    if (options_.console == nullptr || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), options_.console);
    std::fflush(options_.console);
  }
  void to_log(const std::string& text) {
    if (options_.log == nullptr) return;
    std::fwrite(text.data(), 1, text.size(), options_.log);
    std::fflush(options_.log);  // a killed run keeps its log
  }

  // Ends a progress row that waits to be overwritten.
  void erase() {
    if (!pending_) return;
    pending_ = false;
    to_console(kErase);
  }

  void line(const std::string& text, bool warn) {
    to_log(text + "\n");
    if (options_.quiet) return;
    erase();
    to_console(warn && options_.colour ? kYellow + text + kPlain + "\n" : text + "\n");
    header_due_ = true;
  }

  void in_place(const std::string& row) {
    if (options_.quiet || !options_.terminal) return;
    // A row longer than the terminal would wrap and could not be erased.
    const auto width = static_cast<std::size_t>(options_.width > 1 ? options_.width - 1 : 1);
    to_console(kErase + row.substr(0, width));
    pending_ = true;
  }

  void print_header() {
    erase();
    to_console(phases_[phase_].header + "\n");
    header_due_ = false;
  }

  // A measured row: the log has them all; a terminal shows the newest, a pipe about ten a phase.
  void measured(const GemmShape& shape, const std::string& row) {
    to_log(row + "\n");
    rows_[shape] = row;
    ++seen_;
    if (options_.quiet) return;
    if (options_.terminal) {
      if (header_due_) print_header();
      in_place(row);
      return;
    }
    const bool known = shapes_ > 1;
    const bool shown = known ? seen_ * 10 / shapes_ != (seen_ - 1) * 10 / shapes_ : seen_ % kEveryRow == 0;
    if (!shown) return;
    if (header_due_) print_header();
    to_console(row + "\n");
  }

  ConsoleOptions options_;
  std::map<std::string, PhaseWords> phases_;
  std::map<GemmShape, std::string> rows_;  // of this phase
  std::string phase_;
  int shapes_ = 0;
  int seen_ = 0;
  bool header_due_ = false;
  bool pending_ = false;
};

}  // namespace

std::unique_ptr<Console> make_console(const ConsoleOptions& options) {
  return std::make_unique<TextConsole>(options);
}

}  // namespace gemmpeak::report
