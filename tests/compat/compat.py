#!/usr/bin/python3
"""The tables of docs/compatibility.md are what scripts/compatibility prints, for the clients that are always there.   BERTH"""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "compat"))

import clients  # noqa: E402
import kubectl  # noqa: E402
from harness import Berth  # noqa: E402

SCRIPT = os.path.join(TOP, "scripts", "compatibility")


def table_of(text, name):
    return text.split(f"<!-- {name} -->\n", 1)[1].split(f"<!-- end of {name} -->", 1)[0].strip()


def main():
    berth, program = sys.argv[1], os.path.join(TOP, ".tools", "kubectl")
    if not os.path.exists(program):
        print("there is no .tools/kubectl")
        sys.exit(77)
    with open(os.path.join(TOP, "docs", "compatibility.md"), encoding="utf-8") as f:
        document = f.read()
    passed, failed = 0, []
    with Berth(berth, program, gpus="none") as b:
        rows = kubectl.missing(b)
        if rows:
            failed.append(f"kubectl has commands that have no row: {' '.join(rows)}")
        passed += not rows
    for client in clients.ALL:
        if client.unavailable():
            print(f"skipped {client.name}: {client.unavailable()}")
            continue
        done = subprocess.run([SCRIPT, "--only", client.name, berth], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == table_of(document, client.name):
            passed += 1
        else:
            failed.append(f"{client.name}: docs/compatibility.md says otherwise (scripts/compatibility --write renews it); now\n"
                          f"{done.stdout}\n{done.stderr}")
    for text in failed:
        print("FAILED " + text)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
