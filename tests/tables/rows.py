#!/usr/bin/env python3
"""Compiles rows.c: each row under BAD() must be an error, and nothing else.   rows.py SOURCE COMPILER [ARGUMENT...]"""
import re
import subprocess
import sys

source, compiler = sys.argv[1], sys.argv[2:]
done = subprocess.run([*compiler, "-fsyntax-only", source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                      check=False)
with open(source, encoding="utf-8") as f:
    bad = {i for i, line in enumerate(f, 1) if line.startswith("    BAD(")}
refused = {int(n) for n in re.findall(r"rows\.c:(\d+):\d+: (?:fatal )?error:", done.stdout)}
for line in sorted(bad - refused):
    print(f"{source}:{line}: compiles, and should not")
for line in sorted(refused - bad):
    print(f"{source}:{line}: should compile")
if len(bad) < 40 or bad != refused:
    print(done.stdout[-4000:])
    sys.exit(1)
print(f"{len(bad)} wrong rows refused")
