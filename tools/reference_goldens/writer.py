"""JSON out: compact, lines broken near 110 columns, the same bytes on every run. Used by every part of the generator.

It refuses to write a number that JSON or a 64-bit reader cannot hold: NaN and the infinities become the strings "nan",
"inf" and "-inf", integers beyond 64 bits become strings of digits.
"""
import json
import math

SOURCE = "mamf-finder benchmark version 3"
LINE_WIDTH = 110


def plain(value):
    """The value in JSON's own types: tuples as lists, sets as sorted lists, numpy scalars as Python ones."""
    if hasattr(value, "item") and not isinstance(value, (list, tuple, dict, set)):
        value = value.item()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return [plain(v) for v in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, int) and not isinstance(value, bool) and not -2**63 <= value < 2**63:
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"no JSON form for {type(value).__name__}")


def broken_lines(text):
    """Break after a comma outside a string once the line is long enough."""
    lines, start, in_string, escaped = [], 0, False, False
    for i, ch in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif ch == "\\":
                escaped = True
            elif ch == '"':
                in_string = False
        elif ch == '"':
            in_string = True
        elif ch == "," and i - start >= LINE_WIDTH:
            lines.append(text[start:i + 1])
            start = i + 1
    lines.append(text[start:])
    return "\n".join(lines)


def write_golden(path, function, cases):
    rows = [broken_lines(json.dumps(plain(case), separators=(",", ":"), allow_nan=False)) for case in cases]
    text = (f'{{"function":{json.dumps(function)},\n"source":{json.dumps(SOURCE)},\n"cases":[\n' +
            ",\n".join(rows) + "\n]}\n")
    json.loads(text)
    path.write_text(text, encoding="ascii")
    return len(text)
