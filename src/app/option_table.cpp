#include "app/option_table.hpp"

#include "model/dtype.hpp"

namespace gemmpeak::app {
namespace {

// Dimensions and counts are 32-bit in every library; the rest guards against slips of the keyboard.
constexpr std::int64_t kMaxInt = 2147483647;
constexpr std::int64_t kMaxIterations = 1000000;
constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxIndex = 1023;

constexpr const char* kWhat = "what to measure";
constexpr const char* kHow = "how to run";
constexpr const char* kOutput = "output";

OptionRow row(std::string name, Takes takes, std::string metavar, std::string group, std::string help,
              std::string default_text = {}) {
  OptionRow out;
  out.name = std::move(name);
  out.takes = takes;
  out.metavar = std::move(metavar);
  out.group = std::move(group);
  out.help = std::move(help);
  out.default_text = std::move(default_text);
  return out;
}
OptionRow reference(OptionRow out) {
  out.reference = true;
  return out;
}
OptionRow choice(OptionRow out, std::vector<std::string> choices) {
  out.choices = std::move(choices);
  return out;
}
OptionRow integer(OptionRow out, std::int64_t minimum, std::int64_t maximum) {
  out.integer = true;
  out.minimum = minimum;
  out.maximum = maximum;
  return out;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> out;
  for (const DTypeInfo& info : dtype_table())
    if (info.input) out.emplace_back(info.name);
  return out;
}

// --m and --m_range, exclusive. Their ranges are checked where the shapes are made, with the words
// of that place.
void add_dimension(std::vector<OptionRow>& rows, const std::string& dim, const std::string& words) {
  OptionRow values = integer(row(dim, Takes::several, "N", kWhat,
                                 "grid: the product's " + words + ", one or more values"),
                             INT64_MIN, INT64_MAX);
  values.excludes = dim + "_range";
  OptionRow range = integer(row(dim + "_range", Takes::several, "START STOP [STEP]", kWhat,
                                "grid: the product's " + words +
                                    " as a range without STOP; START 0 means START = STEP"),
                            INT64_MIN, INT64_MAX);
  rows.push_back(reference(std::move(values)));
  rows.push_back(reference(std::move(range)));
}

std::vector<OptionRow> what_rows() {
  std::vector<OptionRow> rows;
  rows.push_back(row("device", Takes::one, "ID", kWhat,
                     "auto, cpu, cuda:N or sim:NAME; `gemmpeak devices` lists them",
                     "auto: the first GPU, else the CPU"));
  rows.push_back(reference(integer(
      row("cuda_device", Takes::one, "N", kWhat, "index of the GPU to measure: --device cuda:N"), 0,
      kMaxIndex)));
  rows.push_back(reference(choice(
      row("dtype", Takes::one, "TYPE", kWhat,
          "element type of A and B; which of them a device runs, and why not, says `gemmpeak devices`",
          "bfloat16; float32 where the device has no native bfloat16"),
      dtype_names())));
  rows.push_back(reference(choice(
      row("search", Takes::one, "MODE", kWhat,
          "auto: the best shape anywhere; grid: the best of the shapes given. Any shape option "
          "implies grid",
          "auto"),
      {"auto", "grid"})));
  add_dimension(rows, "m", "first dimension");
  add_dimension(rows, "n", "last dimension");
  add_dimension(rows, "k", "shared (reduction) dimension");
  rows.push_back(reference(row("shapes_file", Takes::one, "FILE", kWhat,
                               "grid: exact shapes, one M,N,K a line (blanks, commas or x between, # "
                               "comments), instead of the product of --m, --n and --k")));
  rows.push_back(choice(row("layout", Takes::one, "XY", kWhat,
                            "storage of A and B; tn is the reference's, K contiguous in both", "tn"),
                        {"tn", "nt", "nn", "tt"}));
  rows.push_back(choice(row("data", Takes::one, "KIND", kWhat,
                            "what A and B hold; only normal gives comparable headlines", "normal"),
                        {"normal", "uniform", "zeros", "ones", "ints"}));
  rows.push_back(row("fast_accum", Takes::nothing, "", kWhat,
                     "FP8: let the library accumulate with fewer bits (named in the output)"));
  return rows;
}

std::vector<OptionRow> how_rows() {
  std::vector<OptionRow> rows;
  rows.push_back(reference(integer(row("num_iterations", Takes::one, "N", kHow,
                                       "timed iterations per confirmed shape", "100"),
                                   1, kMaxIterations)));
  rows.push_back(reference(integer(row("num_warmup_iterations", Takes::one, "N", kHow,
                                       "untimed iterations before them", "50"),
                                   0, kMaxIterations)));
  rows.push_back(reference(choice(
      row("telemetry", Takes::one, "on|off", kHow,
          "sample power and clock to validate the headlines; off runs without validation", "on"),
      {"on", "off"})));
  rows.push_back(reference(row("tune", Takes::repeated, "NAME=VALUE", kHow,
                               "set a knob of the search (listed below), repeatable; preset=v3 sets "
                               "mamf-finder's values, whatever its place")));
  rows.push_back(integer(row("threads", Takes::one, "N", kHow, "cpu: threads to use",
                             "what affinity and cgroup quota allow"),
                         1, kMaxThreads));
  rows.push_back(row("resume", Takes::one, "JOURNAL", kHow,
                     "go on with an interrupted run; refused where settings or device differ"));
  return rows;
}

std::vector<OptionRow> output_rows() {
  std::vector<OptionRow> rows;
  rows.push_back(reference(row("output_file", Takes::one, "FILE", kOutput,
                               "log; an existing file is kept and the new log gets a number",
                               "results/find-DATE-DEVICE-DTYPE.log")));
  rows.push_back(row("json", Takes::one, "FILE", kOutput,
                     "the whole run as one JSON document; - for stdout, all else then goes to "
                     "stderr; an existing file is kept and the new one gets a number"));
  rows.push_back(row("journal", Takes::one, "FILE", kOutput,
                     "where each measurement is kept as it ends, for --resume",
                     "beside the log, .journal.jsonl"));
  rows.push_back(
      reference(row("notes", Takes::one, "TEXT", kOutput, "text to add to the log's header")));
  rows.push_back(reference(row("verbose", Takes::yes_no, "", kOutput,
                               "show phases and progress on the console; --no-verbose shows the "
                               "headlines only",
                               "--verbose")));
  return rows;
}

std::vector<OptionRow> all_find_rows() {
  std::vector<OptionRow> rows;
  for (auto&& group : {what_rows(), how_rows(), output_rows()})
    rows.insert(rows.end(), group.begin(), group.end());
  return rows;
}

}  // namespace

std::span<const OptionRow> find_options() {
  static const std::vector<OptionRow> rows = all_find_rows();
  return rows;
}

std::span<const OptionRow> devices_options() {
  static const std::vector<OptionRow> rows = {
      row("json", Takes::nothing, "", kOutput, "the list as one JSON document on stdout"),
      row("probe", Takes::nothing, "", kHow,
          "also run a 128x128x128 product of each type, instead of trusting known limits alone"),
      integer(row("threads", Takes::one, "N", kHow, "cpu: threads to use",
                  "what affinity and cgroup quota allow"),
              1, kMaxThreads),
  };
  return rows;
}

std::span<const OptionRow> help_options() {
  static const std::vector<OptionRow> rows = {
      row("markdown", Takes::nothing, "", kOutput, "every option and knob as docs/options.md has it"),
  };
  return rows;
}

std::span<const OptionRow> version_options() { return {}; }

}  // namespace gemmpeak::app
