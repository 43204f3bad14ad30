"""meter: the processor time of a group of processes, descendants and all, by the kernel's own count.

Where cpuacct (cgroup v1) or cgroup v2 can be written a group is made for the measured program, and what it starts is counted whether
or not anybody waits for it. Elsewhere (not root) there is none, and the benchmark says so.
"""
import os

V1, V2 = "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"


class Meter:
    def __init__(self, name):
        self.v2 = os.path.exists(os.path.join(V2, "cgroup.controllers"))
        self.folder = os.path.join(V2 if self.v2 else V1, f"berth-bench-{name}-{os.getpid()}")
        try:
            os.mkdir(self.folder)
        except OSError:
            self.folder = None

    def join(self):
        """In the child that is about to become the program."""
        if self.folder:
            with open(os.path.join(self.folder, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write("0")

    def seconds(self):
        """None: not measured here."""
        if self.folder is None:
            return None
        if not self.v2:
            with open(os.path.join(self.folder, "cpuacct.usage"), encoding="utf-8") as f:
                return int(f.read()) / 1e9
        # On v2 pods have a group of their own beside this one.
        used = 0
        for folder in (self.folder, os.path.join(V2, "berth")):
            if os.path.exists(os.path.join(folder, "cpu.stat")):
                with open(os.path.join(folder, "cpu.stat"), encoding="utf-8") as f:
                    used += int(dict(line.split() for line in f)["usage_usec"])
        return used / 1e6

    def close(self):
        try:
            os.rmdir(self.folder or "")
        except OSError:
            pass  # somebody is in it still
