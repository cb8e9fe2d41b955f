"""Cases of the boost side: screen, confirm, headline. Bursts are scripted lists. Used by make_reference_goldens.py."""
import random

from .host import telemetry
from .small import call_cases

SCREEN_KNOBS = dict(boost_clock_ratio=0.97, mamf_confirm_top=12, mamf_screen_iters=2, mamf_screen_idle_s=0.05)
CONFIRM_KNOBS = dict(boost_clock_ratio=0.97, mamf_burst_iters=20, mamf_idle_s=0.25)


def shapes(count):
    return [(1024 * (1 + i % 7), 2048 * (1 + i % 3), 1024 * (1 + i)) for i in range(count)]


class Script:
    """Gives the listed bursts in call order and keeps what was asked for."""

    def __init__(self, queue):
        self.queue, self.calls = list(queue), []

    def __call__(self, m, n, k, dtype, device, iters, telem=None, idle_before_s=0.0):
        self.calls.append([[m, n, k], iters, idle_before_s])
        return list(self.queue[len(self.calls) - 1])


def screen_case(host, pool, bursts, boost_clk, name=None, **knobs):
    knobs = {**SCREEN_KNOBS, **knobs}
    script = Script(bursts)
    with host.patched(measure_boost_burst=script):
        chosen, console, log = host.captured(lambda: host.screen_mamf_candidates(
            list(pool), host.args(**knobs), "bfloat16", "device", telemetry(True), boost_clk))
    case = {"name": name} if name else {}
    case["in"] = {"pool": pool, "bursts": bursts, "boost_clk": boost_clk, "tune": knobs}
    out = chosen if isinstance(chosen, dict) else {"chosen": chosen}
    case["out"] = {**out, "calls": script.calls, "console": console, "log": log}
    return case


def screen_cases(host, rng):
    a, b, c, d = shapes(4)
    hi, lo = 1980.0, 1800.0
    rows = [[(700.0, hi, 400.0), (710.0, hi, 410.0)], [(730.0, lo, 500.0), (705.0, hi, 450.0)], [
              (720.0, lo, 600.0), (725.0, lo, 610.0)], [(705.0, None, None), (704.0, hi, 300.0)]]
    blind = [[(t, None, None) for t, _, _ in row] for row in rows]

    def run(name, pool, bursts, clk, **knobs):
        return screen_case(host, pool, bursts, clk, name, **knobs)
    cases = [
        run("iterations at boost are preferred", [a, b, c, d], rows, 0.0),
        run("the scouts' clock is the reference", [a, b, c, d], rows, 2100.0),
        run("no reference yet", [a, b, c, d], rows, None), run("no clock at all", [a, b, c, d], blind, 0.0),
        run("no clock in the bursts, one from the scouts", [a, b, c, d], blind, 1980.0),
        run("two kept", [a, b, c, d], rows, 1980.0, mamf_confirm_top=2),
        run("none kept is one kept", [a, b, c, d], rows, 1980.0, mamf_confirm_top=0),
        run("empty pool", [], [], 1980.0), run("empty bursts", [a, b], [[], []], 1980.0),
        run("one empty burst", [a, b], [[], [(700.0, hi, 400.0)]], 1980.0),
        run("a tie goes to the larger shape", [b, d, a, c], [[(700.0, hi, 400.0)]] * 4, 1980.0),
        run("a tie within a burst goes to the first", [a, b], [[(700.0, 1950.0, 410.0), (700.0, hi, 400.0)]] * 2,
            1980.0),
        run("clock at the limit", [a, b], [[(700.0, 1940.0, 1.0), (690.0, 2000.0, 2.0)],
                                           [(710.0, 1939.9, 3.0), (680.0, 1940.0, 4.0)]], 0.0),
        run("iterations and idle at least 1 and 0", [a], [[(700.0, hi, 400.0)]], 0.0, mamf_screen_iters=0,
            mamf_screen_idle_s=-1.0),
        run("another ratio", [a, b, c, d], rows, 1980.0, boost_clock_ratio=0.9),
    ]
    for count, clk in ((5, 0.0), (20, 1980.0), (30, 1995.0)):
        pool = shapes(count)
        bursts = [[(5.0 * rng.randrange(130, 150), rng.choice([None, 1980.0, 1965.0, 1920.0, 1905.0, 1755.0]),
                    float(rng.randrange(300, 600))) for _ in range(2)] for _ in pool]
        cases.append(screen_case(host, pool, bursts, clk))
    return cases


def confirm_case(host, cands, bursts, boost_clk, reps, name=None, quiet=False, **knobs):
    knobs = {**CONFIRM_KNOBS, **knobs}
    script, means = Script(burst for per_shape in bursts for burst in per_shape), []
    with host.patched(measure_boost_burst=script):
        results, console, log = host.captured(lambda: host.confirm_mamf( list(cands), host.args(
            **knobs), "bfloat16", "device", telemetry(True), reps, boost_clk, means, quiet=quiet))
    case = {"name": name} if name else {}
    case["in"] = {
    "cands": cands,
    "bursts": bursts,
    "boost_clk": boost_clk,
    "reps": reps,
    "quiet": quiet,
     "tune": knobs}
    out = results if isinstance(results, dict) else {"results": results}
    case["out"] = {**out, "burst_means": means, "calls": script.calls, "console": console, "log": log}
    return case


def confirm_cases(host, rng):
    a, b, c = shapes(3)
    hi, lo = 1980.0, 1800.0
    rows = [[[(700.0, hi, 400.0), (720.0, lo, 600.0)], [(705.0, hi, None), (690.0, hi, 420.0)]],
            [[(730.0, lo, 500.0), (731.0, lo, 510.0)], [(729.0, None, 505.0), (728.0, lo, None)]],
            [[(715.0, hi, None), (700.0, 1925.0, None)], [(715.0, 1925.0, 430.0), (600.0, 1500.0, 700.0)]]]
    blind = [[[(t, None, p) for t, _, p in burst] for burst in per_shape] for per_shape in rows]

    def run(name, bursts, clk, **options):
        return confirm_case(host, [a, b, c][:len(bursts)], bursts, clk, options.pop("reps", 2), name, **options)
    cases = [
        run("iterations at boost only", rows, 0.0), run("quiet", rows, 0.0, quiet=True),
        run("the reference is above every burst", rows, 2100.0), run("no reference given", rows, None),
        run("no clock at all", blind, 0.0), run("no clock in the bursts, one from the scouts", blind, 1980.0),
        run("a later shape raises the reference", [[[(700.0, 1900.0, 400.0)]], [[(650.0, 2100.0, 450.0)]]], 0.0,
            reps=1),
        run("empty bursts", [[[], []]], 1980.0), run("one repeat", [[[(700.0, hi, 400.0)]]], 0.0, reps=1),
        run("no candidates", [], 1980.0),
        run("knobs at their floor", [[[(700.0, hi, 400.0)]]], 0.0, reps=1, mamf_burst_iters=0, mamf_idle_s=-0.5),
        run("another ratio", rows, 1980.0, boost_clock_ratio=0.9),
    ]
    for iters, reps, clk in ((20, 5, 0.0), (20, 5, 1980.0), (5, 3, 1950.0)):
        cands = shapes(3)
        bursts = [[[(round(rng.uniform(650, 760), 2), rng.choice([None, 1980.0, 1965.0, 1920.0, 1905.0, 1755.0]),
                     float(rng.randrange(300, 600))) for _ in range(iters)] for _ in range(reps)] for _ in cands]
        cases.append(confirm_case(host, cands, bursts, clk, reps, mamf_burst_iters=iters))
    return cases


def headline_case(host, results, boost_clk, name=None):
    mamf, console, _ = host.captured(lambda: host.select_mamf([dict(r) for r in results], boost_clk))
    case = {"name": name} if name else {}
    case["in"] = {"results": results, "boost_clk": boost_clk}
    case["out"] = {
    "shape": mamf["shape"] if mamf else None,
    "tflops": mamf["tflops"] if mamf else None,
     "console": console}
    return case


def headline_cases(host):
    def row(i, tflops, boost, clock=1980.0):
        return dict(shape=shapes(3)[i], tflops=tflops, power=400.0, clock=clock, boost=boost)
    mixed = [row(0, 700.0, True), row(1, 754.4999999, False, 1700.0), row(2, 720.5, True)]
    none_boost = [row(0, 700.0, False, 1700.0), row(1, 754.4999999, False, 1700.0), row(2, 720.5, False, 1500.0)]
    no_clock = [row(0, 700.5, False, None), row(1, 690.0, False, None)]
    cases = [
    headline_case(
        host, mixed, 1980.0, "at boost first"), headline_case(
            host, none_boost, 1980.4, "none at boost"), headline_case(
                host, no_clock, 0.0, "no clock"), headline_case(
                    host, no_clock, None, "no clock"), headline_case(
                        host, [], 1980.0, "no results"), headline_case(
                            host, [], 0.0, "no results"), headline_case(
                                host, mixed, 0.0, "boost flags but no reference")]
    tied = [row(1, 700.0, True), row(0, 700.0, True), row(2, 700.0, False)]
    return cases + [headline_case(host, tied, 1980.0, "a tie goes to the first")]


def goldens(host):
    rng = random.Random(20240504)
    yield "screen_mamf_candidates", "screen_mamf_candidates", screen_cases(host, rng)
    yield "confirm_mamf", "confirm_mamf", confirm_cases(host, rng)
    yield "select_mamf", "select_mamf", headline_cases(host)
    iters = [[], [(1.0, None, None)], [(1.0, 1900.0, None), (2.0, 1950.0, 3.0), (0.5, None, 1.0)]]
    yield "boost_reference", "boost_reference", call_cases(
        host.boost_reference, ["boost_clk", "iters"], [(c, i) for c in (None, 0.0, 1800.0, 1980.0) for i in iters])
