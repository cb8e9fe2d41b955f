#!/usr/bin/env python3
"""Record the pure functions of mamf-finder, benchmark version 3, as JSON data.

What it is: a driver that imports the reference program under a stub `torch`, calls its selection, geometry and
set-up functions on seeded inputs, and writes the inputs and outputs to OUT_DIR, one file a function.

Who uses it: a maintainer, by hand, when a case is added. The golden tests read only the JSON files; neither the build
nor a test needs Python, numpy or the reference program.

What it refuses to do: it contains, changes and repairs no line of the reference (a crash of the reference is recorded
as a crash), it takes no other benchmark version, it measures nothing and needs no accelerator, and it writes nothing
outside OUT_DIR.

Usage: python3 tools/make_reference_goldens.py REFERENCE.py OUT_DIR      (needs numpy)
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_goldens import bursts, geometry, lock_in, setup, shortlist, small, timing, whole_run  # noqa: E402
from reference_goldens.host import Host  # noqa: E402
from reference_goldens.writer import write_golden  # noqa: E402


def main(argv):
    if len(argv) != 3:
        print(f"usage: {argv[0]} REFERENCE.py OUT_DIR", file=sys.stderr)
        return 2
    host = Host(argv[1])
    if host.version != 3:
        print(f"error: benchmark version {host.version}, these goldens describe version 3", file=sys.stderr)
        return 2
    out_dir = Path(argv[2])
    out_dir.mkdir(parents=True, exist_ok=True)
    for part in (small, geometry, shortlist, lock_in, bursts, timing, setup, whole_run):
        for name, function, cases in part.goldens(host):
            size = write_golden(out_dir / f"{name}.json", function, cases)
            print(f"{name:<28} {len(cases):>4} cases {size:>8} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
