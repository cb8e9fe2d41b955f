// What people and programs read of a run: rates, headlines, the closing report, the document and the
// console, from hand-made records.
#include "report/report.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace gemmpeak {
namespace {

using report::final_text;
using report::headline_line;
using testing::Test;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

LoopSample loop(GemmShape shape, double tflops) {
  LoopSample sample;
  sample.shape = shape;
  const double seconds = shape.flop() / (tflops * 1e12);
  sample.seconds = {seconds, seconds};
  return sample;
}

Headline msmf() {
  Headline h;
  h.regime = Regime::msmf;
  h.shape = {2816, 1536, 20480};
  h.tflops = 742.5;
  h.trust = Trust::validated;
  h.power_w = 691.2;
  h.clock_mhz = 1605;
  h.duty = 0.78;
  h.efficiency = 0.85;
  h.reasons = 0x4;
  h.joules_per_tflop = 0.9317;
  h.algorithm = "cublasLt id66";
  h.notes = {"A sentence."};
  h.repro = "gemmpeak find --device cuda:0 --dtype bfloat16 --m 2816 --n 1536 --k 20480";
  return h;
}

Run small_run() {
  Run run;
  run.settings.range_info = "m=1 | n=2 | k=3";
  run.shapes_tried = 2;
  run.scouts = {loop({1024, 1024, 1024}, 100), loop({2048, 2048, 2048}, 400)};
  run.elapsed_s = 3725;
  return run;
}

// What was written to a stream.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {}
  ~Capture() { std::fclose(file_); }
  std::FILE* file() { return file_; }
  std::string text() {
    std::string out;
    std::rewind(file_);
    for (int c; (c = std::fgetc(file_)) != EOF;) out += static_cast<char>(c);
    return out;
  }

 private:
  std::FILE* file_;
};

TEST(Rates, HeadlinesAreWholeTflopsWithHalvesAwayFromZero) {
  EXPECT_EQ(report::headline_rate_text(754.5), "755");
  EXPECT_EQ(report::headline_rate_text(844.49), "844");
}

TEST(Rates, UnderTenTflopsThreeDigitsStandAndNothingPrintsAsZero) {
  EXPECT_EQ(report::headline_rate_text(0.0345), "0.0345");
  EXPECT_EQ(report::headline_rate_text(1.234), "1.23");
  EXPECT_EQ(report::rate_text(0.000123), "0.000123");
  EXPECT_EQ(report::rate_text(12.34), "12.3");
}

TEST(HeadlineLine, HasRateShapeWattsClockAndDutyAsTheReferencePrintsThem) {
  EXPECT_EQ(headline_line(msmf()),
            "MSMF (max sustainable, saturated):   743 TFLOPS @ 2816x1536x20480 (MxNxK)  691W 1605MHz"
            "  duty 78 %");
}

TEST(HeadlineLine, BurstsWithoutWattsPrintNone) {
  Headline h = msmf();
  h.regime = Regime::mamf;
  h.power_w.reset();
  EXPECT_EQ(headline_line(h),
            "MAMF (max achievable,  boost burst): 743 TFLOPS @ 2816x1536x20480 (MxNxK)  1605MHz");
}

TEST(HeadlineLine, UnvalidatedOnesSaySo) {
  Headline h = msmf();
  h.trust = Trust::unvalidated;
  EXPECT_TRUE(has(headline_line(h), "(unvalidated)"));
}

TEST(FinalText, EachHeadlineComesWithItsEvidenceNotesAndReproLine) {
  gemmpeak::Run run = small_run();
  run.headlines = {msmf()};
  const std::string text = final_text(run);
  EXPECT_TRUE(has(text, "Tried 2 shapes => the best outcomes were:"));
  EXPECT_TRUE(has(text, "MAMF (max achievable,  boost burst): n/a"));
  for (const char* part : {"validated", "cublasLt id66", "efficiency 85.0 % of the peak at 1605 MHz",
                           "duty 78 %", "0.932 J/TFLOP", "A sentence.", "repro: gemmpeak find"})
    EXPECT_TRUE(has(text, part)) << part;
  EXPECT_TRUE(has(text, "throttle reasons: " + throttle_names(0x4).front()));
  EXPECT_TRUE(has(text, "Elapsed time: 1:02:05"));
}

TEST(FinalText, MeansAreOverScoutsOnly) {
  gemmpeak::Run run = small_run();
  run.headlines = {msmf()};
  run.confirms = {loop({2048, 2048, 2048}, 900)};
  LoopSample failed;
  failed.outcome = {OutcomeState::error, "no"};
  run.scouts.push_back(failed);
  const std::string text = final_text(run);
  EXPECT_TRUE(has(text, "arithmetic mean: 250.0 TFLOPS"));
  EXPECT_TRUE(has(text, "geometric mean:  200.0 TFLOPS"));
}

TEST(FinalText, WithoutHeadlinesMeanMedianAndMaxStandWithTheirShapes) {
  const std::string text = final_text(small_run());
  EXPECT_TRUE(has(text, "mean:   400.0 TFLOPS @ 2048x2048x2048 (MxNxK)"));
  EXPECT_TRUE(has(text, "median: 400.0 TFLOPS @ 2048x2048x2048 (MxNxK)"));
  EXPECT_TRUE(has(text, "max:    400.0 TFLOPS @ 2048x2048x2048 (MxNxK)"));
}

TEST(FinalText, AnUntrustedHeadlineIsNeverPrinted) {
  gemmpeak::Run run = small_run();
  run.headlines = {msmf()};
  run.headlines[0].trust = Trust::untrusted;
  EXPECT_FALSE(has(final_text(run), "743"));
}

TEST(FinalText, ShapesWithoutANumberAreCountedByReason) {
  gemmpeak::Run run = small_run();
  run.fates = {{{1, 2, 3}, "grid", "skipped", "does not fit"},
               {{1, 2, 4}, "grid", "skipped", "does not fit"},
               {{1, 2, 5}, "grid", "unsupported", "refused"},
               {{1, 2, 6}, "grid", "scouted", ""}};
  const std::string text = final_text(run);
  EXPECT_TRUE(has(text, "2 skipped (for example 1x2x3: does not fit)"));
  EXPECT_TRUE(has(text, "1 unsupported (for example 1x2x5: refused)"));
  EXPECT_FALSE(has(text, "scouted ("));
}

TEST(FinalText, IdleSiblingsAreNamedFromATenthOfTheTimeOn) {
  gemmpeak::Run run = small_run();
  run.headlines = {msmf()};
  run.idle_siblings = {{1, 0.05}, {3, 0.5}};
  const std::string text = final_text(run);
  EXPECT_TRUE(has(text, "1 same-board sibling GPU(s)"));
  EXPECT_TRUE(has(text, "GPU3 50 %"));
  EXPECT_FALSE(has(text, "GPU1"));
}

TEST(FinalText, AnInterruptionIsNamed) {
  gemmpeak::Run run = small_run();
  run.interrupted = true;
  run.interrupted_by = "SIGINT";
  EXPECT_TRUE(has(final_text(run), "Interrupted by SIGINT: the best so far."));
}

TEST(HeaderText, SaysWhatWasRunOnWhatWithWhichSettings) {
  gemmpeak::Run run = small_run();
  run.started = "2026-01-02T03:04:05+00:00";
  run.command_line = "gemmpeak find --notes 'a b'";
  run.platform = "Linux host";
  run.environment["CUDA_VISIBLE_DEVICES"] = "1";
  run.device.name = "NVIDIA H200";
  run.device.versions["driver"] = "580";
  run.settings.notes = "my note";
  run.telemetry["backend"] = "nvml";
  const std::string text = report::header_text(run);
  for (const char* part :
       {"2026-01-02T03:04:05", "--notes 'a b'", "bfloat16", "Linux host", "NVIDIA H200",
        "driver: 580", "CUDA_VISIBLE_DEVICES=1", "my note", "backend: nvml", "search mode: auto",
        "max_size=", "benchmark version: "})
    EXPECT_TRUE(has(text, part)) << part;
}

TEST(Document, IsTheRunsJsonWithSamplesOnOneLine) {
  gemmpeak::Run run = small_run();
  run.command_line = "bad utf-8: \xff";
  const std::string text = report::run_document(run);
  const Json parsed = Json::parse(text);
  EXPECT_EQ(parsed["schema"], kRunSchema);
  EXPECT_EQ(parsed["samples"]["scouts"].size(), 2u);
  EXPECT_TRUE(has(text, "\n  \"schema\": "));
  EXPECT_TRUE(has(text, "\"shape\": [1024,1024,1024]"));
  EXPECT_EQ(text.back(), '\n');
}

struct ConsoleTest : Test {
  Capture console, log;
  report::ConsoleOptions options() {
    report::ConsoleOptions out;
    out.console = console.file();
    out.log = log.file();
    out.telemetry = true;
    return out;
  }
  void scouts(report::Console& c, int count) {
    c.phase("scout", count);
    for (int i = 1; i <= count; ++i) c.scout(i, loop({1024 * i, 1024, 1024}, 100 + i), 100 + i);
    c.winner("scout", {1024 * count, 1024, 1024}, "best mean");
  }
};

TEST_F(ConsoleTest, TheScoutHeaderIsTheReferences) {
  auto c = report::make_console(options());
  scouts(*c, 2);
  EXPECT_TRUE(has(console.text(), "     #  MxNxK                mean median    max   best     W   MHz\n"));
}

TEST_F(ConsoleTest, OffATerminalThereAreNoEscapesAndProgressIsThinned) {
  auto c = report::make_console(options());
  scouts(*c, 100);
  c->progress("in place");
  c->warning("careful");
  const std::string text = console.text();
  EXPECT_FALSE(has(text, "\033"));
  EXPECT_FALSE(has(text, "\r"));
  EXPECT_FALSE(has(text, "in place"));
  EXPECT_TRUE(has(text, "WARNING: careful"));
  EXPECT_TRUE(has(text, "  <- best mean\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10 + 1 + 1 + 1);
  const std::string whole = log.text();
  EXPECT_GE(std::count(whole.begin(), whole.end(), '\n'), 102);
  EXPECT_FALSE(has(whole, "in place"));
}

TEST_F(ConsoleTest, OnATerminalRowsOverwriteEachOtherAndTheWinnerStays) {
  auto o = options();
  o.terminal = true;
  auto c = report::make_console(o);
  scouts(*c, 3);
  const std::string text = console.text();
  EXPECT_TRUE(has(text, "\r\033[K     2  2048x1024x1024"));
  EXPECT_TRUE(has(text, "\r\033[K     3  3072x1024x1024"));
  EXPECT_TRUE(has(text, "  <- best mean\n"));
  EXPECT_FALSE(has(log.text(), "\033"));
  EXPECT_FALSE(has(text, "\033[33m"));
}

TEST_F(ConsoleTest, ColourIsForWarningsOnly) {
  auto o = options();
  o.terminal = o.colour = true;
  auto c = report::make_console(o);
  c->note("plain");
  c->warning("careful");
  const std::string text = console.text();
  EXPECT_TRUE(has(text, "plain\n"));
  EXPECT_TRUE(has(text, "\033[33mWARNING: careful\033[0m\n"));
}

TEST_F(ConsoleTest, QuietShowsOnlyWhatTheReportIsGivenForIt) {
  auto o = options();
  o.quiet = true;
  auto c = report::make_console(o);
  scouts(*c, 3);
  c->note("a note");
  c->text("everything\n", "headline\n");
  EXPECT_EQ(console.text(), "headline\n");
  EXPECT_TRUE(has(log.text(), "a note"));
  EXPECT_TRUE(has(log.text(), "everything"));
}

TEST_F(ConsoleTest, EachPhaseHasItsTableWithUnits) {
  auto c = report::make_console(options());
  search::Confirmed confirmed;
  confirmed.shape = {8192, 8192, 8192};
  confirmed.tflops = 700;
  confirmed.runs = {699, 701};
  c->phase("msmf", 1);
  c->confirmed(confirmed);
  c->winner("msmf", confirmed.shape, "MSMF");
  search::Boosted boosted;
  boosted.shape = {8192, 8192, 8192};
  boosted.boost_reference_mhz = 1980;
  c->phase("mamf", 1);
  c->boosted(boosted);
  c->winner("mamf", boosted.shape, "MAMF");
  HeldSample held;
  held.shape = {8192, 8192, 8192};
  c->phase("held", 1);
  c->held(held);
  c->winner("held", held.shape, "back to back");
  const std::string text = console.text();
  EXPECT_TRUE(has(text, "MSMF (sustainable) confirm: 1 shapes ..."));
  EXPECT_TRUE(has(text, "  MxNxK              TFLOPS     W   MHz spread  runs (TFLOPS)\n"));
  EXPECT_TRUE(has(text, "  699.0 701.0  <- MSMF\n"));
  EXPECT_TRUE(has(text, "base-clock, not boost  <- MAMF\n"));
  EXPECT_TRUE(has(text, "  <- back to back\n"));
}

}  // namespace
}  // namespace gemmpeak
