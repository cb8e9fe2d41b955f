#!/usr/bin/env python3
"""The program as a user types it: exit codes, words, files.

Run by CTest with GEMMPEAK (the program) and GEMMPEAK_SOURCE (the repository). Each test works in a
folder of its own. Only the standard library is used. A part that needs a device which is not here
exits with 77, which CTest counts as skipped.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ.get("GEMMPEAK", "build/gemmpeak")
SOURCE = os.environ.get("GEMMPEAK_SOURCE", ".")
# A grid that the simulated device measures in a blink.
SMALL = ["--device", "sim:h200", "--m", "1024", "2048", "--n", "1024", "--k", "1024", "4096",
         "--num_iterations", "10", "--num_warmup_iterations", "2"]
# A grid that lasts, for tests that stop the program half-way.
LONG = ["--device", "sim:h200", "--m_range", "256", "20000", "64", "--n_range", "256", "20000", "256",
        "--k", "1024"]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gemmpeak-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def run_program(self, *arguments, environment=None, cwd=None):
        return subprocess.run([PROGRAM, *arguments], cwd=cwd or self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=250,
                              env={**os.environ, **(environment or {})})

    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def good(self, *arguments, code=0, **options):
        done = self.run_program(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr)
        return done

    def refused(self, *arguments, words=(), **options):
        """Exit code 2, one error on stderr with these words, nothing on stdout, no file made."""
        before = sorted(os.listdir(self.folder))
        done = self.run_program(*arguments, **options)
        self.assertEqual(done.returncode, 2, done.stdout[-2000:] + done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)
        after = [name for name in os.listdir(self.folder) if name != "results"]
        self.assertEqual(sorted(after), [name for name in before if name != "results"])
        results = self.path("results")
        self.assertEqual(os.listdir(results) if os.path.isdir(results) else [], [])
        return done.stderr

    def wait_for_entries(self, journal, count, process):
        """Until the journal has this many measured shapes."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if os.path.exists(journal) and len(entries(journal)) >= count:
                return
            self.assertIsNone(process.poll(), "the program ended too early")
            time.sleep(0.005)
        self.fail("the journal did not grow")


def entries(journal):
    """Whole lines after the header."""
    with open(journal, "rb") as f:
        lines = f.read().split(b"\n")
    return [json.loads(line) for line in lines[1:-1]]


class Help(Case):
    def test_no_command_and_help_show_commands_examples_and_exit_codes(self):
        for arguments in [(), ("--help",), ("-h",), ("help",)]:
            text = self.good(*arguments).stdout
            for word in ["find", "devices", "version", "examples:", "exit codes:", "gemmpeak find --dtype"]:
                self.assertIn(word, text)

    def test_find_help_lists_every_option_and_knob_with_defaults(self):
        text = self.good("find", "--help").stdout
        for word in ["--dtype TYPE", "--m_range START STOP", "--tune NAME=VALUE", "(default: 100)",
                     "nvfp4", "confirm_reps", "msmf_soak_s", "--resume JOURNAL", "what to measure:"]:
            self.assertIn(word, text)
        self.assertEqual(self.good("help", "find").stdout, text)

    def test_help_fits_a_terminal_of_a_hundred_columns(self):
        for command in ["find", "devices"]:
            for line in self.good("help", command).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_an_unknown_command_lists_the_known_ones(self):
        self.refused("fnd", words=["no command 'fnd'", "find, devices, help, version"])
        self.refused("--dtype", "bfloat16", words=["gemmpeak find"])
        self.refused("help", "fnd", words=["no command 'fnd'"])

    def test_version_names_program_and_protocol(self):
        text = self.good("version").stdout
        self.assertRegex(text, r"^gemmpeak \d+\.\d+\.\d+ \(benchmark version \d+")
        self.assertEqual(self.good("--version").stdout, text)

    def test_docs_options_is_what_the_program_prints(self):
        with open(os.path.join(SOURCE, "docs", "options.md"), encoding="utf-8") as f:
            self.assertEqual(self.good("help", "--markdown").stdout, f.read(),
                             "renew it: build/gemmpeak help --markdown > docs/options.md")

    def test_the_readme_has_every_exit_code(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
            readme = f.read()
        table = self.good("help", "--markdown").stdout.split("## Exit codes")[1]
        for line in table.splitlines():
            if re.match(r"\| \d", line):
                self.assertIn(line, readme)


class Options(Case):
    def document(self, *arguments):
        return json.loads(self.good("find", *SMALL, "--tune", "scout_only=true", "--json", "-",
                                    *arguments).stdout)

    def test_prefixes_equals_signs_and_repeats_reach_the_settings(self):
        settings = self.document("--telem=off", "--note", "a b", "--num_w", "3", "--dtype=float32",
                                 "--dtype", "float16")["settings"]
        self.assertEqual(settings["dtype"], "float16")
        self.assertEqual(settings["num_warmup_iterations"], 3)
        self.assertEqual(settings["notes"], "a b")
        self.assertFalse(settings["telemetry"])

    def test_negative_steps_make_a_falling_range(self):
        run = json.loads(self.good("find", "--device", "sim:h200", "--m_range", "1024", "0", "-256", "--n",
                                   "512", "--k=512", "--tune", "scout_only=1", "--json", "-").stdout)
        self.assertEqual([shape[0] for shape in run["settings"]["grid"]], [1024, 768, 512, 256])

    def test_tune_adds_up_and_presets_count_wherever_they_stand(self):
        knobs = self.document("--tune", "confirm_reps=9", "--tune=preset=v3", "--tune",
                              "refine_grid=0")["settings"]["knobs"]
        self.assertEqual((knobs["confirm_reps"], knobs["refine_grid"], knobs["scout_num_iterations"]),
                         (9, False, 20))

    def test_a_shapes_file_beats_the_options_and_says_so(self):
        shapes = self.write("shapes.txt", "# two\n512x512x512\n1024, 512 512\n")
        text = self.good("find", *SMALL, "--shapes_file", shapes, "--tune", "scout_only=1").stdout
        self.assertIn("note: --shapes_file gives the shapes, --m, --n, --k is not used", text)
        self.assertIn("Tried 2 shapes", text)

    def test_the_command_line_is_kept_as_a_shell_takes_it_back(self):
        line = self.document("--notes", "it's [a,b]")["command_line"]
        self.assertIn("--notes 'it'\"'\"'s [a,b]'", line)


class Refusals(Case):
    def test_unknown_dtype_lists_the_known_ones(self):
        self.refused("find", "--dtype", "float8", words=["--dtype", "'float8'", "bfloat16", "nvfp4"])

    def test_a_dtype_the_device_lacks_comes_with_reason(self):
        self.refused("find", "--device", "sim:h200", "--dtype", "nvfp4",
                     words=["--dtype nvfp4 doesn't run on this device: "])

    def test_a_shapes_file_without_end_is_refused(self):
        self.refused("find", *SMALL, "--shapes_file", "/dev/zero", words=["/dev/zero", "64 MiB"])

    def test_two_outputs_under_two_spellings_of_one_name_are_refused(self):
        self.refused("find", *SMALL, "--json", "a.txt", "--output_file", "./a.txt",
                     words=["two outputs", "a.txt"])

    def test_a_bad_line_of_a_shapes_file_is_named(self):
        shapes = self.write("shapes.txt", "1x2x3\n# fine\n4x5\n")
        self.refused("find", *SMALL, "--shapes_file", shapes, words=[shapes + ":3:", "'4x5'"])
        self.refused("find", "--shapes_file", self.path("none"), words=["--shapes_file", "none"])
        empty = self.write("empty.txt", "# nothing\n")
        self.refused("find", "--shapes_file", empty, words=["no shapes"])

    def test_an_unknown_knob_lists_the_known_ones(self):
        self.refused("find", "--tune", "speed=9", words=["speed=9", "max_size", "msmf_soak_s"])
        self.refused("find", "--tune", "confirm_reps=many", words=["confirm_reps=many"])

    def test_known_alignment_lists_every_bad_value(self):
        self.refused("find", "--device", "sim:b200", "--dtype", "mxfp4", "--m", "256", "--n", "256", "--k",
                     "33", "64", "100", words=["--dtype mxfp4", "multiple of 32", "K=33,100"])
        self.refused("find", "--device", "sim:h200", "--dtype", "float8_e4m3fn", "--m", "8", "--n", "24",
                     "--k", "40", words=["N=24", "K=40", "16"])

    def test_impossible_shapes_are_refused_by_name(self):
        base = ["find", "--device", "sim:h200", "--n", "64", "--k", "64"]
        for values, word in [(["--m", "0"], "--m 0"), (["--m", "-5"], "--m -5"),
                             (["--m", "3000000000"], "3000000000"), (["--m_range", "9", "9"], "empty"),
                             (["--m_range", "1", "9", "0"], "STEP"), (["--m", "x"], "'x'")]:
            self.refused(*base, *values, words=[word])
        self.refused(*base, "--m", "1", "--m_range", "1", "2", words=["--m", "--m_range"])
        self.refused("find", "--search", "grid", "--m", "64", words=["n, k"])

    def test_a_device_that_is_not_there_lists_what_is(self):
        self.refused("find", "--device", "sim:none", words=["--device sim:none", "sim:h200"])
        self.refused("find", "--device", "warp:0", words=["warp:0", "sim:h200"])
        self.refused("find", "--device", "cpu:97", words=["--device cpu:97", "sim:h200"])
        self.refused("find", "--device", "cuda:97", words=["--device cuda:97", "sim:h200"])

    def test_cuda_device_without_that_gpu_says_so(self):
        text = self.refused("find", "--cuda_device", "97", words=["--cuda_device 97"])
        self.assertRegex(text, "there is no GPU|cuda:0")
        self.refused("find", "--cuda_device", "0", "--device", "cpu", words=["--device", "--cuda_device"])

    def test_grammar_errors_name_the_option_and_the_help(self):
        self.refused("find", "--num", "3", words=["ambiguous", "--num_iterations", "--num_warmup_iterations"])
        self.refused("find", "--dtype", words=["--dtype needs a value", "gemmpeak help find"])
        self.refused("find", "--fast", "1", words=["unexpected argument '1'"])
        self.refused("find", "--search", "best", words=["--search", "auto, grid"])


class Outputs(Case):
    def test_default_names_hold_date_device_and_dtype(self):
        self.good("find", *SMALL, "--dtype", "float16")
        names = sorted(os.listdir(self.path("results")))
        self.assertEqual(len(names), 2)
        self.assertRegex(names[0], r"^find-\d{8}-\d{6}-simh200-float16\.journal\.jsonl$")
        self.assertRegex(names[1], r"^find-\d{8}-\d{6}-simh200-float16\.log$")

    def test_existing_files_are_kept_and_the_new_ones_numbered(self):
        log, document = self.write("a.log", "old log"), self.write("a.json", "old json")
        text = self.good("find", *SMALL, "--output_file", log, "--json", document).stdout
        self.assertEqual((self.read("a.log"), self.read("a.json")), ("old log", "old json"))
        self.assertIn(f"note: {log} exists and is kept", text)
        self.assertIn("** Results:", self.read("a.2.log"))
        self.assertEqual(json.loads(self.read("a.2.json"))["schema"], "gemmpeak.run/1")
        self.assertTrue(os.path.exists(self.path("a.2.journal.jsonl")))

    def test_an_unwritable_path_is_found_before_measuring(self):
        self.write("file", "")
        for option in ["--output_file", "--json", "--journal"]:
            self.refused("find", *LONG, option, self.path("file/below"), words=[option, self.path("file")])
        os.mkdir(self.path("folder"))
        self.refused("find", *LONG, "--json", self.path("folder"), words=["--json", "folder"])

    def test_a_document_on_stdout_is_alone_there(self):
        done = self.good("find", *SMALL, "--json", "-")
        self.assertEqual(json.loads(done.stdout)["schema"], "gemmpeak.run/1")
        self.assertIn("** Results:", done.stderr)

    def test_a_full_disk_is_exit_code_5(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = self.good("find", *SMALL, "--output_file", "/dev/full", code=5)
        self.assertIn("error: ", done.stderr)

    def test_the_log_has_header_every_row_and_report(self):
        self.good("find", *SMALL, "--output_file", "a.log", "--notes", "my notes")
        log = self.read("a.log")
        for word in ["** Command line:", "** Dtype: bfloat16", "** Platform/Device info:", "my notes",
                     "benchmark version", "search mode: grid", "telemetry: sim", "** Results:"]:
            self.assertIn(word, log)
        for shape in ["1024x1024x1024", "2048x1024x1024", "1024x1024x4096", "2048x1024x4096"]:
            self.assertRegex(log, rf"\n +\d+  {shape} ")
        self.assertNotIn("\033", log)
        self.assertNotIn("\r", log)


class Find(Case):
    def test_a_whole_auto_run_gives_three_headlines_and_a_valid_document(self):
        done = self.good("find", "--device", "sim:h200", "--json", "run.json")
        for label in ["MAMF (max achievable,  boost burst): ", "MSMF (max sustainable, saturated):   ",
                      "Back-to-back (held, no gaps):        "]:
            self.assertRegex(done.stdout, re.escape(label) + r"\d+ TFLOPS @ \d+x\d+x\d+ \(MxNxK\)")
        run = json.loads(self.read("run.json"))
        self.check_document(run)
        self.assertEqual([h["regime"] for h in run["headlines"]], ["msmf", "mamf", "back_to_back"])
        self.assertFalse(run["interrupted"])
        for headline in run["headlines"]:
            self.assertEqual(headline["trust"], "validated")
            self.assertIn("repro: " + headline["repro"], done.stdout)

    def check_document(self, run):
        with open(os.path.join(SOURCE, "docs", "schemas", "run.schema.json")) as f:
            schema = json.load(f)
        problems = list(violations(run, schema, schema, "run"))
        self.assertEqual(problems, [])

    def test_the_repro_line_repeats_the_headline(self):
        self.good("find", *SMALL, "--dtype", "float16", "--tune", "confirm_reps=3", "--json", "a.json")
        first = next(h for h in json.loads(self.read("a.json"))["headlines"] if h["regime"] == "mamf")
        words = first["repro"].split()
        self.assertEqual(words[:2], ["gemmpeak", "find"])
        self.good(*words[1:], "--json", "b.json")
        again = {h["regime"]: h for h in json.loads(self.read("b.json"))["headlines"]}[first["regime"]]
        self.assertEqual(again["shape"], first["shape"])
        self.assertAlmostEqual(again["tflops"] / first["tflops"], 1, delta=0.02)

    def test_telemetry_off_runs_all_the_way_and_says_so(self):
        done = self.good("find", "--device", "sim:h200", "--telemetry", "off", "--json", "run.json")
        self.assertIn("*** telemetry: off - MAMF is not boost-validated and SUSPECT filtering is off",
                      done.stdout)
        run = json.loads(self.read("run.json"))
        self.check_document(run)
        self.assertEqual(len(run["headlines"]), 3)
        msmf = next(h for h in run["headlines"] if h["regime"] == "msmf")
        self.assertEqual(msmf["trust"], "unvalidated")
        self.assertNotIn("power_w", msmf)

    def test_scout_only_gives_mean_median_and_max(self):
        text = self.good("find", *SMALL, "--tune", "scout_only=true").stdout
        for label in ["mean:   ", "median: ", "max:    "]:
            self.assertRegex(text, label + r"[\d.]+ TFLOPS @ \d+x\d+x\d+ \(MxNxK\)")

    def test_no_verbose_still_prints_the_headlines_and_nothing_else(self):
        lines = self.good("find", *SMALL, "--no-verbose").stdout.splitlines()
        self.assertEqual([line.split(" ")[0] for line in lines], ["MAMF", "MSMF", "Back-to-back"])

    def test_piped_output_has_no_escapes_and_few_progress_rows(self):
        text = self.good("find", "--device", "sim:h200").stdout
        self.assertNotIn("\033", text)
        self.assertNotIn("\r", text)
        self.assertIn("     #  MxNxK                mean median    max   best     W   MHz\n", text)
        self.assertLess(len(text.splitlines()), 200)

    def test_a_terminal_gets_rows_in_place(self):
        import pty
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, "find", *SMALL], cwd=self.folder, stdout=slave, stderr=slave,
                                   stdin=subprocess.DEVNULL)
        os.close(slave)
        data = b""
        while True:
            try:
                block = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            data += block
        os.close(master)
        self.assertEqual(process.wait(), 0)
        self.assertIn(b"\r\033[K", data)
        self.assertIn(b"  <- MSMF", data)

    def test_shapes_that_cannot_run_are_data_points_and_alone_give_exit_1(self):
        huge = ["--device", "sim:h200", "--m", "2000000", "--n", "2000000", "--k", "4096"]
        done = self.good("find", *huge, "--json", "run.json", code=1)
        fates = json.loads(self.read("run.json"))["fates"]
        self.assertEqual([f["fate"] for f in fates], ["skipped"])
        self.assertIn("Shapes without a number:", done.stdout)
        self.good("find", *SMALL, "--m", "1024", "2000000", "--n", "2000000")

    def test_dimensions_whose_products_pass_2_to_the_31_work(self):
        self.good("find", "--device", "sim:h200", "--m", "65536", "--n", "65536", "--k", "1024", "--tune",
                  "scout_only=1")

    def test_other_data_than_normal_is_no_comparable_headline(self):
        self.good("find", *SMALL, "--data", "zeros", "--json", "run.json")
        for headline in json.loads(self.read("run.json"))["headlines"]:
            self.assertEqual(headline["trust"], "unvalidated")

    def test_an_unvalidated_geometry_is_noted(self):
        text = self.good("find", "--device", "sim:a100", "--tune", "scout_only=1").stdout
        self.assertIn("note: --search auto has not been checked against an exhaustive grid on "
                      "simulated A100", text)


class Resume(Case):
    def test_a_killed_run_goes_on_and_loses_one_shape_at_most(self):
        journal = self.path("run.journal.jsonl")
        process = self.start("find", *LONG, "--tune", "scout_only=1", "--journal", journal, "--output_file",
                             "a.log")
        self.wait_for_entries(journal, 30, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = entries(journal)
        # What the log shows as measured and what the journal kept differ by the shape in flight.
        logged = len(re.findall(r"^ +\d+  \d+x\d+x\d+ ", self.read("a.log"), re.M))
        self.assertLessEqual(abs(logged - len(kept)), 1)
        process = self.start("find", *LONG, "--tune", "scout_only=1", "--resume", journal, "--json",
                             "b.json")
        self.wait_for_entries(journal, len(kept) + 30, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(out, rf"note: {len(kept)} measurements are taken from ")
        scouts = json.loads(self.read("b.json"))["samples"]["scouts"]
        for entry, sample in zip(kept, scouts):
            self.assertEqual(entry["value"]["seconds"], sample["seconds"])
        keys = [entry["key"] for entry in entries(journal)]
        self.assertEqual(len(keys), len(set(keys)), "a shape was measured twice")

    def test_a_finished_run_resumed_gives_the_same_headlines(self):
        self.good("find", *SMALL, "--journal", "j", "--json", "a.json")
        self.good("find", *SMALL, "--resume", "j", "--json", "b.json")
        first, again = (json.loads(self.read(name)) for name in ("a.json", "b.json"))
        self.assertEqual([h["tflops"] for h in first["headlines"]],
                         [h["tflops"] for h in again["headlines"]])

    def test_a_foreign_journal_is_refused_with_what_differs(self):
        self.good("find", *SMALL, "--journal", "j")
        before = self.read("j")
        shutil.rmtree(self.path("results"))
        self.refused("find", *SMALL, "--dtype", "float16", "--resume", "j", words=["--resume", "dtype"])
        self.refused("find", *SMALL, "--tune", "confirm_reps=9", "--resume", "j", words=["confirm_reps"])
        self.refused("find", *SMALL, "--device", "sim:b200", "--resume", "j", words=["device"])
        self.refused("find", *SMALL, "--resume", "none", words=["--resume", "none"])
        text = self.write("text", "no journal\n")
        self.refused("find", *SMALL, "--resume", text, words=["line 1"])
        self.assertEqual(self.read("j"), before)


class Signals(Case):
    def interrupt(self, number, name):
        process = self.start("find", *LONG, "--journal", "j", "--json", "run.json")
        self.wait_for_entries(self.path("j"), 20, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(f"Interrupted by {name}: the best so far.", out)
        self.assertRegex(out, r"mean:   [\d.]+ TFLOPS @ ")
        self.assertIn("--resume j", out)
        run = json.loads(self.read("run.json"))
        self.assertTrue(run["interrupted"])
        self.assertEqual(run["interrupted_by"], name)
        self.assertGreaterEqual(len(run["samples"]["scouts"]), 20)

    def test_sigint_leaves_a_complete_marked_document_and_exit_1(self):
        self.interrupt(signal.SIGINT, "SIGINT")

    def test_sigterm_does_the_same(self):
        self.interrupt(signal.SIGTERM, "SIGTERM")

    def test_a_closed_pipe_does_not_cost_the_document(self):
        process = self.start("find", "--device", "sim:h200", "--json", "run.json")
        process.stdout.readline()
        process.stdout.close()
        process.stderr.read()
        process.wait(timeout=120)
        self.assertEqual(len(json.loads(self.read("run.json"))["headlines"]), 3)
        process.stderr.close()


class Devices(Case):
    def test_each_device_has_a_block_and_missing_backends_reason_and_fix(self):
        text = self.good("devices").stdout
        self.assertRegex(text, r"(?m)^sim:h200  simulated H200")
        for word in ["geometry", "memory", "telemetry", "runs", "bfloat16"]:
            self.assertIn(word, text)
        for block in text.split("\n\n"):
            if ": not there" in block:
                self.assertRegex(block, r"reason +\S")

    def test_json_has_every_dtype_with_a_reason_where_it_does_not_run(self):
        document = json.loads(self.good("devices", "--json").stdout)
        self.assertEqual(document["schema"], "gemmpeak.devices/1")
        self.assertIn("sim:h200", [device["id"] for device in document["devices"]])
        for device in document["devices"]:
            self.assertEqual(len(device["dtypes"]), 12, device["id"])
            for dtype in device["dtypes"]:
                self.assertTrue(dtype["supported"] or dtype["reason"], (device["id"], dtype))

    def test_probe_runs_the_trials(self):
        probed = json.loads(self.good("devices", "--json", "--probe").stdout)
        listed = json.loads(self.good("devices", "--json").stdout)
        for a, b in zip(probed["devices"], listed["devices"]):
            if a["backend"] == "sim":
                self.assertEqual(a["dtypes"], b["dtypes"])

    def test_it_answers_at_once(self):
        best = min(self.timed() for _ in range(3))
        # 0.5 s is the promise on an idle machine; a busy one gets some slack.
        self.assertLess(best, 1.5)

    def timed(self):
        began = time.monotonic()
        self.good("devices")
        return time.monotonic() - began


class Cpu(Case):
    GRID = ["--device", "cpu", "--dtype", "float32", "--m", "256", "384", "--n", "256", "--k", "256",
            "--num_iterations", "5", "--num_warmup_iterations", "1", "--tune", "warmup_min_s=0.2", "--tune",
            "warmup_max_s=0.5", "--tune", "msmf_soak_s=0", "--tune", "b2b_s=0.3", "--tune", "confirm_reps=2",
            "--tune", "msmf_lock_reps=0", "--tune", "mamf_idle_s=0.01"]

    @classmethod
    def setUpClass(cls):
        listed = subprocess.run([PROGRAM, "devices", "--json"], capture_output=True, text=True)
        if "cpu" not in [d["id"] for d in json.loads(listed.stdout)["devices"]]:
            print("no CPU backend here")
            sys.exit(77)

    def test_a_small_grid_gives_headlines_that_are_not_zero(self):
        done = self.good("find", *self.GRID, "--json", "run.json")
        self.assertRegex(done.stdout, r"MSMF \(max sustainable, saturated\):   [\d.]*[1-9][\d.]* TFLOPS @ ")
        run = json.loads(self.read("run.json"))
        self.assertEqual(run["settings"]["knobs"]["loop_max_s"], 0)  # explicit counts are honoured
        self.assertEqual(len(run["samples"]["scouts"]), 2)
        for record in run["verified"]:
            self.assertEqual(record["outcome"]["state"], "ok", record)

    def test_an_interrupted_run_resumes(self):
        grid = [*self.GRID, "--tune", "scout_only=1", "--shapes_file",
                self.write("s", "".join(f"{m}x512x512\n" for m in range(64, 4096, 16)))]
        process = self.start("find", *grid, "--journal", "j", "--json", "a.json")
        self.wait_for_entries(self.path("j"), 3, process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(json.loads(self.read("a.json"))["interrupted"])


def violations(value, schema, root, where):
    """The part of JSON Schema that docs/schemas uses."""
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        yield from violations(value, target, root, where)
        return
    if "oneOf" in schema or "anyOf" in schema:
        choices = schema.get("oneOf") or schema["anyOf"]
        if all(any(True for _ in violations(value, choice, root, where)) for choice in choices):
            yield f"{where}: fits no choice"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where}: not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} not in {schema['enum']}"
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
             "number": (int, float), "null": type(None)}
    wanted = schema.get("type")
    if wanted:
        names = wanted if isinstance(wanted, list) else [wanted]
        fits = any(isinstance(value, kinds[n]) and not (n in ("integer", "number") and isinstance(value, bool))
                   for n in names)
        if not fits:
            yield f"{where}: {type(value).__name__} is no {wanted}"
            return
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: {name} is missing"
        known = schema.get("properties", {})
        extra = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in known:
                yield from violations(item, known[name], root, f"{where}.{name}")
            elif isinstance(extra, dict):
                yield from violations(item, extra, root, f"{where}.{name}")
            elif extra is False:
                yield f"{where}: {name} is not known"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from violations(item, schema["items"], root, f"{where}[{i}]")


if __name__ == "__main__":
    unittest.main()
