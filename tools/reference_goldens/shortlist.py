"""Cases of the candidate lists: top shapes, MAMF recall pool, MSMF confirm set. Used by make_reference_goldens.py.

Synthetic scout sets come in scouting order; a shape may be measured twice, values collide, power may be missing. They
claim no likeness to a device.
"""
import random

from .host import outcome

PLANE = (2048, 4096, 6144, 8192, 10752, 12288, 14336, 16384, 18432, 20480)


class ScoutSet:
    """What scouting leaves behind: every measurement in order, and the best-peak one of each shape."""

    def __init__(self):
        self.measured, self.meta = [], {}

    def add(self, shape, mean, peak, power, clock):
        self.measured.append((mean, power, shape))
        known = self.meta.get(shape)
        if known is None or peak > known["mx"]:
            self.meta[shape] = {"mean": mean, "mx": peak, "power": power, "clock_max": clock}

    def measured_rows(self):
        return [[mean, power, shape] for mean, power, shape in self.measured]

    def meta_rows(self):
        return [[shape, m["mean"], m["mx"], m["power"], m["clock_max"]] for shape, m in self.meta.items()]


def random_shapes(rng, host, units, count, wave_share):
    """Distinct shapes, a share of them wave layouts of this unit count, the rest plane points."""
    layouts = host.wave_mn_layouts(units, 20480)
    wave_mn = sorted({mn for _, mns in layouts.values() for mn in mns})
    shapes = []
    while len(shapes) < count:
        if rng.random() < wave_share:
            shape = (*rng.choice(wave_mn), rng.choice((1024, 8192, 12288, 14336, 16384, 20480)))
        else:
            shape = (rng.choice(PLANE), rng.choice(PLANE), rng.choice((1024, 3072)))
        if shape not in shapes:
            shapes.append(shape)
    return shapes, layouts


def random_scouts(rng, host, units, count, *, wave_share=0.7, no_power=0.05, twice=0.1, digits=1):
    shapes, layouts = random_shapes(rng, host, units, count, wave_share)
    order = shapes + [s for s in shapes if rng.random() < twice]
    scouts = ScoutSet()
    for shape in order:
        bulk = min(shape) / (min(shape) + 2048)
        mean = round(500 + 250 * bulk + rng.uniform(-60, 60), digits)
        power = None if rng.random() < no_power else float(round(400 + 320 * bulk + rng.uniform(-30, 10)))
        clock = None if power is None else float(1980 - 15 * rng.randrange(0, 30))
        scouts.add(shape, mean, round(mean + rng.uniform(0, 50), digits), power, clock)
    return scouts, layouts


def top_case(host, scouts, n, prefer, slots, name=None):
    case = {"name": name} if name else {}
    case["in"] = {"measured": scouts.measured_rows(), "n": n, "prefer_mn": prefer, "prefer_slots": slots}
    case["out"] = outcome(lambda: host.top_shapes(scouts.measured, n, prefer_mn=prefer, prefer_slots=slots))
    return case


def hand_made_scouts():
    a, b, c, d, e = [(1024 * i, 2048, 1024) for i in range(1, 6)]
    ties, no_power, mixed, twice, empty = (ScoutSet() for _ in range(5))
    for shape in (c, a, b, e, d):
        ties.add(shape, 700.0, 710.0, 600.0, 1500.0)
    for shape, mean in ((a, 700.0), (b, 720.0), (c, 720.0), (d, 650.0)):
        no_power.add(shape, mean, mean + 10, None, None)
    for shape, mean, power in ((a, 700.0, 700.0), (b, 800.0, 350.0),
                               (c, 650.0, None), (d, 710.0, 690.0), (e, 600.0, 0.0)):
        mixed.add(shape, mean, mean + 25, power, 1500.0)
    for shape, mean, power in ((a, 700.0, 500.0), (b, 690.0, 700.0), (a, 650.0, 700.0),
                               (c, 695.0, 700.0), (b, 695.0, 700.0), (a, 695.0, 700.0)):
        twice.add(shape, mean, mean + 5, power, 1500.0)
    return {"ties keep the measuring order": ties, "no power at all": no_power, "some powers missing or zero": mixed,
            "shapes measured twice": twice, "nothing measured": empty}


def top_shapes_cases(host, rng):
    cases = []
    for name, scouts in hand_made_scouts().items():
        prefer = {(3072, 2048), (5120, 2048)}
        for n, pref, slots in ((3, None, 0), (3, prefer, 1), (3, prefer, 2), (3, prefer, 9), (10, prefer, 1),
                               (0, None, 0), (-1, prefer, 1), (2, set(), 2), (2, prefer, 0), (2, prefer, -1)):
            cases.append(top_case(host, scouts, n, pref, slots, name))
    for units, count, digits in ((132, 50, 1), (148, 50, 0), (132, 120, 0), (148, 80, 1)):
        scouts, layouts = random_scouts(rng, host, units, count, digits=digits)
        prefer = {mn for _, mns in layouts.values() for mn in mns}
        some = set(sorted(prefer)[::5])
        for n, pref, slots in ((10, None, 0), (14, some, 5), (2, prefer, 1)):
            cases.append(top_case(host, scouts, n, pref, slots))
    return cases


def peak_cases(host, rng):
    sets = list(hand_made_scouts().values())
    sets += [random_scouts(rng, host, u, c, digits=d)[0] for u, c, d in ((132, 60, 0), (148, 40, 1))]
    return [{"in": {"scout_meta": s.meta_rows(), "n": n}, "out": outcome(lambda: host.top_shapes_by_peak(s.meta, n))}
            for s in sets for n in (-1, 0, 2, 8)]


def recall_case(host, scouts, layouts, knobs):
    by_wave = {w: set(mns) for w, mns in layouts.items()}

    def pool():
        shapes, provenance = host.build_mamf_recall_pool(scouts.meta, by_wave, host.args(**knobs))
        return {"pool": shapes, "provenance": [provenance[s] for s in shapes]}
    return {"in": {"scout_meta": scouts.meta_rows(), "wave_layouts_by_wave": [[w, by_wave[w]] for w in sorted(by_wave)],
                   "tune": knobs}, "out": outcome(pool)}


def recall_cases(host, rng):
    cases = []
    defaults = {"mamf_raw_forced": 8, "mamf_wave_k": 3}
    for units, count, digits, knobs in (
    (132, 300, 1, defaults), (148, 300, 1, defaults), (132, 150, 0, defaults), (148, 150, 0, {
        "mamf_raw_forced": 20, "mamf_wave_k": 1}), (132, 60, 1, {
            "mamf_raw_forced": 0, "mamf_wave_k": 2}), (148, 50, 1, {
                "mamf_raw_forced": 3, "mamf_wave_k": 0}), (132, 50, 0, {
                    "mamf_raw_forced": -2, "mamf_wave_k": 99})):
        scouts, layouts = random_scouts(rng, host, units, count, digits=digits)
        cases.append(recall_case(host, scouts, {w: mns for w, (_, mns) in layouts.items()}, knobs))
    scouts, _ = random_scouts(rng, host, 132, 50, wave_share=0.0)
    cases.append(recall_case(host, scouts, {}, defaults))
    cases.append(recall_case(host, ScoutSet(), {1: {(1536, 2816)}}, defaults))
    mn = next(iter(scouts.meta))[:2]  # one layout under two waves cannot come from the geometry; the list shows both
    cases.append(
    recall_case(
        host, scouts, {
            2: {mn}, 1: {
                mn, (1024, 1024)}}, {
                    "mamf_raw_forced": 2, "mamf_wave_k": 2}))
    return cases


def confirm_case(host, scouts, seen, squares, knobs):
    host.log.clear()

    def confirm_set():
        shapes, n_confirm = host.build_msmf_confirm_set(
            scouts.measured, scouts.meta, seen, squares, host.args(**knobs))
        return {"shapes": shapes, "n_confirm": n_confirm, "log": list(host.log)}
    given = {"measured": scouts.measured_rows(), "scout_shapes": list(scouts.meta), "seen": seen,
             "square_by_wave": [[w, mn] for w, mn in squares.items()], "tune": knobs}
    return {"in": given, "out": outcome(confirm_set)}


def confirm_cases(host, rng):
    cases = []
    defaults = {"confirm_top": 10, "confirm_fat_forced": 3}
    for units, count, options, knobs in (
    (132, 300, {}, defaults), (148, 300, {}, defaults), (132, 150, {
        "digits": 0}, defaults), (148, 150, {
            "digits": 0, "no_power": 1.0}, defaults), (132, 100, {
                "no_power": 0.5}, {
                    "confirm_top": 30, "confirm_fat_forced": 8}), (148, 60, {}, {
                        "confirm_top": 1, "confirm_fat_forced": 0}), (148, 50, {
                            "twice": 0.9, "digits": 0}, {
                                "confirm_top": 10, "confirm_fat_forced": 60}), (132, 50, {}, {
                                    "confirm_top": 12, "confirm_fat_forced": -3})):
        scouts, layouts = random_scouts(rng, host, units, count, **options)
        seen = {mn for _, mns in layouts.values() for mn in mns}
        cases.append(confirm_case(host, scouts, seen, {w: sq for w, (sq, _) in layouts.items()}, knobs))
    scouts, _ = random_scouts(rng, host, 132, 50, wave_share=0.0)
    cases.append(confirm_case(host, scouts, set(), {}, defaults))
    cases.append(confirm_case(host, scouts, {(4096, 4096)}, {
                 2: (4096, 4096), 4: (4096, 6144), 5: (8192, 8192)}, defaults))
    one = ScoutSet()
    one.add((4096, 4096, 4096), 700.0, 710.0, 650.0, 1500.0)
    cases.append(confirm_case(host, one, set(), {}, defaults))
    cases.append(confirm_case(host, ScoutSet(), set(), {}, defaults))
    return cases


def goldens(host):
    rng = random.Random(20240502)
    yield "top_shapes", "top_shapes", top_shapes_cases(host, rng)
    yield "top_shapes_by_peak", "top_shapes_by_peak", peak_cases(host, rng)
    yield "build_mamf_recall_pool", "build_mamf_recall_pool", recall_cases(host, rng)
    yield "build_msmf_confirm_set", "build_msmf_confirm_set", confirm_cases(host, rng)
