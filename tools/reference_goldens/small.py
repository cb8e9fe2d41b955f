"""Cases of the reference's small arithmetic functions. Used by make_reference_goldens.py; refuses anything stateful."""
import math
import random
import warnings

from .host import outcome


def call_cases(function, names, rows):
    """One case a row of positional arguments; names label them in the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns about the empty and zero cases, which are wanted here
        return [{"in": dict(zip(names, row)), "out": outcome(lambda row=row: function(*row))} for row in rows]


def sample_lists(rng):
    lists = [[5.0], [3.0, 1.0], [2.0, 2.0, 9.0], [4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0, 100.0],
             [0.0, 50.0, 50.5, 51.0, 51.5, 99.0], [7.0] * 5, [1.0] * 4, [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0],
             [1e-9, 2e-9, 3e-9], [700.1, 700.2, 700.3, 700.4]]
    for count in (2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 9, 9, 10):
        lists.append([round(rng.uniform(690, 710), 3) for _ in range(count)])
    return lists


ROUND_INPUTS = [0.0, -0.0, 0.1, 0.4, 0.49, 0.5, 0.51, 0.9, 1.0, 1.5, 2.5, 3.5, 10.5, 99.5, 753.5, 754.0, 754.4, 754.49,
                754.499, 754.4999, 754.49999, 754.499999, 754.4999994, 754.4999995, 754.4999996, 754.4999999, 754.5,
                754.5000001, 754.50000049, 754.51, 754.9999999, 755.5, 0.4999994, 0.4999995, 0.49999951, 0.4999999,
                0.49999949999, -0.4, -0.4999999, -0.5, -0.6, -1.5, -2.5, -754.5, -754.4999999, 999.5, 1000.5, 1e6,
                1e6 + 0.5, 1e6 - 0.5, 1e6 + 0.4999999, 123456.5, 2251799813685248.5, 1e15 + 0.5,
                1e-7, 5e-7, 1e-300, math.inf, -math.inf, math.nan]


def goldens(host):
    rng = random.Random(20240501)
    lists = sample_lists(rng)
    yield "trimmed_median", "trimmed_median", call_cases(host.trimmed_median, ["xs"], [[x] for x in lists + [[]]])
    zeros = [[], [0.0], [0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-2.0, -1.0]]
    yield "spread_pct", "spread_pct", call_cases(host.spread_pct, ["xs"], [[x] for x in lists + zeros])
    rounds = ROUND_INPUTS + [round(rng.uniform(0, 3000), rng.choice([1, 2, 6, 9])) for _ in range(60)]
    rounds += [rng.randrange(0, 4000) + 0.5 for _ in range(20)]
    yield "round_tflops", "round_tflops", call_cases(host.round_tflops, ["x"], [[x] for x in rounds])

    scores = [(t, p, m) for t in (0.0, 650.5, 712.3) for p in (None, 0.0, 350.0, 699.9, 700.0, 750.0)
              for m in (None, 0.0, 700.0)]
    scores += [(round(rng.uniform(1, 900), 2), round(rng.uniform(90, 720), 1), 713.7) for _ in range(25)]
    yield "power_rank_score", "power_rank_score", call_cases(
        host.power_rank_score, ["tflops", "power", "pmax"], scores)

    suspects = [(p, r, q) for p in (None, 0.0, 300.0, 629.9, 629.9999999, 630.0, 630.1, 700.0, 800.0)
                for r in (None, -5.0, 0.0, 700.0) for q in (0.9,)]
    suspects += [(p, 700.0, q) for p in (349.0, 350.0, 679.0, 678.9999, 700.0, 701.0) for q in (0.5, 0.97, 1.0, 1.5)]
    suspects += [(round(0.9 * r, 3), r, 0.9) for r in (333.3, 699.7, 712.1, 1000.0, 1199.9)]
    yield "is_suspect", "is_suspect", call_cases(host.is_suspect, ["power", "ref_power", "ratio"], suspects)

    results = [None] + [dict(shape=(2816, 1536, 20480), tflops=t, power=p, clock=c)
                        for t, p, c in ((754.5, 699.6, 1754.5), (0.4, None, 1980.0), (1234.4999999, 1000.5, None),
                                        (99.49, None, None), (811.0, 0.5, 0.4), (811.0, 1.5, 2.5))]
    yield "format_headline", "format_headline", call_cases(host.format_headline, ["result"], [[r] for r in results])

    yield "dtype_element_size", "dtype_element_size", call_cases(
        host.dtype_element_size, ["dtype"], [[d] for d in host.SUPPORTED_DTYPES])
    a, b, c, d = (1024, 1024, 64), (2048, 1024, 64), (4096, 1024, 64), (8192, 1024, 64)
    yield "tunableop_shortlist", "tunableop_shortlist", call_cases(
        host.tunableop_shortlist, ["msmf_cands", "mamf_cands", "max_shapes"],
        [([a, b, c], [d, a, b], n) for n in (1, 2, 3, 4, 8)] +
        [([], [a, b], 8), ([a, b], [], 8), ([], [], 8), ([a, b, c, d], [b], 3), ([a, b], [a, b], 8),
         ([a, b], [c], 0)])
