// `gemmpeak find`: wires options, device, files and reports around the Finder. It measures nothing
// itself and decides only what is refused before measuring and the exit code after it.
#include <fmt/format.h>
#include <unistd.h>

#include "app/command.hpp"
#include "app/exit_codes.hpp"
#include "app/find_setup.hpp"
#include "app/outputs.hpp"
#include "app/session.hpp"
#include "app/signals.hpp"
#include "base/files.hpp"
#include "find/finder.hpp"
#include "report/report.hpp"
#include "search/candidates.hpp"

namespace gemmpeak::app {
namespace {

// All that a find holds while it runs. Members go in reverse order: the device before its registry.
struct Session {
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Device> device;
  std::unique_ptr<Telemetry> telemetry;
  std::unique_ptr<Bench> bench;
  std::unique_ptr<Journal> journal;
  File log;
  Outputs outputs;
  std::vector<std::string> notes;  // said before the log was open
  Run run;
};

BenchSettings bench_settings(const FindSettings& settings, const DeviceInfo& device) {
  BenchSettings out;
  out.dtype = settings.dtype;
  out.output = dtype_info(settings.dtype).output;
  out.layout = settings.layout;
  out.data = settings.data;
  out.fast_accumulation = settings.fast_accumulation;
  out.flush_bytes = settings.knobs.flush_mib > 0 ? std::int64_t{settings.knobs.flush_mib} << 20
                                                 : default_flush_bytes(device);
  out.loop_max_s = settings.knobs.loop_max_s;
  return out;
}

Result<void> settle_shapes(const Options& options, const ShapeRequest& shapes, Session& session) {
  FindSettings& settings = session.run.settings;
  const DeviceInfo& device = session.device->info();
  settings.search = shapes.search;
  settings.grid = shapes.grid;
  settings.range_info = shapes.range_info;
  session.notes.insert(session.notes.end(), shapes.notes.begin(), shapes.notes.end());
  if (settings.search == "grid") {
    if (auto bad = search::alignment_violations(settings.dtype, settings.grid,
                                                known_multiples(device.backend, settings.dtype)))
      return error_text(*bad);
    if (options.text("search") == "auto")
      session.notes.emplace_back("note: shapes were given, so --search is grid");
    return {};
  }
  if (auto why = auto_refusal(device)) return error_text(*why);
  settings.range_info = fmt::format("auto-search (CUs={}, dtype={}, max_size={})", device.units,
                                    dtype_name(settings.dtype), settings.knobs.max_size);
  if (!device.geometry_validated)
    session.notes.push_back(fmt::format(
        "note: --search auto has not been checked against an exhaustive grid on {}; compare it with a "
        "small --search grid before trusting the shapes it picks",
        device.name));
  return {};
}

// Everything that can be refused before measuring, in the order a user would want to hear it.
Result<void> prepare(const Host& host, const Options& options, Session& session) {
  auto shapes = requested_shapes(options);
  if (!shapes) return shapes.error();
  // A misspelt knob is found before a device is opened for nothing.
  if (auto knobs = requested_knobs(options, DeviceInfo{}); !knobs) return knobs.error();
  auto id = requested_device(options);
  if (!id) return id.error();
  auto device = open_device(host, options, *id, session.registry);
  if (!device) return device.error();
  session.device = std::move(device).value();
  const DeviceInfo& info = session.device->info();

  auto dtype = choose_dtype(options, *session.device);
  if (!dtype) return dtype.error();
  if (!dtype->note.empty()) session.notes.push_back(dtype->note);
  auto knobs = requested_knobs(options, info);
  if (!knobs) return knobs.error();

  Run& run = session.run;
  FindSettings& settings = run.settings;
  settings.device = info.id;
  settings.dtype = dtype->dtype;
  settings.layout = *parse_layout(options.text_or("layout", "tn"));
  settings.data = *parse_data_kind(options.text_or("data", "normal"));
  settings.fast_accumulation = options.flag("fast_accum");
  settings.num_iterations = static_cast<int>(options.integer("num_iterations").value_or(100));
  settings.num_warmup_iterations = static_cast<int>(options.integer("num_warmup_iterations").value_or(50));
  settings.telemetry = options.text_or("telemetry", "on") == "on";
  settings.knobs = knobs->knobs;
  settings.notes = options.text_or("notes", "");
  GEMMPEAK_TRY(settle_shapes(options, *shapes, session));
  settings.repro_options = repro_options(options, settings, *knobs);

  auto telemetry = choose_telemetry(host, settings.telemetry, *session.device);
  if (!telemetry) return telemetry.error();
  session.telemetry = std::move(telemetry->telemetry);
  session.notes.insert(session.notes.end(), telemetry->lines.begin(), telemetry->lines.end());

  run.started = host.started;
  run.command_line = command_line(host.arguments);
  run.program_version = program_version();
  run.platform = host.platform;
  run.environment = set_variables(host, info.environment);
  run.device = info;
  record_telemetry(session.telemetry.get(), run);

  std::string device_word = info.id;
  std::erase(device_word, ':');
  auto outputs = prepare_outputs(options, fmt::format("results/find-{}-{}-{}", host.file_stamp,
                                                      device_word, dtype_name(settings.dtype)));
  if (!outputs) return outputs.error();
  session.outputs = std::move(outputs).value();
  session.notes.insert(session.notes.end(), session.outputs.notes.begin(), session.outputs.notes.end());
  return {};
}

// The trial product, the journal and the log: the last things that may refuse.
Result<void> open_all(Session& session, const std::atomic<int>* stop) {
  const Run& run = session.run;
  session.bench = std::make_unique<Bench>(*session.device, session.telemetry.get(),
                                          bench_settings(run.settings, run.device), stop);
  if (auto problem = trial_problem(*session.bench))
    return error_text(dtype_refusal(run.settings.dtype, *problem,
                                    session.device->capability(run.settings.dtype).hint));
  const JournalHeader header{settings_fingerprint(run.settings), run.device.identity(),
                             run.command_line, run.started};
  const bool resume = !session.outputs.resume.empty();
  auto journal = resume ? Journal::resume(session.outputs.resume, header)
                        : Journal::create(session.outputs.journal, header);
  if (!journal) return error_text((resume ? "--resume: " : "") + journal.error().message());
  session.journal = std::move(journal).value();
  if (resume)
    session.notes.push_back(fmt::format("note: {} measurements are taken from {}",
                                        session.journal->recorded(), session.outputs.resume));
  auto log = create_log(session.outputs.log);
  if (!log) return log.error();
  session.log = std::move(log).value();
  return {};
}

// What keeps a number from being comparable is said beside it.
void mark_deviations(Run& run) {
  const FindSettings& settings = run.settings;
  for (Headline& headline : run.headlines) {
    if (settings.data != DataKind::normal) {
      if (headline.trust == Trust::validated) headline.trust = Trust::unvalidated;
      headline.notes.push_back(fmt::format(
          "Measured on {} data: power and clock depend on the data, so this is no comparable headline.",
          data_kind_name(settings.data)));
    }
    if (settings.fast_accumulation)
      headline.notes.emplace_back("FP8 with fast accumulation, which the reference does not use.");
    if (settings.layout != Layout::tn)
      headline.notes.push_back(
          fmt::format("Layout {}; the reference's is tn.", layout_name(settings.layout)));
  }
}

// Log and document; true where both reached the disk.
bool write_outputs(Session& session) {
  bool good = true;
  const auto failed = [&](const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    good = false;
  };
  if (std::fflush(session.log.get()) != 0 || std::ferror(session.log.get()) != 0)
    failed(fmt::format("the log {} could not be written in full", session.outputs.log));
  if (session.outputs.json.empty()) return good;
  const std::string document = report::run_document(session.run);
  if (session.outputs.json == "-") {
    if (std::fwrite(document.data(), 1, document.size(), stdout) != document.size() ||
        std::fflush(stdout) != 0)
      failed("the JSON document could not be written to stdout");
  } else if (auto written = write_file_atomic(session.outputs.json, document); !written) {
    failed(written.error().message());
  }
  return good;
}

std::unique_ptr<report::Console> open_console(const Host& host, const Options& options,
                                              const Session& session) {
  report::ConsoleOptions out;
  out.console = session.outputs.json == "-" ? stderr : stdout;
  const int descriptor = fileno(out.console);
  const auto no_colour = host.environment.find("NO_COLOR");
  out.log = session.log.get();
  out.terminal = is_terminal(descriptor);
  out.colour = out.terminal && (no_colour == host.environment.end() || no_colour->second.empty());
  out.quiet = !options.flag("verbose", true);
  out.telemetry = session.telemetry != nullptr;
  out.width = terminal_width(descriptor);
  return report::make_console(out);
}

}  // namespace

int run_find(const Host& host, const Options& options) {
  Session session;
  const std::atomic<int>* stop = watch_signals();
  if (auto ready = prepare(host, options, session); !ready) return refuse(ready.error().message());
  if (auto ready = open_all(session, stop); !ready) return refuse(ready.error().message());
  const auto console = open_console(host, options, session);
  console->text(report::header_text(session.run), "");
  for (const std::string& note : session.notes) console->note(note);

  session.run = Finder({session.bench.get(), session.journal.get(), console.get()},
                       std::move(session.run))
                    .run();
  if (session.run.interrupted) session.run.interrupted_by = signal_name(stop->load());
  mark_deviations(session.run);
  console->text(report::final_text(session.run), report::outcome_text(session.run));
  std::string files = "log: " + session.outputs.log + "\n";
  if (!session.outputs.json.empty() && session.outputs.json != "-")
    files += "json: " + session.outputs.json + "\n";
  const std::string& journal = session.journal->path();
  files += session.run.interrupted
               ? fmt::format("go on with: gemmpeak find ... --resume {}\n", shell_quoted(journal))
               : "journal: " + journal + "\n";
  console->text(files, "");
  const int code = find_exit_code(session.run, session.device->dead());
  return write_outputs(session) ? code : kExitOutput;
}

}  // namespace gemmpeak::app
