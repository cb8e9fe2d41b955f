#!/usr/bin/env python3
"""Drives v16 as a search does, by the protocol alone.

usage: v16_protocol.py V16 [REFERENCE_SEARCH_SCRIPT]

Checks the answer's form, the logits, that sites + rest = forward, and that every bad table is one
line on stderr and a non-zero exit. With the reference's script, also runs that script unchanged with
a budget of one measurement a site and reads the table it writes.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

LOGITS = (0.095916, 0.033000)
SITES = ("qkv", "wo", "w1", "w2")
VENDOR = ["-1", "1"] * 4
# The pattern a reader of the protocol uses: fixed point only.
LINE = re.compile(r"^[AB]: ([\d. ]+) logits ([-\d.]+) ([-\d.]+)", re.M)
FORWARD = re.compile(r"^forward [AB]: ([\d.]+) ms, rest ([\d.]+) ms", re.M)
HAVE_VENDOR = False


def v16(binary, arguments):
    return subprocess.run([binary] + arguments, capture_output=True, text=True, timeout=600)


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)
    print("ok: " + what)


def check_answer(binary, table_a, table_b):
    answer = v16(binary, ["--seconds", "0"] + table_a + table_b)
    check(answer.returncode == 0, "a good pair of tables runs: " + answer.stderr)
    rows = LINE.findall(answer.stdout)
    check(len(rows) == 2, "one line for A and one for B")
    for (ms, *logits), (forward, rest) in zip(rows, FORWARD.findall(answer.stdout)):
        times = [float(x) for x in ms.split()]
        check(len(times) == 4 and min(times) > 0, "four positive times")
        off = max(abs(float(x) - y) for x, y in zip(logits, LOGITS))
        check(off < 1e-4, "logits within 1e-4 of the fp64 reference's")
        whole = sum(times) + float(rest)
        check(abs(whole / float(forward) - 1) < 0.03, "sites + rest = forward within 3 %")


def check_refused(binary, arguments, words):
    answer = v16(binary, arguments)
    lines = answer.stderr.strip().splitlines()
    check(answer.returncode != 0 and len(lines) == 1 and words in lines[0] and not answer.stdout,
          f"refused with one line saying '{words}': {answer.stderr.strip()}")


def check_refusals(binary):
    tile = ["0", "1"] * 4
    check_refused(binary, [], "16 numbers")
    check_refused(binary, tile, "not 8")
    check_refused(binary, tile + ["0", "1"] * 5, "not 18")
    check_refused(binary, tile + ["x", "1"] + tile[2:], 'table B, qkv: "x" is not a whole number')
    check_refused(binary, ["0", "1", "12", "1"] + tile[4:] + tile, "table A, wo: impl 12 is not")
    check_refused(binary, tile + tile[:4] + ["0", "3", "0", "1"], "table B, w1: impl 0")
    check_refused(binary, tile + tile[:6] + ["-99", "1"], "table B, w2: impl -99")
    check_refused(binary, ["--seconds", "soon"] + tile + tile, "--seconds")
    if HAVE_VENDOR:
        check_refused(binary, ["-1", "2"] + tile[2:] + tile, "takes split 1 only")


def check_reference_search(binary, script):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["/usr/bin/python3", script, "--binary", os.path.abspath(binary), "--budget", "1"],
            cwd=folder, capture_output=True, text=True, timeout=1500)
        check(done.returncode == 0, "the reference search runs to its end: " + done.stderr[-500:])
        print(done.stdout)
        with open(os.path.join(folder, "tactic_table.json")) as file:
            table = json.load(file)
        check(sorted(table) == sorted(SITES), "tactic_table.json has the four sites")
        for site in SITES:
            check(set(table[site]) == {"impl", "split", "ms"} and table[site]["ms"] > 0,
                  f"{site}: impl, split and ms")


def main():
    global HAVE_VENDOR
    binary = sys.argv[1]
    impls = v16(binary, ["--impls"]).stdout.splitlines()
    numbers = [int(line.split()[0]) for line in impls]
    HAVE_VENDOR = numbers[0] < 0
    check(numbers == list(range(numbers[0], 12)), "--impls lists the vendor's and the 12 tiles")
    check_refusals(binary)
    check_answer(binary, VENDOR if HAVE_VENDOR else ["0", "1"] * 4,
                 ["3", "1", "5", "2", "11", "4", "9", "8"])
    for impl in range(numbers[0], -1):
        check_answer(binary, VENDOR, [str(impl), "1"] * 4)
    if len(sys.argv) > 2 and HAVE_VENDOR:
        check_reference_search(binary, sys.argv[2])


main()
