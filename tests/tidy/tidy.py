#!/usr/bin/env python3
"""tidy: keeps the house in order. Reads every source file and fails on what docs/architecture.md does not allow.

Checked: the arrows between rooms and between the folders inside a room (who may #include whom), at most 40 files in a
folder, third-party headers only in their rooms, files of at most 800 lines, functions of at most 70, lines of at most 100 columns (120 in a comment), tabs, trailing blanks, an opening comment
in every file, include guards, and that every .c file of a room is built. Run: tests/tidy/tidy.py [ROOT]; --self-test
checks that each rule bites.
"""
import os
import re
import sys
import tempfile

ROOMS = {
    "base": "",
    "wire": "base",
    "api": "wire base",
    "core": "api wire base",
    "mirror": "api wire base",
    "port": "mirror api wire base",
    "store": "mirror api wire base",
    "net": "wire base",
    "site": "port mirror net api wire base",
    "server": "site port mirror net api wire base",
    "kube": "mirror net api wire base",
    "control": "core port mirror api wire base",
    "gateway": "core net api wire base",
    "node": "kube port mirror net api wire base",
    "sim": "control core port mirror api wire base",
    "cli": "kube net api wire base",
    "world": "base wire api core mirror port store net site server kube control gateway node sim cli",
}
# The arrows inside rooms: a folder, and the folders of its room that it may include. A room's own name is its files
# outside folders. Every folder may include the header that is called as the room, and a test (x_test.c, test/) all of
# its room. A folder that is not here has no arrows.
FOLDERS = {
    "api": "api/schema api/tables api/walk",
    "api/cel": "api/walk",
    "api/kinds": "api/schema api/tables api/walk",
    "api/manifests": "api api/kinds api/schema api/tables",
    "api/schema": "api/cel api/tables api/walk",
    "api/walk": "api/tables",
    "base/hash": "base",
    "cli": "cli/book cli/job cli/kit",
    "cli/book": "cli/job cli/kit",
    "cli/job": "cli/kit",
    "control": "control/berths control/book control/hold control/kit control/kube control/load control/queue control/see "
               "control/series control/admit",
    "control/admit": "control/book control/kit control/load control/series",
    "control/berths": "control/book control/kit control/load control/queue",
    "control/book": "control/kit control/load",
    "control/hold": "control/kit control/load",
    "control/kube": "control/kit control/load",
    "control/load": "control/kit",
    "control/queue": "control/kit control/load",
    "control/see": "control/kit control/load control/queue",
    "control/series": "control/book control/kit",
    "core/admit": "core/place core/quota",
    "core/booking": "core/calendar",
    "core/place": "core/quota",
    "core/whatif": "core/admit core/place core/quota",
    "mirror/memory": "mirror",
    "node": "node/files node/gpu node/pods node/sandbox",
    "node/gpu": "node/files",
    "node/pods": "node/files node/gpu node/sandbox",
    "node/sandbox": "node/files",
    "server": "server/kit server/read server/write server/computed server/auth",
    "server/auth": "server/kit",
    "server/computed": "server/kit server/write",
    "server/read": "server/kit",
    "server/write": "server/kit",
    "site/way": "site",
    "wire": "wire/json wire/text",
    "world": "world/kit world/up world/operate world/simulate",
    "world/operate": "world/kit world/up",
    "world/simulate": "world/kit",
    "world/up": "world/kit",
}
FOLDER_FILES = 40
# Third-party headers and the rooms that may use them; everyone else goes through that room.
THIRD = [
    (r"uv\.h|uv/", "net"),
    (r"llhttp\.h", "net"),
    (r"openssl/", "net"),
    (r"curl/", "net"),
    (r"sqlite3\.h", "store"),
    (r"yaml\.h", "wire"),
    (r"yyjson\.h", "wire"),
    (r"seccomp\.h|linux/landlock\.h|linux/seccomp\.h", "node"),
    (r"sodium\.h", "server"),
]
FILE_MAX, FUNCTION_MAX, COLUMNS, COMMENT_COLUMNS = 800, 70, 100, 120


class Tidy:
    def __init__(self, root):
        self.root, self.faults, self.files = root, [], 0

    def fault(self, path, line, text):
        self.faults.append(f"{os.path.relpath(path, self.root)}:{line}: {text}")

    def sources(self):
        for top in ("src", "tests", "bench", "fuzz", "stub"):
            for folder, _, names in os.walk(os.path.join(self.root, top)):
                for name in sorted(names):
                    if name.endswith((".c", ".h")):
                        yield os.path.join(folder, name)

    def run(self):
        for path in self.sources():
            self.files += 1
            with open(path, encoding="utf-8") as f:
                lines = f.read().split("\n")
            self.check_shape(path, lines)
            self.check_functions(path, lines)
            self.check_includes(path, lines)
        self.check_built()
        self.check_folders()

    def check_folders(self):
        """No folder holds too much, and the arrows between the folders of a room go round in no circle."""
        for folder, _, names in os.walk(os.path.join(self.root, "src")):
            n = sum(x.endswith((".c", ".h")) for x in names)
            if n > FOLDER_FILES:
                self.fault(folder, 1, f"{n} files in one folder; at most {FOLDER_FILES}: divide it by idea")
        for start in FOLDERS:
            seen, todo = set(), [start]
            while todo:
                for other in FOLDERS.get(todo.pop(), "").split():
                    if other == start:
                        self.fault(__file__, 1, f"the arrows of folder '{start}' go round in a circle")
                    if other not in seen:
                        seen.add(other)
                        todo.append(other)

    def check_shape(self, path, lines):
        if len(lines) - 1 > FILE_MAX:
            self.fault(path, len(lines), f"{len(lines) - 1} lines; at most {FILE_MAX}")
        if not lines[0].startswith("/*"):
            self.fault(path, 1, "the file does not open by saying what it is")
        for i, line in enumerate(lines, 1):
            comment = line.lstrip().startswith(("*", "/*", "//")) or "/*" in line
            width = len(line.expandtabs(8))
            if width > (COMMENT_COLUMNS if comment else COLUMNS):
                self.fault(path, i, f"{width} columns")
            if "\t" in line:
                self.fault(path, i, "a tab")
            if line != line.rstrip():
                self.fault(path, i, "blanks at the end")
        if path.endswith(".h") and not any(x.startswith("#ifndef BERTH_") for x in lines):
            self.fault(path, 1, "no include guard BERTH_...")

    def check_functions(self, path, lines):
        """A function body opens with a line that ends in '{' after a line at column 0 and closes with '}' at column 0."""
        start = None
        for i, line in enumerate(lines, 1):
            opens = line.endswith("{") and not line.startswith((" ", "}", "struct ", "enum ", "union ", "static const",
                                                                "const ", "typedef", "extern"))
            if start is None and opens and ("(" in line or ")" in line):
                start = i
            elif start is None and re.match(r"^(static |extern )?(const )?struct \w+ \*?\w+\(.*\{$", line):
                start = i
            elif line.startswith("}") and start is not None:
                if i - start + 1 > FUNCTION_MAX:
                    self.fault(path, start, f"a function of {i - start + 1} lines; at most {FUNCTION_MAX}")
                start = None

    def check_includes(self, path, lines):
        parts = os.path.relpath(path, self.root).split(os.sep)
        room = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        if room is None:
            return
        if room not in ROOMS:
            self.fault(path, 1, f"'{room}' is not a room of docs/architecture.md")
            return
        may = ROOMS[room].split() + [room]
        here = "/".join(parts[1:-1])
        is_test = path.endswith("_test.c") or parts[-2] == "test"
        for i, line in enumerate(lines, 1):
            m = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
            if not m:
                continue
            target = m.group(1)
            other = target.split("/")[0]
            if '"' in line and (other not in ROOMS or other not in may):
                self.fault(path, i, f"room '{room}' may not include \"{target}\"")
            there, name = os.path.split(target)
            if '"' in line and other == room and there != here and not is_test and target != f"{room}/{room}.h" \
                    and there not in FOLDERS.get(here, "").split():
                self.fault(path, i, f"folder '{here}' may not include \"{target}\"")
            for pattern, owner in THIRD:
                if "<" in line and re.match(pattern, target) and room != owner:
                    self.fault(path, i, f"<{target}> is only for room '{owner}'")

    def check_built(self):
        src = os.path.join(self.root, "src")
        for room in sorted(os.listdir(src)) if os.path.isdir(src) else []:
            build = os.path.join(src, room, "meson.build")
            if not os.path.exists(build):
                continue
            with open(build, encoding="utf-8") as f:
                text = f.read()
            for folder, _, names in os.walk(os.path.join(src, room)):
                for name in sorted(x for x in names if x.endswith(".c")):
                    entry = os.path.relpath(os.path.join(folder, name), os.path.join(src, room))
                    test = entry[:-7] if entry.endswith("_test.c") else None
                    if f"'{entry}'" not in text and not (test and f"'{test}'" in text):
                        self.fault(os.path.join(folder, name), 1, "is not built by its room's meson.build")


def self_test():
    """Each rule must bite on a file made to break it."""
    cases = {
        'src/core/a.c': ('/* a */\n#include "net/loop.h"\n', "may not include"),
        'src/wire/b.c': ("/* b */\n#include <uv.h>\n", "only for room"),
        'src/base/c.c': ("int x;\n", "does not open"),
        'src/base/d.h': ("/* d */\n", "no include guard"),
        'src/base/e.c': ("/* e */\nint f(void) {\n" + "    ;\n" * 70 + "}\n", "a function of"),
        'src/base/f.c': ("/* f */\n" + "\n" * 900, "at most 800"),
        'src/base/g.c': ("/* g */\nint " + "x" * 100 + ";\n", "columns"),
        'src/nowhere/h.c': ("/* h */\n", "not a room"),
        'src/control/kit/i.c': ('/* i */\n#include "control/queue/i.h"\n', "folder 'control/kit' may not include"),
        'src/core/new/j.c': ('/* j */\n#include "core/place/pool.h"\n', "folder 'core/new' may not include"),
    }
    bad = 0
    for path, (text, want) in cases.items():
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full))
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
            t = Tidy(root)
            t.run()
            if not any(want in x for x in t.faults):
                print(f"self-test: {path} was not caught ({want}): {t.faults}")
                bad += 1
    return bad


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("-")]
    if "--self-test" in sys.argv:
        bad = self_test()
        print("self-test:", "every rule bites" if bad == 0 else f"{bad} rules do not bite")
        return 1 if bad else 0
    root = args[0] if args else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    t = Tidy(root)
    t.run()
    for x in t.faults:
        print(x)
    print(f"tidy: {t.files} files, {len(t.faults)} faults")
    return 1 if t.faults else 0


sys.exit(main())
