"""parts: what a client is tried with, and the table that comes of it.

A client is a list of rows (a command, a call); a row has parts, each a function that raises when Berth does not answer as
the client expects. A row works when all of its parts do, works partly when some do, and does not when none does. Why a part
does not work is said beside it where it is known; else the end of what the client printed is the reason.
"""
import os
import re
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))

from harness import Fail, check, wait_for  # noqa: E402,F401  (for the parts)


class Client:
    """Rows in the order in which their first part is declared."""

    def __init__(self, name, about, unavailable=lambda: None):
        """unavailable(): why the client cannot be run on this machine, or None."""
        self.name, self.about, self.unavailable, self.rows = name, about, unavailable, {}

    def part(self, row, what, why=None):
        def add(function):
            self.rows.setdefault(row, []).append((what, why, function))
            return function
        return add

    def run(self, berth):
        """The lines of its table; parts that fail are told on stderr with all that they said."""
        lines = [f"## {self.name}", "", *self.about, "", "| | | |", "|---|---|---|"]
        for row, parts in self.rows.items():
            good, bad = [], []
            for what, why, function in parts:
                start = time.monotonic()
                error = attempt(function, berth)
                print(f"{self.name} {row}: {what}: {'ok' if error is None else 'FAILED'} "
                      f"({time.monotonic() - start:.1f} s)", file=sys.stderr, flush=True)
                if error is None:
                    good.append(what)
                else:
                    print(error, file=sys.stderr)
                    bad.append(f"{what}: {why or last_line(error)}" if len(parts) > 1 else why or last_line(error))
            verdict = "works" if not bad else "partly" if good else "no"
            lines.append(f"| `{row}` | {verdict} | {cell(good if not bad else bad)} |")
        return lines


def attempt(function, berth):
    try:
        function(berth)
        return None
    except Exception as e:  # pylint: disable=broad-except  (whatever it is, the part does not work)
        return str(e) or repr(e)


def last_line(text):
    lines = [line for line in text.strip().split("\n") if line.strip()]
    return re.sub(r"\s+", " ", lines[-1] if lines else "failed")[:160]


def cell(texts):
    return "; ".join(texts).replace("|", "\\|")


def tallies(lines):
    """How many rows of a table work, work partly, and do not."""
    count = {"works": 0, "partly": 0, "no": 0}
    for line in lines:
        found = re.match(r"\| `[^|]*` \| (works|partly|no) \|", line)
        if found:
            count[found.group(1)] += 1
    return count
