"""Cases of the MSMF selection with its scripted lock-in. Used by make_reference_goldens.py; measures nothing itself."""
import random

from .host import telemetry

KNOBS = dict(suspect_power_ratio=0.9, msmf_sat_power_ratio=0.97, msmf_clock_ratio=1.04, msmf_max_spread=3.0,
             msmf_lock_reps=9, msmf_lock_tries=4)


def shape(index):
    return (1024 * (index + 1), 2048, 4096)


def result(index, tflops, power, clock, spread=1.0):
    return dict(shape=shape(index), tflops=tflops, power=power, clock=clock, spread=spread)


def steady_lock(r, count):
    """A lock-in that confirms the result: means within 0.4 %, the same power and clock."""
    means = [round(r["tflops"] * (1 + 0.001 * ((7 * i) % 5 - 2)), 3) for i in range(max(0, count))]
    return [means, [] if r["power"] is None else [r["power"]] * \
            count, [] if r["clock"] is None else [r["clock"]] * count]


def run_case(host, results, *, name=None, telem=True, reps=5, locks=None, **knobs):
    """`telem`: True and False are validated or not, None is no telemetry. `locks`: {index in results: script}."""
    knobs = {**KNOBS, **knobs}
    scripts = {r["shape"]: steady_lock(r, knobs["msmf_lock_reps"]) for r in results}
    scripts.update({results[i]["shape"]: script for i, script in (locks or {}).items()})
    case = {"name": name} if name else {}
    case["in"] = {"results": [dict(r) for r in results], "telemetry": None if telem is None else {"validated": telem},
                  "reps": reps, "tune": knobs, "lock": [[s, *script] for s, script in scripts.items()]}
    measured = []

    def scripted(shp, n_reps, args, dtype, device, telem, **_):
        measured.append({"shape": shp, "reps": n_reps})
        return tuple(list(part) for part in scripts[shp])
    with host.patched(measure_saturated_reps=scripted):
        chosen, console, log = host.captured(lambda: host.select_and_lock_msmf( [dict(r) for r in results], host.args(
            **knobs), "bfloat16", "device", None if telem is None else telemetry(telem), reps))
    crashed = chosen is not None and "crash" in chosen
    out = chosen if crashed else {
    key: (
        chosen or {}).get(key) for key in (
            "shape",
            "tflops",
            "power",
            "clock",
            "spread",
             "warning")}
    case["out"] = {**out, "remeasured": measured, "console": console, "log": log}
    return case


def filter_cases(host):
    def run(name, *results, **options):
        return run_case(host, list(results), name=name, **options)
    fat = result(0, 700.0, 700.0, 1400.0)
    return [
        run("steady, not boosting", fat, result(1, 710.0, 690.0, 1420.0)),
        run("a high clock at saturated power is no boost", fat, result(1, 720.0, 695.0, 1700.0)),
        run("boosting excluded", fat, result(1, 720.0, 660.0, 1700.0)),
        run("jittery excluded", fat, result(1, 720.0, 690.0, 1420.0, 4.0)),
        run("SUSPECT excluded", fat, result(1, 800.0, 600.0, 1900.0)),
        run("all three kinds excluded", result(1, 800.0, 600.0, 1900.0), result(2, 780.0, 660.0, 1800.0),
            result(3, 760.0, 695.0, 1410.0, 3.5), fat, result(4, 650.0, 640.0, 1400.0)),
        run("excluded shapes under the winner are not named", result(1, 640.0, 600.0, 1900.0),
            result(2, 650.0, 660.0, 1800.0), result(3, 660.0, 695.0, 1410.0, 3.5), fat),
        run("fallback: steady", result(0, 700.0, 700.0, 1400.0, 5.0), result(1, 690.0, 660.0, 1700.0),
            result(2, 710.0, 655.0, 1800.0)),
        run("fallback: steady, lock-in still boosting", result(0, 650.0, 700.0, 1400.0, 5.0),
            result(1, 690.0, 660.0, 1700.0), result(2, 710.0, 655.0, 1800.0), msmf_lock_tries=1),
        run("fallback: not boosting", result(0, 700.0, 700.0, 1400.0, 5.0), result(1, 720.0, 660.0, 1700.0, 6.0),
            result(2, 690.0, 690.0, 1400.0, 4.0)),
        run("every shape SUSPECT under an unreachable ratio: none is excluded", fat, result(1, 710.0, 600.0, 1380.0),
            suspect_power_ratio=1.5),
        run("spread at the limit", fat, result(1, 720.0, 690.0, 1400.0, 3.0)),
        run("spread over the limit", fat, result(1, 720.0, 690.0, 1400.0, 3.0000001)),
        run("power at the suspect limit", fat, result(1, 720.0, 630.0, 1400.0)),
        run("power under the suspect limit", fat, result(1, 720.0, 629.9, 1400.0)),
        run("power at the saturation limit", fat, result(1, 720.0, 679.0, 1800.0)),
        run("power under the saturation limit", fat, result(1, 720.0, 678.9, 1800.0)),
        run("clock at the boost limit", fat, result(1, 720.0, 660.0, 1456.0)),
        run("clock over the boost limit", fat, result(1, 720.0, 660.0, 1456.1)),
        run("the anchor is the lowest clock of the saturated", result(0, 700.0, 700.0, 1500.0),
            result(1, 690.0, 685.0, 1400.0), result(2, 720.0, 660.0, 1470.0), result(3, 730.0, 650.0, 1300.0)),
        run("a lower clock under the saturation limit is no anchor", fat, result(1, 690.0, 678.0, 1300.0),
            result(2, 720.0, 660.0, 1450.0)),
        run("power missing", fat, result(1, 720.0, None, 1410.0)),
        run("power missing, clock high", fat, result(1, 720.0, None, 1700.0)),
        run("clock missing", fat, result(1, 720.0, 650.0, None)),
        run("one shape anchors itself", fat),
        run("one jittery shape", result(0, 700.0, 700.0, 1400.0, 9.0)),
        run("ratios changed", fat, result(1, 720.0, 640.0, 1500.0), result(2, 730.0, 500.0, 1700.0, 4.5),
            suspect_power_ratio=0.7, msmf_sat_power_ratio=0.9, msmf_clock_ratio=1.1, msmf_max_spread=5.0),
    ]


def telemetry_cases(host):
    results = [result(0, 700.0, 700.0, 1400.0), result(1, 800.0, 500.0, 1900.0), result(2, 750.0, 660.0, 1700.0),
               result(3, 900.0, 690.0, 1400.0, 5.0)]
    blind = [result(0, 700.0, None, None), result(1, 710.0, None, None)]
    no_clock = [result(0, 700.0, 700.0, None), result(1, 710.0, 600.0, 1400.0)]
    clock_only = [result(0, 700.0, None, 1400.0), result(1, 710.0, None, 1500.0)]
    cases = [run_case(host, results, telem=t, name=f"excluded shapes, {label}")
             for t, label in ((True, "validated"), (False, "not validated"), (None, "no telemetry object"))]
    for label, rows in (("no readings", blind), ("saturated shape without a clock",
                        no_clock), ("clocks only", clock_only), ("no results", [])):
        cases += [run_case(host, rows, telem=t, name=f"no anchor: {label}") for t in (True, False, None)]
    cases.append(run_case(host, results, name="no anchor: saturation ratio out of reach", msmf_sat_power_ratio=1.01))
    cases.append(run_case(host, blind, telem=None, name="no anchor, no lock-in", msmf_lock_reps=5))
    return cases


def lock_cases(host):
    results = [result(0, 700.0, 700.0, 1400.0), result(1, 710.0, 695.0, 1410.0), result(2, 720.0, 690.0, 1420.0),
               result(3, 730.0, 680.0, 1430.0), result(4, 740.0, 660.0, 1440.0)]
    jitter = [[700.0, 650.0, 710.0, 705.0, 690.0, 702.0, 703.0, 704.0, 701.0], [690.0] * 9, [1420.0] * 9]
    drift = [[745.0] * 5 + [746.0] * 4, [660.0, 655.0, 650.0] * 3, [1500.0, 1510.0, 1490.0] * 3]
    both = [jitter[0], drift[1], drift[2]]
    hot = [[745.0] * 9, [690.0] * 9, [1500.0] * 9]
    low = [[600.0, 601.0, 602.0, 603.0, 604.0, 605.0, 606.0, 607.0, 608.0], [690.0] * 9, [1400.0] * 9]

    def run(name, locks, rows=results, **options):
        return run_case(host, rows, name=f"lock-in: {name}", locks=locks, **options)
    cases = [
        run("the leader passes", {}), run("clock up at saturated power passes", {4: hot}),
        run("jitter rejects the leader", {4: jitter}), run("a boost rejects the leader", {4: drift}),
        run("both reject the leader", {4: both}), run("two rejected", {4: drift, 3: jitter}),
        run("a passing leader that fell stays the winner", {4: low}),
        run("the last is kept, jittery", {i: jitter for i in range(5)}),
        run("the last is kept, boosting", {i: drift for i in range(5)}),
        run("the last is kept, both", {i: both for i in range(5)}),
        run("the fourth is kept although the fifth would pass", {4: both, 3: both, 2: both, 1: jitter}),
        run("one try", {4: both}, msmf_lock_tries=1), run("no try is one try", {4: jitter}, msmf_lock_tries=0),
        run("ten tries", {i: both for i in range(1, 5)}, msmf_lock_tries=10),
        run("one candidate", {0: both}, rows=results[:1]),
        run("only the steady pool is tried", {0: jitter, 1: jitter}, rows=[
            results[0], results[1], result(2, 900.0, 690.0, 1400.0, 4.0), result(3, 950.0, 500.0, 1900.0)]),
        run("readings lost: confirm values stand", {4: [[741.0] * 9, [], []]}),
        run("power lost", {4: [[741.0] * 9, [], [1500.0] * 9]}), run("clock lost", {4: [[741.0] * 9, [650.0] * 9, []]}),
        run("not validated: a boost does not reject", {4: drift}, telem=False),
        run("no telemetry object: a boost does not reject", {4: drift}, telem=None),
        run("spread at the limit passes", {4: [[100.0] * 8 + [103.0], [690.0] * 9, [1400.0] * 9]}),
        run("few repeats: a plain median", {4: [[740.0, 741.0, 745.0, 743.0], [690.0] * 4, [1400.0, 1410.0, 1420.0,
            1430.0]]}, reps=3, msmf_lock_reps=4),
    ]
    for lock_reps, reps in ((5, 5), (4, 5), (0, 1), (6, 5), (9, 9)):
        cases.append(run(f"{lock_reps} repeats after {reps}", {4: both}, reps=reps, msmf_lock_reps=lock_reps))
    tied = [result(2, 720.0, 690.0, 1420.0), result(0, 720.0, 700.0, 1400.0), result(1, 720.0, 695.0, 1410.0)]
    cases.append(run("a tie goes to the first", {}, rows=tied))
    cases.append(run("ties are tried in order", {0: jitter, 1: jitter}, rows=tied))
    cases.append(run("a tie without lock-in", {}, rows=tied[::-1], msmf_lock_reps=0))
    return cases


def random_cases(host, rng):
    """Coarse values, so that ties and limits are hit often."""
    cases = []
    for _ in range(60):
        rows = [result(i, 5.0 * rng.randrange(136, 150), rng.choice([None, 600.0, 630.0, 650.0, 679.0, 690.0, 700.0]),
                       rng.choice([None, 1400.0, 1450.0, 1456.0, 1500.0, 1700.0]),
                       rng.choice([0.5, 1.0, 2.9, 3.0, 3.1, 6.0]))
                for i in range(rng.randrange(2, 9))]
        locks = {i: [[r["tflops"] + rng.choice([-9.0, -3.0, 0.0, 2.5, 12.0]) for _ in range(9)],
                     [rng.choice([640.0, 670.0, 690.0])] * 9, [rng.choice([1400.0, 1440.0, 1500.0])] * 9]
                 for i, r in enumerate(rows)}
        cases.append(run_case(host, rows, locks=locks, telem=rng.choice([True, True, True, False]),
                              msmf_lock_tries=rng.choice([1, 2, 4])))
    return cases


def goldens(host):
    rng = random.Random(20240503)
    cases = filter_cases(host) + telemetry_cases(host) + lock_cases(host) + random_cases(host, rng)
    yield "select_and_lock_msmf", "select_and_lock_msmf", cases
