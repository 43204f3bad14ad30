"""crossings: every way from one pod into another or into the machine that is tried, as one table.

Run inside a pod as `python3 -c <this text>`, with what it aims at in the environment: VICTIM_PID (the machine's number of a
neighbour's process), VICTIM_DIR (its folder), VICTIM_PORT (where it
listens on its loopback), API_PORT (where Berth listens on the machine's), DATA (Berth's data folder), MARK (a word that names what the neighbour has made).
Each row is a function that raises OSError or Refused when it was stopped; when it returns, it crossed. Prints one line a row:
"name refused why" or "name CROSSED".
"""
import ctypes
import errno
import os
import signal
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
PID = int(os.environ.get("VICTIM_PID", "1"))
VICTIM, DATA, MARK = (os.environ.get(x, "") for x in ("VICTIM_DIR", "DATA", "MARK"))
HERE = os.getcwd()
TABLE = []
X86 = {"process_vm_readv": 310, "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308,
       "unshare": 272, "bpf": 321, "perf_event_open": 298, "keyctl": 250, "userfaultfd": 323, "open_by_handle_at": 304,
       "io_uring_setup": 425, "sethostname": 170, "init_module": 175, "kexec_load": 246, "reboot": 169, "clone": 56,
       "shmget": 29, "shmat": 30, "msgget": 68, "mq_open": 240, "open_tree": 428, "move_mount": 429, "pidfd_open": 434,
       "pidfd_getfd": 438, "settimeofday": 164, "swapon": 167, "acct": 163}
ARM = {"process_vm_readv": 270, "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "setns": 268,
       "unshare": 97, "bpf": 280, "perf_event_open": 241, "keyctl": 219, "userfaultfd": 282, "open_by_handle_at": 265,
       "io_uring_setup": 425, "sethostname": 161, "init_module": 105, "kexec_load": 104, "reboot": 142, "clone": 220,
       "shmget": 194, "shmat": 196, "msgget": 186, "mq_open": 180, "open_tree": 428, "move_mount": 429, "pidfd_open": 434,
       "pidfd_getfd": 438, "settimeofday": 170, "swapon": 224, "acct": 89}
NUMBERS = ARM if os.uname().machine == "aarch64" else X86


class Refused(Exception):
    pass


def crossing(f):
    TABLE.append((f.__name__, f))
    return f


def call(name, *args):
    r = libc.syscall(ctypes.c_long(NUMBERS[name]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if r == -1:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


def must(condition, why):
    if not condition:
        raise Refused(why)


# ---- a neighbour's processes ----

@crossing
def sees_process(): os.stat(f"/proc/{PID}/cmdline"); must(MARK in open(f"/proc/{PID}/cmdline").read(), "another process")
@crossing
def signals_process(): sees_process(); os.kill(PID, 0)
@crossing
def reads_environment(): sees_process(); must(open(f"/proc/{PID}/environ", "rb").read(), "empty")
@crossing
def opens_memory(): sees_process(); os.close(os.open(f"/proc/{PID}/mem", os.O_RDWR))
@crossing
def opens_root(): sees_process(); os.listdir(f"/proc/{PID}/root/")
@crossing
def opens_descriptors(): sees_process(); os.listdir(f"/proc/{PID}/fd"); os.readlink(f"/proc/{PID}/fd/0")
@crossing
def reads_by_vm_readv():
    sees_process()
    start = int(open(f"/proc/{PID}/maps").readline().split("-")[0], 16)
    buf = ctypes.create_string_buffer(16)
    here, there = (struct.pack("QQ", a, 16) for a in (ctypes.addressof(buf), start))
    call("process_vm_readv", PID, here, 1, there, 1, 0)
@crossing
def traces():
    sees_process()
    call("ptrace", 0x4206, PID, 0, 0)  # SEIZE
    call("ptrace", 0x4207, PID, 0, 0)  # INTERRUPT
    os.waitpid(PID, 0x40000000)
    call("ptrace", 17, PID, 0, 0)  # DETACH
@crossing
def takes_descriptor(): sees_process(); call("pidfd_getfd", call("pidfd_open", PID, 0), 0, 0)
@crossing
def enters_namespaces(): call("setns", os.open(f"/proc/{PID}/ns/mnt", os.O_RDONLY), 0)
@crossing
def sees_strangers():
    pids = [p for p in os.listdir("/proc") if p.isdigit()]
    must(len(pids) > 12, f"{len(pids)} processes")

# ---- a neighbour's memory, sockets and queues ----

@crossing
def reads_shared_memory(): open(f"/dev/shm/{MARK}").read()
@crossing
def attaches_system_v_memory(): call("shmget", 0x0BE27, 4096, 0)
@crossing
def opens_system_v_queue(): call("msgget", 0x0BE28, 0)
@crossing
def opens_posix_queue(): call("mq_open", MARK.encode(), os.O_RDWR, 0, None)
@crossing
def connects_abstract_socket(): socket.socket(socket.AF_UNIX).connect("\0" + MARK)
@crossing
def connects_loopback(): socket.create_connection(("127.0.0.1", int(os.environ["VICTIM_PORT"])), 2)
@crossing
def connects_to_the_machine(): socket.create_connection(("127.0.0.1", int(os.environ["API_PORT"])), 2)
@crossing
def connects_socket(): os.chdir(VICTIM + "/root/work"); socket.socket(socket.AF_UNIX).connect("s")
@crossing
def finds_sockets_of_the_machine():
    found = [d for d in ("/run/dbus/system_bus_socket", "/run/docker.sock", "/run/podman/podman.sock", f"/run/{MARK}.sock")
             if os.path.exists(d)]
    must(found, "none is there")

# ---- files ----

@crossing
def reads_files(): open(VICTIM + "/root/work/secret").read()
@crossing
def reads_volume(): open(VICTIM + "/root/volumes/v/secret").read()
@crossing
def reads_spec(): open(VICTIM + "/spec.json").read()
@crossing
def reads_log(): os.listdir(VICTIM + "/log")
@crossing
def writes_files(): os.close(os.open(VICTIM + "/root/work/new", os.O_CREAT | os.O_WRONLY))
@crossing
def lists_pods(): must(len(os.listdir(DATA + "/pods")) > 1, "only its own")
@crossing
def reads_kubeconfig(): open(DATA + "/kubeconfig").read()
@crossing
def reads_node_kubeconfig(): open(DATA + "/node.kubeconfig").read()
@crossing
def reads_database(): open(DATA + "/berth.db", "rb").read(1)
@crossing
def reads_keys(): os.listdir(DATA + "/pki")
@crossing
def reads_own_spec(): open(os.environ["OWN_DIR"] + "/spec.json").read()
@crossing
def talks_to_its_shim(): os.stat(os.environ["OWN_DIR"] + "/lock")
@crossing
def reads_temporary_files(): open(f"/tmp/{MARK}").read()
@crossing
def writes_system(): os.close(os.open(f"/usr/{MARK}", os.O_CREAT | os.O_WRONLY))
@crossing
def writes_etc(): os.close(os.open(f"/etc/{MARK}", os.O_CREAT | os.O_WRONLY))
@crossing
def writes_root(): os.close(os.open(f"/{MARK}", os.O_CREAT | os.O_WRONLY))
@crossing
def writes_kernel_settings(): os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
@crossing
def writes_drop_caches(): os.close(os.open("/proc/sys/vm/drop_caches", os.O_WRONLY))
@crossing
def leaves_its_cgroup():
    for top, _, names in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in names and os.access(top + "/cgroup.procs", os.W_OK):
            return
    raise Refused("no cgroup.procs that can be written")

# ---- devices ----

@crossing
def opens_neighbours_gpu(): os.close(os.open(f"/dev/nvidia-{MARK}", os.O_RDWR))
@crossing
def makes_device(): os.mknod(HERE + "/gpu", 0o20666, os.makedev(1, 3)); os.close(os.open(HERE + "/gpu", os.O_RDWR))
@crossing
def makes_device_in_dev(): os.mknod(f"/dev/{MARK}", 0o20666, os.makedev(1, 3)); os.close(os.open(f"/dev/{MARK}", os.O_RDWR))
@crossing
def finds_devices():
    plain = "core fd full mqueue null ptmx pts random shm stderr stdin stdout termination-log tty urandom zero console".split()
    more = sorted(set(os.listdir("/dev")) - set(plain))
    must(more, "only what every process has")
@crossing
def opens_kernel_log(): os.close(os.open("/dev/kmsg", os.O_RDONLY))

# ---- the kernel ----

@crossing
def mounts(): call("mount", b"tmpfs", HERE.encode(), b"tmpfs", 0, None)
@crossing
def clones_mounts(): call("open_tree", -100, b"/", 1)
@crossing
def changes_root(): call("chroot", HERE.encode())
@crossing
def makes_user_namespace(): call("unshare", 0x10000000)
@crossing
def makes_mount_namespace(): call("unshare", 0x20000)
@crossing
def opens_by_handle(): call("open_by_handle_at", -100, struct.pack("Ii8s", 8, 1, b"\2\0\0\0\0\0\0\0"), 0)
@crossing
def loads_bpf(): call("bpf", 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(100), 72)
@crossing
def uses_io_uring(): call("io_uring_setup", 1, bytes(120))
@crossing
def uses_userfaultfd(): call("userfaultfd", 0)
@crossing
def uses_keys(): call("keyctl", 0, -3, 1)
@crossing
def becomes_root():
    os.setresuid(0, 0, 0)
    os.close(os.open("/etc/shadow", os.O_RDONLY))
@crossing
def names_machine(): call("sethostname", os.uname().nodename.encode(), len(os.uname().nodename))
@crossing
def has_rights():
    s = open("/proc/self/status").read()
    must(any(int(x.split()[1], 16) for x in s.split("\n") if x.startswith(("CapEff", "CapPrm", "CapBnd"))), "no capability")
@crossing
def has_ids_of_others():
    ids = sum(int(x.split()[2]) for x in open("/proc/self/uid_map").read().split("\n") if x)
    must(ids > 1, "a user namespace in which there is one user")
@crossing
def may_gain_rights(): must("NoNewPrivs:\t0" in open("/proc/self/status").read(), "no_new_privs")
@crossing
def unmounts(): call("umount2", b"/proc", 2)  # the last: the bare machine's other rows need it


def main():
    chosen = os.environ.get("ONLY", "").split()
    for name, f in TABLE:
        if chosen and name not in chosen:
            continue
        pid = os.fork()  # one that changes its own world changes nothing for the next
        if pid == 0:
            try:
                f()
                line = f"{name} CROSSED"
            except (OSError, Refused, ValueError, KeyError) as e:
                line = f"{name} refused {errno.errorcode.get(getattr(e, 'errno', 0) or 0, e)}"
            os.write(1, (line + "\n").encode())
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            print(f"{name} refused by {signal.Signals(status & 127).name}", flush=True)


main()
