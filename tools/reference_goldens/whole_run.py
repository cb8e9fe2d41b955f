"""Whole runs of the reference's main block over a made-up device, in integers, so that any language can recompute them.

Used by make_reference_goldens.py. It refuses to be realistic: the formulas only have to be smooth enough for the
search to have a place to go, and uneven enough to reach its filters.
"""
import tempfile
import types
from pathlib import Path

from .host import telemetry

FORMULA = [
    "all values are integers; // rounds down; ^ is exclusive or; U = units, P = peak",
    "blocks = ceil(M/128) * ceil(N/256); waves = ceil(blocks/U); least = min(M, N, K)",
    "h = ((M*73856093) ^ (N*19349663) ^ (K*83492791)) // 128",
    "wave = 1024*blocks // (waves*U); depth = 1024*K // (K+1536); side = 1024*min(M,N) // (min(M,N)+512)",
    "q = P * wave // 1024 * depth // 1024 * side // 1024 + 16 * (h//8 % 256)      (left to right)",
    "bulk = 1024*least // (least+2048); watt = 330 + 400*bulk//1024 + h%8; mhz = 1980 - 15*((watt-330)//12)",
    "scout: mean = median = q/1024 TFLOPS, max = (q + 4*(h//2048 % 256))/1024, power = watt, clock max = mean = mhz",
    "saturated call i of a shape: t = (h + 37*i) % 64; i counts every call from 0, among them the untimed passes before",
    "  the repeats of the confirm (0) and of the lock-in (6 by default);",
    "  j = 5*t if h % 16 == 5 else t; mean = (q - q*bulk//8192 + q*j//8192)/1024,",
    "  power = min(720, watt + 60) + i%3, clock max = mean = mhz - 90 + 15*(i%2)",
    "burst i of a shape (i counts from 0, the screen's burst, if it had one, included), iteration j from 0:",
    "  tflops = (q + 1024 + q*((h + 29*j + 13*i) % 32)//2048)/1024,",
    "  clock = 1980 - 15*((h + j + i) % 6), power = 300 + h%64",
]


class MadeUpDevice:
    """The formulas of FORMULA, and a record of every call."""

    def __init__(self, host, units, peak):
        self.host, self.units, self.peak = host, units, peak
        self.scouts, self.saturated_calls, self.burst_calls = [], {}, {}

    def basics(self, m, n, k):
        blocks = -(-m // 128) * -(-n // 256)
        waves = -(-blocks // self.units)
        h = ((m * 73856093) ^ (n * 19349663) ^ (k * 83492791)) // 128
        wave, depth = 1024 * blocks // (waves * self.units), 1024 * k // (k + 1536)
        side, least = 1024 * min(m, n) // (min(m, n) + 512), min(m, n, k)
        q = self.peak * wave // 1024 * depth // 1024 * side // 1024 + 16 * (h // 8 % 256)
        bulk = 1024 * least // (least + 2048)
        watt = 330 + 400 * bulk // 1024 + h % 8
        return h, q, bulk, watt, 1980 - 15 * ((watt - 330) // 12)

    def readings(self, power, clock):
        self.host.globals["_last_telem"] = dict(
            power=float(power), clock_min=float(clock), clock_mean=float(clock), clock_max=float(clock))

    def benchmark_mm(
    self,
    m,
    n,
    k,
    dtype,
    device,
    num_iterations,
    num_warmup_iterations,
    telem=None,
     idle_before_s=0.0):
        h, q, bulk, watt, mhz = self.basics(m, n, k)
        if num_iterations == 25:  # the adaptive warm-up
            return 1.0, 1.0, 1.0
        if num_iterations == 20:
            self.scouts.append((m, n, k))
            self.readings(watt, mhz)
            return q / 1024, q / 1024, (q + 4 * (h // 2048 % 256)) / 1024
        i = self.saturated_calls.get((m, n, k), 0)
        self.saturated_calls[m, n, k] = i + 1
        t = (h + 37 * i) % 64
        j = 5 * t if h % 16 == 5 else t
        self.readings(min(720, watt + 60) + i % 3, mhz - 90 + 15 * (i % 2))
        mean = (q - q * bulk // 8192 + q * j // 8192) / 1024
        return mean, mean, mean

    def measure_boost_burst(self, m, n, k, dtype, device, iters, telem=None, idle_before_s=0.0):
        h, q, _, _, _ = self.basics(m, n, k)
        i = self.burst_calls.get((m, n, k), 0)
        self.burst_calls[m, n, k] = i + 1
        return [((q + 1024 + q * ((h + 29 * j + 13 * i) % 32) // 2048) / 1024, float(1980 - 15 * ((h + j + i) % 6)),
                 float(300 + h % 64)) for j in range(iters)]


def fake_time():
    """A clock that moves 0.5 s a look, so that the warm-up ends by itself."""
    ticks = iter(range(10**9))
    look = lambda: 0.5 * next(ticks)  # noqa: E731
    return types.SimpleNamespace(time=look, monotonic=look, sleep=lambda s: None)


def recorder(host, record, name, keep):
    original = host.globals[name]

    def wrapped(*args, **kwargs):
        result = original(*args, **kwargs)
        keep(record, args, result)
        return result
    return wrapped


def keepers():
    def confirm(record, args, result):
        record["msmf_candidates"], record["n_confirm"] = list(result[0]), result[1]

    def recall(record, args, result):
        record["recall_pool"] = [[s, "+".join(result[1][s])] for s in result[0]]

    def screen(record, args, result):
        record["screened"] = list(result)

    def confirm_msmf(record, args, result):
        record["confirm_set"] = list(args[0])
        record["msmf_results"] = [[r["shape"], r["tflops"], r["power"], r["clock"], r["spread"]] for r in result]

    def lock(record, args, result):
        record["msmf"] = {k: result[k] for k in ("shape", "tflops", "power", "clock", "spread")}
        record["msmf"]["warning"] = result.get("warning")

    def confirm_mamf(record, args, result):
        record.setdefault("mamf_results", [[r["shape"], r["tflops"],
                          r["power"], r["clock"], r["boost"]] for r in result])

    def mamf(record, args, result):
        record["mamf"] = {k: result[k] for k in ("shape", "tflops", "power", "clock", "boost")}
    return dict(build_msmf_confirm_set=confirm, build_mamf_recall_pool=recall, screen_mamf_candidates=screen,
                confirm_msmf=confirm_msmf, select_and_lock_msmf=lock, confirm_mamf=confirm_mamf, select_mamf=mamf)


def run_case(host, argv, units, peak, free_bytes):
    device, record = MadeUpDevice(host, units, peak), {}
    telem = telemetry(True)
    telem.__dict__.update(backend="fake", max_clock=lambda: 2100.0, clock=lambda: 1500.0, power=lambda: 700.0,
                          watch_siblings=lambda: lambda: {})
    marks = []  # (scouts so far, log line)
    quiet = dict(setup_checks=lambda: None, dtype_checks=lambda *_: None, print_benchmark_header=lambda *_: None,
                 thermal_soak=lambda *_: None, telemetry_setup=lambda *_: telem, time=fake_time(),
                 signal=types.SimpleNamespace(signal=lambda *_: None, SIGINT=2, SIG_IGN=1),
                 benchmark_mm=device.benchmark_mm, measure_boost_burst=device.measure_boost_burst,
                 detail=lambda message: marks.append((len(device.scouts), message)))
    wrapped = {name: recorder(host, record, name, keep) for name, keep in keepers().items()}
    host.set_arch(units=units)
    host.free_bytes = free_bytes
    with tempfile.TemporaryDirectory() as folder, host.patched(**quiet, **wrapped):
        path = Path(folder) / "log.txt"
        host.run_main([*argv, "--no-verbose", "--output_file", str(path)])
        text = path.read_text()
    host.set_arch()
    host.free_bytes = None
    text = text[text.index("** Results:"):]
    report = [line for line in text.split("\n") if line and not line.startswith("Elapsed")]
    return device, record, marks, report


def phases(device, marks):
    """The scouted shapes of each phase in order; the refine phase's log line comes before its scouts."""
    start, out = 0, {}
    for name in ("wave", "plane"):
        at = next((n for n, line in marks if line.startswith(f"  {name}: ")), None)
        if at is not None:
            out[name], start = device.scouts[start:at], at
    out["refine" if out else "grid"] = device.scouts[start:]
    return out


def samples(device):
    """Every 97th scout with its four values (mean, max, power, clock), to test a port of the formulas by."""
    rows = []
    for m, n, k in dict.fromkeys(device.scouts[::97]):
        h, q, _, watt, mhz = device.basics(m, n, k)
        rows.append([[m, n, k], q / 1024, (q + 4 * (h // 2048 % 256)) / 1024, watt, mhz])
    return rows


def auto_cases(host):
    cases = [{"in": "formula", "out": FORMULA}]
    runs = [(units, dtype, peak, [], 150754820096) for units in (132, 148)
            for dtype, peak in (("bfloat16", 838860), ("float8_e4m3fn", 1677721), ("float32", 54525))]
    runs += [(132, "float32", 54525, ["max_size=8192", "refine_seeds=2", "refine_radius_mn=1"], 600 * 2**20),
             (148, "mxfp4", 3355443, ["refine_grid=false", "max_size=10000"], None),
             (108, "bfloat16", 300000,
              ["max_size=6144", "refine_seeds=1", "refine_radius_k=1", "refine_radius_mn=2"], None)]
    for units, dtype, peak, tune, free in runs:
        argv = ["--dtype", dtype] + [a for knob in tune for a in ("--tune", knob)]
        device, record, marks, report = run_case(host, argv, units, peak, free)
        seeds = next((line for _, line in marks if line.startswith("  tight grid")), None)
        by_phase = phases(device, marks)
        cases.append({"in": {"argv": argv, "units": units, "peak": peak, "free_bytes": free},
                      "out": {"phase_sizes": {k: len(v) for k, v in by_phase.items()}, "scouts": by_phase,
                              "refine_line": seeds, "samples": samples(device), **record, "report": report}})
    return cases


def grid_cases(host):
    cases = [{"in": "formula", "out": FORMULA}]
    for argv in (["--m_range", "0", "4097", "1024", "--n", "4096", "8192", "--k", "1024", "8192"],
                 ["--m", "4096", "--n", "4096", "--k", "4096"],
                 ["--m", "1536", "2816", "1536", "--n", "1536", "2816", "--k", "20480", "--tune",
                  "confirm_fat_forced=1"],
                 ["--m", "1024", "2048", "--n", "4096", "--k", "4096", "--tune", "scout_only=true"]):
        device, record, _, report = run_case(host, argv, 132, 838860, None)
        cases.append({"in": {"argv": argv, "units": 132, "peak": 838860, "free_bytes": None},
                      "out": {"scouts": device.scouts, **record, "report": report}})
    return cases


def goldens(host):
    yield "auto_candidates", "main block, --search auto", auto_cases(host)
    yield "grid_runs", "main block, --search grid", grid_cases(host)
