"""inside: what a hostile pod tries; every line of output that begins with ESCAPED is a hole.

argv: JSON with data (Berth's data folder), pids ({name: pid}), other_pod (its uid) and root (does Berth run as root?)."""
import ctypes
import errno
import json
import os
import signal
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
SPEC = json.loads(sys.argv[1])


def attempt(name, action):
    """An action that returns something true has escaped."""
    try:
        got = action()
    except (OSError, ValueError) as e:
        got = None
        print(f"held {name}: {e}")
    if got:
        print(f"ESCAPED {name}: {str(got)[:200]}")


def call(number, *args):
    """A system call that was not refused: its wrong arguments may well have made it fail later."""
    got = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    code = ctypes.get_errno()
    return None if got == -1 and code in (errno.EPERM, errno.EACCES, errno.ENOSYS) else f"{got}, errno {code}"


def read(path):
    with open(path, "rb") as f:
        return f.read(64) or "empty"


def write(path):
    with open(path, "wb") as f:
        f.write(b"x")
    return path


def files():
    data = SPEC["data"]
    # Where pods have mounts of their own, the way to the pod's own folder is all that is there.
    attempt("list data folder", lambda: set(os.listdir(data)) - {"pods"})
    for name in ("berth.db", "kubeconfig", "node.kubeconfig", "audit.log", "pki/admin.key", "pki/sa.key", "pki/ca.key",
                 "node/users.json"):
        attempt("read " + name, lambda name=name: read(os.path.join(data, name)))
    attempt("list pods", lambda: set(os.listdir(os.path.join(data, "pods"))) - {os.environ["POD_UID"]})
    for sub in ("", "root", "root/tmp", "root/work", "log/main/0.log", "spec.json", "volumes"):
        path = os.path.join(data, "pods", SPEC["other_pod"], sub)
        attempt("read other pod's " + sub, lambda path=path: os.listdir(path) if os.path.isdir(path) else read(path))
    attempt("own log", lambda: read(os.path.join(data, "pods", os.environ["POD_UID"], "log/main/0.log")))
    for place in ("/etc/berth-escape", "/var/tmp/berth-escape", "/run/berth-escape", "/berth-escape"):
        attempt("write " + place, lambda place=place: write(place))
    try:  # its own, or refused: the test looks whether it is the machine's
        write("/tmp/berth-escape")
    except OSError:
        pass
    attempt("admin socket", lambda: socket.socket(socket.AF_UNIX).connect(os.path.join(data, "admin.sock")) is None)


def processes():
    for name, pid in SPEC["pids"].items():
        attempt(f"signal {name}", lambda pid=pid: os.kill(pid, 0) is None)
        for what in ("environ", "mem", "maps", "root/etc/passwd", "cwd/.", "fd"):
            path = f"/proc/{pid}/{what}"
            attempt(f"{what} of {name}", lambda path=path: os.listdir(path) if os.path.isdir(path) else read(path))
        attempt(f"ptrace {name}", lambda pid=pid: call(101, 16, pid, 0, 0))
        attempt(f"pidfd_getfd {name}", lambda pid=pid: call(438, os.pidfd_open(pid), 1, 0))
    attempt("signal everybody", lambda: os.kill(-1, 0) is None and SPEC["pids"] and
            any(os.kill(pid, 0) is None for pid in SPEC["pids"].values()))


def privileges():
    with open("/proc/self/status", encoding="utf-8") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    attempt("no_new_privs", lambda: status["NoNewPrivs"] != "1")
    attempt("seccomp", lambda: status["Seccomp"] != "2")
    for caps in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
        attempt(caps, lambda caps=caps: int(status[caps], 16) and (caps != "CapBnd" or SPEC["root"]) and status[caps])
    if SPEC["root"]:
        attempt("user id", lambda: 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()) and "root")
        attempt("groups", lambda: [g for g in os.getgroups() if g != os.getgid()])
        attempt("setuid", lambda: os.setuid(0) is None)
    attempt("chroot", lambda: os.chroot("/") is None)
    numbers = {"mount": (165, 0, 0, 0, 0, 0), "unshare user": (272, 0x10000000), "bpf": (321, 0, 0, 0),
               "keyctl": (250, 0, 0, 0, 0, 0), "io_uring_setup": (425, 1, 0), "userfaultfd": (323, 0),
               "perf_event_open": (298, 0, 0, 0, 0, 0), "init_module": (175, 0, 0, 0), "setns": (308, 0, 0),
               "open_by_handle_at": (304, 0, 0, 0), "kexec_load": (246, 0, 0, 0, 0), "pivot_root": (155, 0, 0),
               "fsopen": (430, 0, 0), "process_vm_readv": (310, SPEC["pids"]["up"], 0, 0, 0, 0)}
    for name, args in numbers.items():
        attempt(name, lambda args=args: call(*args))


def inherited():
    attempt("environment", lambda: [k for k in os.environ if k.startswith("BERTH_TEST") or k == "KUBECONFIG" or
                                    k.startswith("LD_") or "TOKEN" in k])
    open_fds = [int(f) for f in os.listdir("/proc/self/fd")]
    attempt("descriptors", lambda: [os.readlink(f"/proc/self/fd/{f}") for f in open_fds if f > 2 and
                                    os.path.lexists(f"/proc/self/fd/{f}")])


def main():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    files()
    privileges()
    inherited()
    processes()
    print("tried everything")


main()
