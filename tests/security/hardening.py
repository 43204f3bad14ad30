"""hardening: what the compiler and the linker were to put into the binary, read with readelf."""
import subprocess
import sys


def read(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def main(program):
    head, segments, dynamic = read("-h", program), read("-l", program), read("-d", program)
    symbols, notes = read("--dyn-syms", program), read("-n", program)
    stack = next((line for line in segments.splitlines() if "GNU_STACK" in line), "")
    checks = {
        "position-independent (PIE)": "DYN" in head and "PIE" in dynamic,
        "no executable stack (NX)": stack and "RWE" not in stack,
        "read-only relocations (RELRO)": "GNU_RELRO" in segments,
        "all bound at start (BIND_NOW)": "BIND_NOW" in dynamic or "NOW" in dynamic,
        "stack canaries": "__stack_chk_fail" in symbols,
        "checked copies (FORTIFY)": "_chk@" in symbols,
        "no writable and executable segment": not any("RWE" in line for line in segments.splitlines()),
        "no search path for libraries of its own": "RPATH" not in dynamic,
    }
    if "X86-64" in head:
        # Debian's crt1.o has no CET property, so the linker leaves the note out; the landing pads are there all the same.
        with open(program, "rb") as f:
            pads = f.read().count(b"\xf3\x0f\x1e\xfa")
        checks["landing pads of control-flow protection"] = pads > 500 or ("IBT" in notes and "SHSTK" in notes)
    bad = [name for name, good in checks.items() if not good]
    for name in bad:
        print(f"hardening: {program}: missing: {name}")
    if not bad:
        print(f"hardening: {len(checks)} properties hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
