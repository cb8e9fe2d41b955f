"""Cases of the command line's values: knob overrides and the search set-up. Used by make_reference_goldens.py.

Usage texts of Python's argparse are its own; of a refused command line only the line that starts with the program's
name is kept.
"""
import contextlib
import dataclasses
import io
import sys
import tempfile
from pathlib import Path

OVERRIDES = [
    [], ["max_size=8192"], ["max_size= 8192 "], ["max_size=+8192"], ["max_size=-1"], ["max_size=0"],
    ["max_size=8_192"], ["max_size=08192"], ["max_size=8192.0"], ["max_size=0x2000"], ["max_size=1e4"], ["max_size="],
    ["max_size=many"], ["max_size==5"], ["max_size=5=6"], ["max_size=99999999999999999999"], ["max_size"],
    [" max_size=5"], ["MAX_SIZE=5"], ["max-size=5"], [""], ["="], ["=5"], ["nosuch=1"], ["it's=1"], ["say \"hi\"=1"],
    ["tab\there=1"], ["max_size=it's"], ["warmup=fixed"], ["warmup=adaptive"], ["warmup=Fixed"], ["warmup="],
    ["warmup=it's"], ["warmup= fixed"], ["refine_grid=false"], ["refine_grid=False"], ["refine_grid=0"],
    ["refine_grid=1"], ["refine_grid=TRUE"], ["scout_only=true"], ["scout_only=tRuE"], ["scout_only=yes"],
    ["scout_only=no"], ["scout_only="], ["scout_only= true"], ["scout_only=2"], ["scout_only=on"],
    ["mamf_idle_s=0.5"], ["mamf_idle_s=1"], ["mamf_idle_s=.5"], ["mamf_idle_s=5."], ["mamf_idle_s=1e-3"],
    ["mamf_idle_s= 0.5 "], ["mamf_idle_s=-1"], ["mamf_idle_s=inf"], ["mamf_idle_s=nan"], ["mamf_idle_s=Infinity"],
    ["mamf_idle_s=1_0.5"], ["mamf_idle_s=0,5"], ["mamf_idle_s="], ["mamf_idle_s=0x1p3"], ["mamf_idle_s=0.5s"],
    ["mamf_idle_s=1e400"], ["confirm_reps=3", "confirm_reps=7"],
    ["confirm_reps=3", "scout_only=true", "msmf_soak_s=0", "warmup=fixed"], ["confirm_reps=3", "bad"],
    ["warmup=slow", "max_size=x"], ["warmup=slow", "warmup=fixed"], ["boost_clock_ratio=0.97"],
    ["msmf_lock_reps=9.5"], ["boost_clock_ratio=ratio"],
]


def override_case(host, pairs):
    defaults = dataclasses.asdict(host.Tuning())

    def changed():
        tune = dataclasses.asdict(host.Tuning.from_overrides(pairs))
        return {"changed": {name: value for name, value in tune.items() if value != defaults[name]}}
    try:
        out = changed()
    except ValueError as e:
        out = {"error": str(e)}
    return {"in": {"overrides": pairs}, "out": out}


def default_cases(host):
    return [{"in": {"index": i}, "out": {"name": f.name, "type": f.type.__name__, "default": f.default}}
            for i, f in enumerate(dataclasses.fields(host.Tuning))]


NVIDIA = dict(name="cuda", units=132, tile=(128, 256), validated=True)
AMD = dict(name="rocm", units=304, tile=(128, 256), validated=False)
NO_WAVES = dict(name="hpu", units=None, tile=None, validated=False)
NO_UNITS = dict(name="cuda", units=0, tile=(128, 256), validated=True)
NO_TILE = dict(name="cuda", units=132, tile=None, validated=True)

ARCH_REQUESTS = [([], arch) for arch in (NVIDIA, AMD, NO_WAVES, NO_UNITS, NO_TILE)] + [
    (["--search", "auto"], NVIDIA), (["--search", "auto"], NO_WAVES), (["--dtype", "mxfp4"], NVIDIA),
    (["--tune", "max_size=8192", "--dtype", "float32"], NVIDIA), (["--m", "128", "--n", "256", "--k", "64"], NO_WAVES),
    (["--m", "128", "--n", "256", "--k", "64"], AMD)]

GRID_REQUESTS = [text.split() for text in (
    "--search grid", "--search grid --m 128", "--m 128", "--n 128 --k 128", "--search auto --k 128",
    "--m_range 0 1024 256", "--m 128 --n 256 --k 64", "--search auto --m 128 --n 256 --k 64",
    "--m 128 256 --n 512 --k 64 128", "--m 256 128 256 --n 512 512 --k 64", "--m=128 --n=256 --k=64",
    "--m_range 0 1024 256 --n 4096 --k 4096", "--m_range 256 1024 256 --n 4096 --k 4096",
    "--m_range 256 1025 256 --n 4096 --k 4096", "--m_range 1024 0 -256 --n 4096 --k 4096",
    "--m_range 1024 1 -256 --n 4096 --k 4096", "--m_range 0 -1024 -256 --n 4096 --k 4096",
    "--m_range 0 512 256 --n_range 0 768 256 --k_range 512 0 -256", "--m 128 --n_range 0 768 256 --k 64 32",
    "--m_range 1024 256 256 --n 4096 --k 4096", "--m_range 256 256 256 --n 4096 --k 4096",
    "--m_range 256 1024 -256 --n 4096 --k 4096", "--m_range 0 256 512 --n 4096 --k 4096",
    "--m_range 100 101 7 --n 4096 --k 4096", "--m_range 128 1024 --n 4096 --k 4096", "--m_range 128 --n 4096 --k 4096",
    "--m_range 0 1024 256 5 --n 4096 --k 4096", "--m_range 128 1024 0 --n 4096 --k 4096",
    "--m_range 0 1024 0 --n 4096 --k 4096", "--m_range -512 512 256 --n 4096 --k 4096", "--m 0 --n 4096 --k 4096",
    "--m -128 --n 4096 --k 4096", "--m 128 --n 4096 --k_range 0 96 32 --dtype mxfp4",
    "--m 128 --n 4096 --k 64 100 48 96 100 --dtype mxfp4", "--m 128 --n 4096 --k 64 100 48 96 --dtype nvfp4",
    "--m 128 --n 4096 --k_range 0 100 16 --dtype nvfp4", "--m 128 --n 4096 --k 100 --dtype mxfp8",
    "--m 128 --n 4096 --k 100 --dtype float8_e4m3fn", "--m 100 --n 100 --k 32 --dtype mxfp4",
    "--m 128 --m_range 0 1024 256 --n 1 --k 1", "--m --n 1 --k 1", "--m x --n 1 --k 1", "--m 1.5 --n 1 --k 1",
    "--search both", "--dtype int8", "--telemetry maybe", "--nosuch", "--m_ra 0 512 256 --n 1 --k 1",
    "--num 5", "--sea grid", "--tune max_size", "--tune max_size=x --tune warmup=slow")]

FILES = [
    "4096,4096,4096\n",
    "4096x4096x4096\n2816X1536x20480\n",
    "4096 4096 4096\n",
    "4096\t4096\t4096",
    "4096, 4096, 4096\n",
    "4096 x 4096 x 4096\n",
    "# all\n\n1,2,3 # first\n   4x5x6   \n#7,8,9\n",
    "1,2,3\n1,2,3\n",
    "1,,2,,3\n",
    "1,2,3\r\n4,5,6\r\n",
    "",
    "# nothing\n\n   \n",
    "1,2\n",
    "1,2,3\n4,5,6,7\n",
    "1,2,3\n\n# c\n4 5\n",
    ",1,2,3\n",
    "1,2,3,\n",
    "1;2;3\n",
    "a,b,c\n",
    "1,2,3.5\n",
    "1,2,3\n1e3,2,3\n",
    "0,0,0\n",
    "-1,2,3\n",
    "+1,2,3\n",
    "1_000,2,3\n",
    "99999999999999999999,1,1\n",
    "1*2*3\n",
    "it's\n",
     "1,2,3\f4,5,6\n"]


def search_case(host, argv, arch, text=None):
    host.set_arch(**arch)
    case = {"in": {"argv": argv, "file": text, "arch": arch}}

    def run(path):
        old, sys.argv = sys.argv, ["mamf-finder.py", *(path if a == "FILE" else a for a in argv)]
        errors = io.StringIO()
        try:
            with contextlib.redirect_stderr(errors):
                args = host.parse_args()
        except SystemExit as e:
            return {"usage_error": errors.getvalue().strip().split("\n")[-1], "exit_code": e.code}, []
        finally:
            sys.argv = old
        got, console, _ = host.captured(lambda: host.search_setup(args))
        if isinstance(got, dict):
            return got, console
        mode, shapes, range_info, warmup_shape = got
        return {"mode": mode, "shapes": shapes, "range_info": range_info, "warmup_shape": warmup_shape}, console
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "shapes.txt")
        if text is not None:
            Path(path).write_bytes(text.encode("ascii"))
        out, console = run(path)
    clean = {key: value.replace(path, "FILE") if isinstance(value, str) else value for key, value in out.items()}
    case["out"] = {**clean, "console": console}
    host.set_arch()
    return case


def search_cases(host):
    cases = [search_case(host, argv, arch) for argv, arch in ARCH_REQUESTS]
    cases += [search_case(host, argv, NVIDIA) for argv in GRID_REQUESTS]
    file_arg = ["--shapes_file", "FILE"]
    cases += [search_case(host, file_arg, NVIDIA, text) for text in FILES]
    good = "4096,4096,4096\n"
    cases += [
        search_case(host, file_arg, NVIDIA), search_case(host, ["--shapes_file", ""], NVIDIA),
        search_case(host, ["--shapes_file", "", "--m", "1", "--n", "2", "--k", "3"], NVIDIA),
        search_case(host, file_arg + ["--m", "128"], NVIDIA, good),
        search_case(host, file_arg + ["--m", "128", "--n", "128", "--k", "128"], NVIDIA, good),
        search_case(host, file_arg + ["--search", "auto"], NVIDIA, good), search_case(host, file_arg, NO_WAVES, good),
        search_case(host, file_arg + ["--m_range", "128", "1024"], NVIDIA, good),
        search_case(host, file_arg + ["--dtype", "mxfp4"], NVIDIA, "1,2,64\n1,2,48\n1,2,33\n1,2,48\n"),
        search_case(host, file_arg + ["--dtype", "nvfp4"], NVIDIA, "1,2,64\n"),
    ]
    return cases


def goldens(host):
    yield "tuning_from_overrides", "Tuning.from_overrides", [override_case(host, pairs) for pairs in OVERRIDES]
    yield "tuning_defaults", "Tuning", default_cases(host)
    yield "search_setup", "search_setup", search_cases(host)
