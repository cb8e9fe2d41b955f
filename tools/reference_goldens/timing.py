"""Cases of what is computed from timestamps: run statistics, burst windows, soak and warm-up stop rules.

Used by make_reference_goldens.py. Events, clocks and readings are scripted and the sampling thread runs at once in
the calling thread; nothing waits and nothing is measured.
"""
import random
import sys
import tempfile
import types
import warnings
from pathlib import Path


class Event:
    """Answers elapsed_time from given offsets (ms)."""

    def __init__(self, at_ms=0.0):
        self.at_ms = at_ms

    def record(self):
        pass

    def elapsed_time(self, other):
        return other.at_ms - self.at_ms


class ScriptedThreads:
    """Stands in for the threading module: start() runs the sampling loop until the readings are used up."""

    def __init__(self, readings):
        self.left = len(readings)
        self.Event = lambda: types.SimpleNamespace(is_set=self.is_set, set=lambda: None, wait=lambda seconds: None)

    def is_set(self):
        self.left -= 1
        return self.left < 0

    @staticmethod
    def Thread(target, daemon):
        return types.SimpleNamespace(start=target, join=lambda: None)


def scripted_arch(events, synchronize=lambda: None):
    queue = iter(events)
    return types.SimpleNamespace(name="cuda", event=lambda enable_timing: next(queue), synchronize=synchronize)


def scripted_telemetry(powers, clocks):
    power, clock = iter(powers), iter(clocks)
    return types.SimpleNamespace(available=True, validated=True, power=lambda: next(power), clock=lambda: next(clock))


def gemm(m, n, k):
    buffer = types.SimpleNamespace(zero_=lambda: None, copy_=lambda other: None)
    return lambda *_: (lambda: None, buffer, buffer, buffer, 2 * m * n * k)


def statistics_case(host, shape, times_ms, warmup, readings):
    m, n, k = shape
    events = [Event() for _ in times_ms] + [Event(t) for t in times_ms]
    telem = scripted_telemetry([p for p, _ in readings], [c for _, c in readings]) if readings is not None else None
    threads = ScriptedThreads(readings or [])
    with host.patched(arch=scripted_arch(events), prepare_gemm=gemm(m, n, k), threading=threads):
        mean, median, peak = host.benchmark_mm(
            m, n, k, "bfloat16", "device", len(times_ms) - warmup, warmup, telem=telem)
        seen = dict(host.globals["_last_telem"])
    return {"in": {"shape": shape, "times_ms": times_ms, "warmup": warmup, "readings": readings},
            "out": {"mean": mean, "median": median, "max": peak, "telemetry": seen}}


def statistics_cases(host, rng):
    def times(count):
        return [round(rng.uniform(0.9, 1.2), 6) for _ in range(count)]
    some = [(700.0, 1500.0), (690.0, 1485.0), (None, 1470.0), (710.0, None), (705.5, 1515.0)]
    return [statistics_case(host, *row) for row in (
        ((4096, 4096, 4096), [1.0, 2.0, 4.0], 0, None), ((4096, 4096, 4096), [9.0, 8.0, 1.0, 2.0, 4.0, 8.0], 2, some),
        ((20480, 20480, 20480), times(28), 8, some), ((1536, 2816, 20480), times(150), 50, some[:1]),
        ((1024, 1024, 1024), [0.5], 0, []), ((1024, 1024, 1024), times(7), 0, [(None, None), (None, 1400.0)]),
        ((1024, 2048, 1024), times(9), 0, [(700.0, None)]), ((65536, 65536, 65536), times(20), 0, None))]


def burst_case(host, shape, windows_ms, host_end_s, samples):
    """samples: (host seconds, clock, power) or None for no telemetry."""
    m, n, k = shape
    events = [Event(0.0)] + [Event(lo) for lo, _ in windows_ms] + [Event(hi) for _, hi in windows_ms]
    looks = iter([s[0] for s in samples or []] + [host_end_s])
    clock = types.SimpleNamespace(monotonic=lambda: next(looks), sleep=lambda seconds: None)
    telem = None if samples is None else scripted_telemetry([p for _, _, p in samples], [c for _, c, _ in samples])
    with host.patched(arch=scripted_arch(events), prepare_gemm=gemm(m, n, k), time=clock,
                      threading=ScriptedThreads(samples or [])):
        out = host.measure_boost_burst(m, n, k, "bfloat16", "device", len(windows_ms), telem=telem)
    return {
    "in": {
        "shape": shape,
        "windows_ms": windows_ms,
        "host_end_s": host_end_s,
        "samples": samples},
         "out": out}


def burst_cases(host, rng):
    even = [(1.0 + 2.0 * i, 2.0 + 2.0 * i) for i in range(5)]  # ends 10 ms after the burst's start
    at = lambda ms: 100.0 + ms / 1000.0  # noqa: E731   host time of a moment in the burst
    dense = [(at(0.25 * i), 1980.0 - 15.0 * (i % 5), 400.0 + i) for i in range(44)]
    sparse = [(at(-3.0), 2000.0, 300.0), (at(1.4), 1900.0, 410.0),
              (at(6.5), 1950.0, 420.0), (at(12.0), 1800.0, 200.0)]
    holes = [(at(1.5), None, 400.0), (at(1.6), 1900.0, None), (at(3.5), None, None),
             (at(5.5), 1950.0, 420.0), (at(7.4), 1965.0, None)]
    shape = (4096, 4096, 4096)
    cases = [burst_case(host, shape, even, at(10.0), s) for s in (dense, sparse, holes, [], None, sparse[:1])]
    cases.append(burst_case(host, shape, [(1.0, 1.0), (3.0, 2.0), (4.0, 5.0)], at(5.0), sparse))
    cases.append(
    burst_case(
        host, shape, even, at(10.0), [
            (at(4.0), None, 1.0), (at(4.5), 1900.0, 2.0), (at(5.0), 1910.0, 3.0)]))
    cases.append(
    burst_case(
        host, shape, [
            (1.0, 2.0), (3.0, 4.0)], at(4.0), [
                (at(1.0), 1900.0, 1.0), (at(5.0), 1910.0, 3.0)]))
    start, windows = 0.0, []
    for _ in range(20):
        start += rng.uniform(0.3, 0.6)
        windows.append((round(start, 4), round(start + rng.uniform(0.7, 0.9), 4)))
        start = windows[-1][1]
    samples = [(round(at(-5.0 + 0.55 * i), 6), 15.0 * rng.randrange(110, 133),
                float(rng.randrange(200, 700))) for i in range(60)]
    return cases + [burst_case(host, (2816, 1536, 20480), windows, at(windows[-1][1]), samples)]


def soak_case(host, max_size, soak_s, tick_s, clocks):
    """clocks: one reading a tick, the last repeated; None for no telemetry."""
    now, ticks, products = [1000.0], [0], []

    def tick():
        now[0] += tick_s
        ticks[0] += 1

    def clock():
        return clocks[min(max(ticks[0], 1), len(clocks)) - 1]
    torch = sys.modules["torch"]
    stubs = dict(
    randn=lambda *size,
    **_: size,
    empty=lambda *size,
    **_: size,
    mm=lambda a,
    b,
    out: products.append(
        a[0]))
    old = {name: getattr(torch, name, None) for name in stubs}
    torch.__dict__.update(stubs)
    telem = None if clocks is None else types.SimpleNamespace(available=True, validated=True, clock=clock)
    try:
        with host.patched(arch=scripted_arch([], tick), time=types.SimpleNamespace(time=lambda: now[0])):
            _, _, log = host.captured(lambda: host.thermal_soak("device", telem, max_size, soak_s))
    finally:
        torch.__dict__.update(old)
    return {"in": {"max_size": max_size, "soak_s": soak_s, "tick_s": tick_s, "clocks": clocks}, "out": {
        "ticks": ticks[0], "products": len(products), "side": products[0] if products else None, "log": log}}


def soak_cases(host):
    falling = [1980.0 - 15.0 * i for i in range(100)]
    return [soak_case(host, *row) for row in (
        (20480, 20.0, 0.5, falling[:10]), (20480, 20.0, 0.5, falling), (4096, 20.0, 0.5, [1500.0]),
        (20480, 20.0, 0.5, None), (20480, 0, 0.5, [1500.0]), (20480, -1.0, 0.5, [1500.0]), (20480, 1.0, 0.5, [1500.0]),
        (8192, 20.0, 0.5, [1500.0, 1495.0, 1490.0, 1485.0]),
        (20480, 20.0, 0.5, [1500.0, 1494.9, 1494.9, 1494.9, 1480.0, 1480.0, 1475.0, 1470.0]),
        (20480, 20.0, 0.5, [1500.0, 1500.0, None, 1500.0, 1500.0, 1500.0, 1500.0]), (20480, 20.0, 0.5, [None]),
        (20480, 20.0, 0.5, [1500.0, 1510.0, 1520.0, 1400.0, 1400.0, 1400.0, 1400.0]), (20480, 0.25, 0.5, falling))]


def warmup_case(host, series, chunk_s):
    """series: TFLOPS of each chunk, the last repeated; a chunk takes chunk_s on the scripted clock."""
    now, chunks = [1000.0], [0]

    def chunk(m, n, k, dtype, device, num_iterations, num_warmup_iterations, telem=None, idle_before_s=0.0):
        if num_iterations == 25:
            now[0] += chunk_s
            chunks[0] += 1
        value = series[min(chunks[0], len(series)) - 1]
        return value, value, value
    look = lambda: now[0]  # noqa: E731
    quiet = dict(
    setup_checks=lambda: None,
    dtype_checks=lambda *_: None,
    print_benchmark_header=lambda *_: None,
    telemetry_setup=lambda *_: None,
    time=types.SimpleNamespace(
        time=look,
        monotonic=look,
        sleep=lambda s: None),
        signal=types.SimpleNamespace(
            signal=lambda *_: None,
            SIGINT=2,
            SIG_IGN=1),
             benchmark_mm=chunk)
    with tempfile.TemporaryDirectory() as folder, host.patched(**quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report's log of a scripted rate of zero
        path = Path(folder) / "log.txt"
        host.run_main(["--m", "128", "--n", "128", "--k", "128", "--tune", "scout_only=true", "--no-verbose",
                       "--output_file", str(path)])
        line = next(x for x in path.read_text().split("\n") if x.startswith("adaptive warmup"))
    return {"in": {"series": series, "chunk_s": chunk_s}, "out": {"chunks": chunks[0], "line": line}}


def warmup_cases(host, rng):
    ramp = [500.0 + 10.0 * i for i in range(20)]
    return [warmup_case(host, *row) for row in (
        ([700.0], 0.125), ([700.0], 0.25), ([700.0], 0.5), ([700.0], 3.0), ([700.0], 30.0), (ramp, 0.5),
        (ramp[::-1], 0.25),
        ([700.0, 650.0], 0.25), ([700.0, 750.0] * 120, 0.5), ([700.0, 714.0] * 120, 0.5), ([0.0], 0.5),
        ([800.0 - 1.9 * i for i in range(300)], 0.5), ([800.0 - 2.1 * i for i in range(40)], 0.5),
        ([round(700 + 60 * 0.9 ** i + rng.uniform(-12, 12), 2) for i in range(100)], 0.5),
        ([round(700 + rng.uniform(-30, 30), 2) for i in range(400)], 0.125))]


def goldens(host):
    rng = random.Random(20240505)
    yield "saturated_statistics", "benchmark_mm", statistics_cases(host, rng)
    yield "boost_windows", "measure_boost_burst", burst_cases(host, rng)
    yield "thermal_soak", "thermal_soak", soak_cases(host)
    yield "adaptive_warmup", "main block, warmup_adaptive", warmup_cases(host, rng)
