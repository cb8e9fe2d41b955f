"""The stub world the reference runs in: a fake torch and arch, patched globals, captured output. Used by every part.

The reference's source is parsed, never edited: the statements before its `if __name__ == '__main__'` block make a
module, and the block itself is compiled apart so that whole_run.py can execute it over patched globals.
"""
import ast
import contextlib
import io
import sys
import types
from pathlib import Path

ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1}


class _Dtype:
    def __init__(self, name):
        self.name = name


def stub_torch(host):
    """Just what the reference's module level and pure functions touch."""
    torch = types.ModuleType("torch")
    for name in ELEMENT_BYTES:
        setattr(torch, name, _Dtype(name))
    torch.__version__ = "0.0"
    torch.version = types.SimpleNamespace(hip=None, cuda="0.0")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, mem_get_info=host.memory_info)
    torch.no_grad = contextlib.nullcontext
    torch.empty = lambda *_, dtype, device=None: types.SimpleNamespace(element_size=lambda: ELEMENT_BYTES[dtype.name])
    return torch


class Host:
    MODULE = "mamf_finder_reference"

    def __init__(self, path):
        self.free_bytes = None  # None: the memory query fails, as on a device that has none
        sys.modules["torch"] = stub_torch(self)
        if "packaging" not in sys.modules:
            packaging = types.ModuleType("packaging")  # only a float8 check in the measuring code reads it
            packaging.version = types.SimpleNamespace(parse=lambda text: text)
            sys.modules["packaging"] = packaging
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
        main_block = tree.body.pop()
        if not isinstance(main_block, ast.If):
            raise SystemExit("error: the reference does not end in its main block")
        module = types.ModuleType(self.MODULE)
        module.__file__ = "mamf-finder.py"
        sys.modules[self.MODULE] = module  # dataclasses look their module up
        self.globals = module.__dict__
        exec(compile(tree, "mamf-finder.py", "exec"), self.globals)
        self._main = compile(ast.Module([main_block], []), "mamf-finder.py", "exec")
        self.log = []
        self.globals["detail"] = lambda message: self.log.extend(message.split("\n"))
        self.set_arch()

    def __getattr__(self, name):
        try:
            return self.__dict__["globals"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def version(self):
        return self.globals["benchmark_version"]

    def memory_info(self):
        if self.free_bytes is None:
            raise RuntimeError("no memory information")
        return self.free_bytes, 2 * self.free_bytes

    def set_arch(self, units=132, tile=(128, 256), validated=True, name="cuda"):
        self.globals["arch"] = types.SimpleNamespace(
            name=name, gemm_tile_hint=tile, geometry_validated=validated, compute_unit_count=lambda: units,
            telemetry_backend="fake", device="fake", set_device=lambda index: None)

    def args(self, **knobs):
        """Parsed arguments with default knobs but for the given ones."""
        tune = self.Tuning()
        for name, value in knobs.items():
            if not hasattr(tune, name):
                raise KeyError(name)
            setattr(tune, name, value)
        return types.SimpleNamespace(tune=tune, num_iterations=100, num_warmup_iterations=50, dtype="bfloat16")

    @contextlib.contextmanager
    def patched(self, **names):
        old = {name: self.globals[name] for name in names}
        self.globals.update(names)
        try:
            yield
        finally:
            self.globals.update(old)

    def captured(self, function):
        """(result, console lines, log lines); a progress row keeps its trailing carriage return."""
        self.log.clear()
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            result = outcome(function)
        lines = text.getvalue().split("\n")
        return result, lines[:-1] if lines[-1] == "" else lines, list(self.log)

    def run_main(self, argv):
        """Execute the reference's main block over the globals as they are patched now."""
        old_argv, old_stdout = sys.argv, sys.stdout
        sys.argv = ["mamf-finder.py", *argv]
        self.globals["__name__"] = "__main__"
        try:
            exec(self._main, self.globals)
        finally:
            sys.argv, sys.stdout = old_argv, old_stdout
            self.globals["__name__"] = self.MODULE


def outcome(function):
    """What the call gives: its result, {"exit": text} or {"crash": "Type: text"}."""
    try:
        return function()
    except SystemExit as e:
        return {"exit": str(e)}
    except Exception as e:  # the reference's own bugs are part of its behaviour
        return {"crash": f"{type(e).__name__}: {e}"}


def telemetry(validated):
    """A telemetry double for the functions that ask only whether power may exclude a shape."""
    return types.SimpleNamespace(available=True, validated=validated)
