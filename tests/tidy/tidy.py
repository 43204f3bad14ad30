#!/usr/bin/env python3
"""tidy: keeps the house in order. Reads every source file and fails on what docs/architecture.md does not allow.

Checked: the arrows between rooms and between the folders inside a room (who may #include whom), at most 40 files in a
folder, third-party headers only in their rooms, files of at most 800 lines, functions of at most 70, lines of at most 100
columns (120 in a comment), tabs, trailing blanks, an opening comment in every file, include guards, that every .c file of a
room is built, that no two structs share a name, that a function for other files has a name of two words or its file's, that
controllers write no JSON by hand, that a private header stays in its folder, joins few
files, is handed on by no header for others and includes none in a ring, that no include is kept in
front of others, that the files and functions which docs/glossary.md and docs/life-of-a-workload.md name exist, and that the
latter counts its files right.
Run: tests/tidy/tidy.py [ROOT]; --self-test checks that each rule bites.
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
    "cli": "core kube net api wire base",
    "world": "base wire api core mirror port store net site server kube control gateway node sim cli",
}
# The arrows inside rooms: a folder, and the folders of its room that it may include. A room's own name is its files
# outside folders. Every folder may include the header that is called as the room, and a test (x_test.c, test/) all of
# its room. A folder that is not here has no arrows.
FOLDERS = {
    "api": "api/schema api/tables api/walk",
    "api/cel": "api/tables api/walk",
    "api/extension": "api/kinds api/schema api/tables api/walk",
    "api/kinds": "api api/schema api/tables api/walk",
    "api/managed": "api/schema api/tables api/walk",
    "api/manifests": "api api/kinds api/schema api/tables",
    "api/models": "api/kinds api/schema api/tables api/walk",
    "api/network": "api/kinds api/schema api/tables api/walk",
    "api/openapi": "api/schema api/tables api/walk",
    "api/policies": "api/cel api/kinds api/schema api/tables api/walk",
    "api/protobuf": "api/schema api/tables api/walk",
    "api/scaling": "api/kinds api/schema api/tables api/walk",
    "api/schema": "api/cel api/tables api/walk",
    "api/serving": "api/kinds api/schema api/tables api/walk",
    "api/volumes": "api/kinds api/schema api/tables api/walk",
    "api/walk": "api/tables",
    "base/hash": "base",
    "cli": "cli/book cli/job cli/kit cli/model cli/serve cli/team",
    "cli/book": "cli/job cli/kit",
    "cli/job": "cli/kit",
    "cli/model": "cli/kit",
    "cli/serve": "cli/job cli/kit",
    "cli/team": "cli/kit",
    "control": "control/apps control/berths control/book control/hold control/kit control/kube control/load "
               "control/queue control/see control/series control/admit control/bounds control/cron control/net "
               "control/volumes control/scale control/serve",
    "control/apps": "control/kit control/load",
    "control/admit": "control/book control/kit control/load control/series",
    "control/berths": "control/book control/kit control/load control/queue",
    "control/book": "control/kit control/load",
    "control/bounds": "control/kit",
    "control/cron": "control/kit",
    "control/hold": "control/kit control/load",
    "control/kube": "control/kit control/load",
    "control/load": "control/kit",
    "control/net": "control/kit",
    "control/queue": "control/kit control/load control/volumes",
    "control/scale": "control/kit",
    "control/see": "control/kit control/load control/queue",
    "control/serve": "control/kit control/load",
    "control/series": "control/book control/kit",
    "control/volumes": "control/kit",
    "core/admit": "core/mig core/place core/queue core/quota",
    "core/booking": "core/calendar",
    "core/calendar": "core/mig",
    "core/place": "core/mig core/quota",
    "core/queue": "core/place core/quota",
    "core/scale": "core/formula",
    "core/whatif": "core/admit core/mig core/place core/queue core/quota",
    "gateway/see": "gateway",
    "mirror/memory": "mirror",
    "net/keys": "net",
    "net/peers": "net",
    "net/upgrade": "net",
    "node": "node/files node/gpu node/images node/life node/mounts node/pods node/sandbox node/net node/spec node/streams "
            "node/usage node/volumes node/weights",
    "node/gpu": "node/files",
    "node/images": "node/files",
    "node/mounts": "node/files",
    "node/net": "node/files",
    "node/pods": "node/files node/gpu node/images node/mounts node/sandbox node/net node/spec node/usage",
    "node/sandbox": "node/files node/life node/mounts",
    "node/spec": "node/files node/gpu node/images node/mounts node/sandbox node/weights",
    "node/streams": "node/files",
    "node/usage": "node/files node/sandbox",
    "node/volumes": "node/files node/sandbox",
    "node/weights": "node/files",
    "server": "server/certs server/flow server/kit server/policies server/managed server/read server/write server/computed server/convert server/auth server/talk",
    "server/auth": "server/kit",
    "server/certs": "server/kit server/write",
    "server/computed": "server/kit server/write",
    "server/convert": "server/kit server/write",
    "server/flow": "server/kit",
    "server/managed": "server/kit",
    "server/read": "server/flow server/kit",
    "server/talk": "server/kit",
    "server/policies": "server/kit",
    "server/write": "server/kit server/managed server/policies",
    "site": "site/oidc",
    "site/way": "site",
    "wire": "wire/json wire/text",
    "world": "world/gateway world/kit world/up world/operate world/simulate",
    "world/gateway": "world/kit",
    "world/operate": "world/kit world/up",
    "world/simulate": "world/kit",
    "world/up": "world/kit",
}
FOLDER_FILES = 40
# An interface: its header declares the struct, and each who implements it defines one.
INTERFACES = "timer virtual_call"
# Structs that share a name still. This list only gets shorter: an entry that is needless is a fault.
TWINS = "card node pod"
# A private header (x_private.h) is for the files of its folder, and joins at most so many of them. Here: those
# that join more, with their number, and those that are used outside their folder, with the folders. Numbers only fall.
# Of control, what has JSON as text: a hash that is Kueue's is of such a text.
JSON_BY_HAND = ("control/load/pod_role.c",)
PRIVATE = re.compile(r"_private\.h$")
# Names that say nothing of what is in the file.
NAMELESS = re.compile(r"_(int|more)\.[ch]$")
PRIVATE_FILES = 12
PRIVATE_MORE = {"control/queue/queue_private.h": 22}
PRIVATE_ABROAD = {
    "cli/book/book_private.h": "cli",
    "control/queue/queue_private.h": "control/see",
}
# Headers for others that include a private one, and so hand it on. The list only gets shorter.
PRIVATE_HANDED_ON = "control/series/calendar_body.h"
# Third-party headers and the rooms that may use them; everyone else goes through that room.
THIRD = [
    (r"uv\.h|uv/", "net"),
    (r"llhttp\.h", "net"),
    (r"nghttp2/", "net"),
    (r"openssl/", "net"),
    (r"curl/", "net"),
    (r"zlib\.h", "net"),
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
        self.structs, self.private = {}, {}

    def fault(self, path, line, text):
        self.faults.append(f"{os.path.relpath(path, self.root)}:{line}: {text}")

    def sources(self):
        for top in ("src", "tests", "bench", "fuzz", "stub"):
            for folder, below, names in os.walk(os.path.join(self.root, top)):
                below[:] = [d for d in below if d != "node_modules"]  # others' sources, fetched
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
            self.check_names(path, lines)
            self.check_json(path, lines)
        self.check_structs()
        self.check_private()
        self.check_pages()
        self.check_walk()
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
        if NAMELESS.search(path):
            self.fault(path, 1, "a name that does not say what is in the file: what files share is x_private.h")
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

    def is_production(self, path):
        """A file of src that is neither a test nor a world that tests share."""
        rel = os.path.relpath(path, self.root)
        return rel.startswith("src" + os.sep) and os.sep + "test" + os.sep not in rel and \
            not re.search(r"_(test|scene|fixture|bed)\.[ch]$", rel)

    def check_names(self, path, lines):
        """Notes the structs and private headers of a file; names of functions for others, and includes that must be first."""
        if not self.is_production(path):
            return
        stem = re.sub(r"_(private|int)$", "", os.path.basename(path)[:-2])
        for i, line in enumerate(lines, 1):
            m = re.match(r"(?:struct|union) (\w+) \{", line)
            if m:
                self.structs.setdefault(m.group(1), []).append((path, i))
            m = re.match(r'\s*#\s*include "(\w[^"]*_(?:private|int)\.h)"', line)
            if m:
                self.private.setdefault(m.group(1), []).append((path, i))
            if re.match(r"\s*#\s*include .*/\* first", line):
                self.fault(path, i, "an include that must be first: a header includes what it needs")
            m = re.match(r"(?!static |typedef |extern |return |else )[a-z][\w ]*[ *]([a-z]\w*)\(", line)
            if m and path.endswith(".h") and "_" not in m.group(1) and m.group(1) != stem:
                self.fault(path, i, f"function '{m.group(1)}' for other files: begin its name with the noun of its file")

    def check_json(self, path, lines):
        """Controllers write JSON with the typed writer alone: no literal of theirs opens an object."""
        rel = os.path.relpath(path, os.path.join(self.root, "src"))
        if not rel.startswith("control" + os.sep) or not self.is_production(path) or rel in JSON_BY_HAND:
            return
        for i, line in enumerate(lines, 1):
            if re.search(r'"[^"]*\{\\"', line):
                self.fault(path, i, "JSON by hand: write a view (api/schema/codec_encode.h, control/kit/edit.h)")

    def check_structs(self):
        for name, places in self.structs.items():
            if len(places) > 1 and name not in INTERFACES.split() + TWINS.split():
                for path, line in places:
                    self.fault(path, line, f"{len(places)} structs are called '{name}'")
        for name in TWINS.split() if os.path.exists(os.path.join(self.root, "src", "world")) else []:
            if len(self.structs.get(name, [])) < 2:
                self.fault(__file__, 1, f"struct '{name}' has no twin any more: take it from TWINS")

    def check_private(self):
        for header, places in self.private.items():
            folder = os.path.dirname(header)
            may = PRIVATE_ABROAD.get(header, "").split() + [folder]
            for path, line in places:
                if os.path.relpath(os.path.dirname(path), os.path.join(self.root, "src")) not in may:
                    self.fault(path, line, f"\"{header}\" is private to its folder")
            for path, line in places:
                rel = os.path.relpath(path, os.path.join(self.root, "src"))
                if rel.endswith(".h") and not PRIVATE.search(rel) and rel not in PRIVATE_HANDED_ON.split():
                    self.fault(path, line, f"\"{header}\" is private: a header for others hands it on to whoever includes it")
            self.check_ring(header)
            most = PRIVATE_MORE.get(header, PRIVATE_FILES)
            if len(places) > most:
                self.fault(places[-1][0], places[-1][1], f"\"{header}\" joins {len(places)} files; at most {most}")
            elif header in PRIVATE_MORE and len(places) < most:
                self.fault(__file__, 1, f"\"{header}\" joins {len(places)} files by now: lower its number")

    def check_ring(self, header):
        """Private headers that include one another are one header in pieces."""
        uses, seen, todo = {}, set(), [header]
        for other, places in self.private.items():
            for path, line in places:
                uses.setdefault(os.path.relpath(path, os.path.join(self.root, "src")), []).append((other, path, line))
        while todo:
            for other, path, line in uses.get(todo.pop(), []):
                if other == header:
                    self.fault(path, line, f"\"{header}\" includes itself by way of this one: a ring of private headers")
                elif other not in seen:
                    seen.add(other)
                    todo.append(other)

    def check_pages(self):
        """A row of a table in these pages names a file and, as `name()`, functions of it: both exist."""
        for page in ("glossary.md", "life-of-a-workload.md"):
            path = os.path.join(self.root, "docs", page)
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as f:
                lines = f.read().split("\n")
            for i, line in enumerate(lines, 1):
                for name in re.findall(r"`(src/[\w/.]+)`", line):
                    file = os.path.join(self.root, name)
                    if not os.path.isfile(file):
                        self.fault(path, i, f"there is no {name}")
                        continue
                    with open(file, encoding="utf-8") as f:
                        text = f.read()
                    for function in re.findall(r"`(\w+)\(\)`", line) if line.startswith("| `src/") else []:
                        if not re.search(rf"^[a-z][^\n;]*\b{function}\(", text, re.M):
                            self.fault(path, i, f"{name} has no function {function}")

    def check_walk(self):
        """The page that walks a Job says how many files it enters."""
        path = os.path.join(self.root, "docs", "life-of-a-workload.md")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            said = re.search(r"The walk enters (\d+) files", text)
            files = set(re.findall(r"`(src/[\w/.]+)`", text))
            if said and int(said.group(1)) != len(files):
                self.fault(path, 1, f"the walk enters {len(files)} files, not {said.group(1)}")

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
        'src/base/k.c': ("/* k */\nstruct twin {\n};\nstruct twin {\n};\n", "structs are called 'twin'"),
        'src/base/g_more.c': ("/* g_more */\n", "does not say what is in the file"),
        'src/base/l.h': ("/* l */\n#ifndef BERTH_L\nbool gives(const struct l *l);\n", "function 'gives' for other files"),
        'docs/glossary.md': ("| base | x | `src/base/none.c` |\n", "there is no src/base/none.c"),
        'docs/life-of-a-workload.md': ("| `src/base/known.c` | `none()` |\nThe walk enters 7 files\n",
                                       "src/base/known.c has no function none", "the walk enters 1 files, not 7"),
        'src/control/kit/j.c': ('/* j */\nconst char *b = "{\\"spec\\":1}";\n', "JSON by hand"),
        'src/base/m.c': ('/* m */\n#include "base/err.h" /* first */\n', "must be first"),
        'src/core/new/n.c': ('/* n */\n#include "core/place/seat_private.h"\n', "is private to its folder"),
        'src/core/place/o.c': ("/* o */\n" + '#include "core/place/seat_private.h"\n' * 13, "joins 13 files"),
        'src/core/place/p.h': ('/* p */\n#ifndef BERTH_P\n#include "core/place/seat_private.h"\n', "hands it on"),
        'src/core/place/a_private.h': ('/* a */\n#ifndef BERTH_A\n#include "core/place/a_private.h"\n', "a ring of private"),
        'src/core/new/j.c': ('/* j */\n#include "core/place/pool.h"\n', "folder 'core/new' may not include"),
    }
    bad = 0
    for path, (text, *wants) in cases.items():
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full))
            os.makedirs(os.path.join(root, "src", "base"), exist_ok=True)
            with open(os.path.join(root, "src", "base", "known.c"), "w", encoding="utf-8") as f:
                f.write("/* known */\n")
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
            t = Tidy(root)
            t.run()
            for want in wants:
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
