"""Cases of the wave geometry and of the memory rule. Used by make_reference_goldens.py; refuses to judge layouts."""
from .host import outcome
from .small import call_cases


def layout_cases(host):
    requests = [(u, s, (128, 256), None, 1024) for u in (2, 80, 108, 132, 148) for s in (20480, 8192, 4096)]
    requests += [(132, 20480, (256, 128), None, 1024), (132, 20480, (128, 128), None, 1024),
                 (148, 20480, (64, 64), None, 1024), (132, 20480, (128, 256), None, 256),
                 (108, 10000, (192, 160), None, 500), (132, 20480, (128, 256), [4, 1, 2], 1024),
                 (148, 8192, (128, 256), [8], 1), (304, 20480, (128, 256), None, 1024),
                 (1, 20480, (128, 256), None, 128), (132, 1024, (128, 256), None, 1024),
                 (0, 20480, (128, 256), None, 1024), (None, 20480, (128, 256), None, 1024)]
    cases = []
    for units, max_size, tile, waves, min_dim in requests:
        waves = list(range(1, 17)) if waves is None else waves
        got = host.wave_mn_layouts(units, max_size, tile[0], tile[1], waves, min_dim)
        out = [{"wave": w, "square": sq, "layouts": layouts} for w, (sq, layouts) in got.items()]
        cases.append({"in": {"units": units, "max_size": max_size, "tile_m": tile[0], "tile_n": tile[1],
                             "waves": waves, "min_dim": min_dim}, "out": out})
    return cases


def efficiency_rows():
    rows = [(m, n, u, 128, 256) for u in (2, 80, 108, 132, 148)
            for m, n in ((128, 256), (1, 1), (129, 257), (1024, 1024), (1536, 2816), (2816, 1536), (4096, 4096),
                         (20480, 20480), (8192, 10752), (127, 255))]
    rows += [(1536, 2816, 132, 256, 128), (1000, 3000, 132, 64, 96),
             (4096, 4096, 304, 128, 256), (0, 256, 132, 128, 256)]
    return rows


def memory_cases(host):
    """gemm_fits under a stated amount of free memory; null: the device can't say."""
    shapes = [(4096, 4096, 4096), (20480, 20480, 1024), (20480, 20480, 20480), (1024, 1024, 20480), (128, 128, 128)]
    cases = []
    for free in (None, 0, 300 * 2**20, 2 * 2**30, 4 * 2**30, 150754820096):
        host.free_bytes = free
        for elem in (0.5, 1, 2, 4):
            for m, n, k in shapes:
                cases.append({"in": {"m": m, "n": n, "k": k, "elem_bytes": elem, "free_bytes": free},
                              "out": outcome(lambda: host.gemm_fits(m, n, k, elem))})
    need = 4 * 4096 * 4096 * 2 + 256 * 2**20  # has to be below, not at, 90 % of the free bytes
    for free in (need * 10 // 9 - 1, need * 10 // 9, need * 10 // 9 + 1, need * 10 // 9 + 2):
        host.free_bytes = free
        cases.append({"in": {"m": 4096, "n": 4096, "k": 4096, "elem_bytes": 2, "free_bytes": free},
                      "out": outcome(lambda: host.gemm_fits(4096, 4096, 4096, 2))})
    host.free_bytes = None
    return cases


def goldens(host):
    yield "wave_mn_layouts", "wave_mn_layouts", layout_cases(host)
    yield "wave_efficiency", "wave_efficiency", call_cases(
        host.wave_efficiency, ["m", "n", "units", "tile_m", "tile_n"], efficiency_rows())
    yield "gemm_fits", "gemm_fits", memory_cases(host)
