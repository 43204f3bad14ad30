#!/usr/bin/env python3
"""specs: what Kueue's integration specs of its scheduler describe, told to a running Berth.   specs.py BERTH [NAME...]

README.md has which spec is where. One Berth for each Configuration that specs need; the specs of one Berth run beside one
another, each under names of its own. Prints a line a spec that fails and closes with "N passed, N failed".
"""
import concurrent.futures
import json
import os
import sys
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import spec_checks
import spec_fair
import spec_preemption
import spec_ready
import spec_scheduler
from harness import Berth
from scene import Scene, World

AT_ONCE = 8
MODULES = (spec_scheduler, spec_checks, spec_preemption, spec_fair, spec_ready)


class Program(Berth):
    """Without kubectl: the API alone."""

    def kubectl(self, *args, stdin=None, ok=True, retry=0):
        return ""


def specs_of(configuration, only):
    return [(name[5:].replace("_", "-"), f) for m in MODULES for name, f in sorted(vars(m).items())
            if name.startswith("spec_") and callable(f) and getattr(f, "configuration", {}) == configuration
            and (not only or name[5:].replace("_", "-") in only)]


def one(world, number, name, spec):
    scene = Scene(world, f"s{number}-{name[:30].strip('-')}")
    try:
        spec(scene)
        return None
    except Exception:  # pylint: disable=broad-except
        return traceback.format_exc(limit=-3)
    finally:
        scene.close()


def run(program, configuration, only, numbers):
    specs = specs_of(configuration, only)
    if not specs:
        return 0, 0
    berth = Program(program, "", gpus="none", args=["--no-node"])
    path = os.path.join(berth.root, "configuration.json")
    if configuration:
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **configuration}, f)
        berth.args += ["--config", path]
    failed = 0
    with berth:
        world = World(os.path.join(berth.data, "kubeconfig"))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = {pool.submit(one, world, next(numbers), name, f): name for name, f in specs}
            for job in concurrent.futures.as_completed(jobs):
                if job.result():
                    failed += 1
                    print(f"FAILED {jobs[job]}\n{job.result()}", flush=True)
        world.over = True
    return len(specs) - failed, failed


def main():
    program, only = sys.argv[1], set(sys.argv[2:])
    configurations = []
    for m in MODULES:
        for f in vars(m).values():
            c = getattr(f, "configuration", {}) if callable(f) and getattr(f, "__name__", "").startswith("spec_") else None
            if c is not None and c not in configurations:
                configurations.append(c)
    numbers = iter(range(1000))
    lock, total = threading.Lock(), [0, 0]

    def each(c):
        passed, failed = run(program, c, only, numbers)
        with lock:
            total[0] += passed
            total[1] += failed

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(each, configurations))
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
