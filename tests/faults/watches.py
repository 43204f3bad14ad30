#!/usr/bin/env python3
"""watches: what a watch and a list by pages promise, against random writes through the real program.   watches.py BERTH

200 watchers, fast, slow and resuming, with and without selectors, one namespace or all, JSON and Table: each sees every
change of its selection once, in order, with the right transition; in the end it knows what the server lists.
"""
import http.client
import json
import random
import sys
import threading
import time
import urllib.parse

from client import CONFIGMAPS, MERGE, Mortal, Watch, check, context, run_tests, wait_for

ALL = "/api/v1/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
WATCHERS, WRITERS, WRITES = 200, 3, 400


def value_of(obj):
    """(namespace/name, revision, what is compared) of an object or of a Table of one row."""
    if obj["kind"] == "Table":
        obj = obj["rows"][0]["object"]
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}", int(meta["resourceVersion"]), json.dumps(meta, sort_keys=True)


class Follower:
    """A client's reflector on one selection: lists, watches, resumes, lists again on 410."""

    def __init__(self, b, ctx, index):
        rnd = random.Random(index)
        self.b, self.ctx, self.random = b, ctx, rnd
        self.base = rnd.choice([ALL, CONFIGMAPS])
        self.query = rnd.choice(["", "", "labelSelector=color%3Dred", "labelSelector=color+in+(red,blue),!gone",
                                 "fieldSelector=metadata.name%3Dw0-3"])
        self.accept = TABLE if index % 4 == 0 else "application/json"
        self.slow, self.resumes = index % 10 == 1, index % 5 == 2
        self.state, self.rv, self.watch, self.events, self.lists, self.bookmarks = {}, 0, None, 0, 0, 0

    def list(self, api):
        path = f"{self.base}?{self.query}"
        code, got = api("GET", path, accept=self.accept)
        check(code == 200, f"{path}: {code}")
        rows = got["rows"] if self.accept == TABLE else got["items"]
        items = [r["object"] if self.accept == TABLE else dict(r, kind="ConfigMap") for r in rows]
        self.rv = int(got["metadata"]["resourceVersion"])
        self.lists += 1
        return {k: (rv, text) for k, rv, text in map(value_of, items)}

    def open(self):
        self.watch = Watch(self.ctx, self.b.port, f"{self.base}?{self.query}&watch=1&resourceVersion={self.rv}"
                           f"&allowWatchBookmarks=true&timeoutSeconds={self.random.choice([3, 5, 60])}",
                           seconds=20, accept=self.accept, small=self.slow)

    def take(self, event):
        """One event; checks its order and its transition. False: list again."""
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            check(obj["code"] == 410 and obj["reason"] == "Expired", f"{obj}")
            return False
        if kind == "BOOKMARK":
            rv = int(obj["metadata"]["resourceVersion"])
            check(rv >= self.rv, f"a bookmark back from {self.rv} to {rv}")
            self.rv, self.bookmarks = rv, self.bookmarks + 1
            return True
        key, rv, text = value_of(obj)
        check(rv > self.rv, f"{kind} {key} at {rv} after {self.rv}: {self.query}")
        check((kind == "ADDED") == (key not in self.state), f"{kind} {key} at {rv}: known {key in self.state}: {self.query}")
        if kind == "DELETED":
            del self.state[key]
        else:
            self.state[key] = (rv, text)
        self.rv, self.events = rv, self.events + 1
        return True


def follow(follower, until, errors):
    """One follower's life; until() gives the revision at which it may stop, or 0."""
    api = follower.b.api()
    try:
        follower.state = follower.list(api)
        follower.open()
        while not until() or follower.rv < until():
            event = follower.watch.next()
            if event is None:  # its time is over, or it was cut: from where it was
                follower.watch.close()
                follower.open()
            elif not follower.take(event):
                follower.watch.close()
                follower.state = follower.list(api)
                follower.open()
            elif follower.slow and follower.events % 50 == 0:
                time.sleep(0.2)
            elif follower.resumes and follower.random.random() < 0.02:
                follower.watch.close()
                follower.open()
        follower.watch.close()
    except Exception as e:  # told to the main thread
        errors.append(f"{type(e).__name__}: {e}")
    finally:
        api.close()


def change(api, index, rnd):
    """One random write of this writer."""
    ns = rnd.choice(["default", "other"])
    name = f"w{index}-{rnd.randrange(12)}"
    path = f"/api/v1/namespaces/{ns}/configmaps"
    labels = {"color": rnd.choice(["red", "blue", "green"]), "gone": rnd.choice([None, None, "yes"])}
    kind = rnd.random()
    if kind < 0.15:
        code, _ = api("DELETE", f"{path}/{name}")
    else:
        code, _ = api("PATCH", f"{path}/{name}", {"metadata": {"labels": labels}, "data": {"v": str(kind)}}, MERGE)
    if code == 404:
        code, _ = api("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": "0"},
                                     "metadata": {"name": name, "labels": {"color": labels["color"]}}})
    check(code in (200, 201), f"{code}")


def write_all(b, index, stop, counts, errors):
    api, rnd = b.api(), random.Random(1000 + index)
    try:
        while not stop.is_set():
            change(api, index, rnd)
            counts[index] += 1
            time.sleep(0.01)
    except Exception as e:  # told to the main thread
        errors.append(str(e))


def test_followers():
    with Mortal(sys.argv[1], None, gpus="none") as b:
        api, ctx, errors, stop, end = b.api(), context(b.data), [], threading.Event(), [0]
        api.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        counts = [0] * WRITERS
        followers = [Follower(b, ctx, i) for i in range(WATCHERS)]
        threads = [threading.Thread(target=write_all, args=(b, i, stop, counts, errors), daemon=True)
                   for i in range(WRITERS)]
        threads += [threading.Thread(target=follow, args=(f, lambda: end[0], errors), daemon=True) for f in followers]
        for t in threads:
            t.start()
        wait_for("enough writes", lambda: sum(counts) >= WRITES or errors, 60)
        stop.set()
        for t in threads[:WRITERS]:
            t.join(20)
        last = None
        for name in ("w0-3", "z"):  # every selection but a name's sees the last one
            for ns in ("other", "default"):
                path = f"/api/v1/namespaces/{ns}/configmaps"
                api("DELETE", f"{path}/{name}")
                last = api.ok("POST", path, {"apiVersion": "v1", "kind": "ConfigMap",
                                             "metadata": {"name": name, "labels": {"color": "red"}}})
                if name == "w0-3":
                    named = int(last["metadata"]["resourceVersion"])
        end[0] = named
        for t in threads[WRITERS:]:
            t.join(40)
        check(not errors, f"{len(errors)} failed: {errors[:3]}")
        check(not any(t.is_alive() for t in threads), "a watcher never saw the last change")
        for f in followers:
            want = {k: v for k, v in f.list(api).items() if not k.endswith("/z")}
            have = {k: v for k, v in f.state.items() if not k.endswith("/z")}
            check(have == want, f"{f.base} {f.query} {f.accept}: {set(have.items()) ^ set(want.items())}")
        b.stop()
        return f"({sum(counts)} writes, {sum(f.events for f in followers)} events, {sum(f.bookmarks for f in followers)} bookmarks)"


def memory_of(b):
    with open(f"/proc/{b.process.pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096 >> 20


def test_deaf():
    """200 watchers that read nothing, and 100 changes of 100 KB: what they miss is held once. One who reads sees all."""
    with Mortal(sys.argv[1], None, gpus="none") as b:
        api, ctx = b.api(), context(b.data)
        made = api.ok("POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}})
        since = made["metadata"]["resourceVersion"]
        path = f"{CONFIGMAPS}?watch=1&resourceVersion={since}&fieldSelector=metadata.name%3Dbig&timeoutSeconds=120"
        deaf = [Watch(ctx, b.port, path, seconds=60, small=True) for _ in range(200)]
        reader = Watch(ctx, b.port, path, seconds=60)
        before, seen = memory_of(b), 0
        for i in range(100):
            api.ok("PATCH", f"{CONFIGMAPS}/big", {"data": {"v": f"{i}" + "x" * 100_000}}, MERGE)
            event = reader.next()
            check(event and event["object"]["data"]["v"].startswith(f"{i}x"), f"change {i} was not seen")
            seen += 1
        after = memory_of(b)
        check(after - before < 250, f"memory went from {before} to {after} MiB")
        late = deaf[7].next()  # what it missed is told now, in order, or that it is gone
        check(late and (late["type"] == "MODIFIED" or late["object"].get("code") == 410), f"{late}")
        for w in deaf + [reader]:
            w.close()
        b.stop()
        return f"({seen} changes; memory from {before} to {after} MiB)"


def test_window():
    """410 exactly when history no longer reaches back; a revision to come is waited for; pages of an old list."""
    with Mortal(sys.argv[1], None, gpus="none") as b:
        api, ctx = b.api(), context(b.data)
        for i in range(30):
            api.ok("POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"p{i:02}"}})
        page = api.ok("GET", f"{CONFIGMAPS}?limit=10")
        first = [x["metadata"]["name"] for x in page["items"]]
        snapshot = page["metadata"]["resourceVersion"]
        for i in range(0, 30, 3):
            api.ok("DELETE", f"{CONFIGMAPS}/p{i:02}")
            api.ok("POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"p{i:02}new"}})
        names, token = list(first), page["metadata"]["continue"]
        while token:
            page = api.ok("GET", f"{CONFIGMAPS}?limit=7&continue={urllib.parse.quote(token)}")
            check(page["metadata"]["resourceVersion"] == snapshot, "a page of another snapshot")
            names += [x["metadata"]["name"] for x in page["items"]]
            token = page["metadata"].get("continue")
        want = ["kube-root-ca.crt"] + [f"p{i:02}" for i in range(30)]
        check([n for n in names if n != want[0]] == want[1:], f"pages: {names}")
        page = api.ok("GET", f"{CONFIGMAPS}?limit=10")
        now = int(page["metadata"]["resourceVersion"])
        future = Watch(ctx, b.port, f"{CONFIGMAPS}?watch=1&resourceVersion={now + 3}&timeoutSeconds=10")
        made = [api.ok("POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"x{i}"}})
                for i in range(6)]
        revisions = [int(m["metadata"]["resourceVersion"]) for m in made]
        event = future.next()
        check(event and int(event["object"]["metadata"]["resourceVersion"]) == min(r for r in revisions if r > now + 3),
              f"a watch from the future: {event}")
        future.close()
        b.kill()
        b.up()
        api = b.api()
        code, got = api("GET", f"{CONFIGMAPS}?limit=10&continue={urllib.parse.quote(page['metadata']['continue'])}")
        check(code == 410 and got["reason"] == "Expired" and got["metadata"]["continue"], f"an old token: {code} {got}")
        code, rest = api("GET", f"{CONFIGMAPS}?continue={urllib.parse.quote(got['metadata']['continue'])}")
        after = page["items"][-1]["metadata"]["name"]
        everything = [x["metadata"]["name"] for x in api.ok("GET", CONFIGMAPS)["items"]]
        check(code == 200 and [x["metadata"]["name"] for x in rest["items"]] == [n for n in everything if n > after],
              f"inconsistent continuation: {code}")
        b.stop()


LONG, VALUE = 2000, "v" * 8000  # some 16 MB in all, much more than what sockets hold


def read_slowly(b, ctx, path, done, errors):
    """A list whose first bytes are read, then nothing before `done`, then the rest."""
    try:
        conn = http.client.HTTPSConnection("127.0.0.1", b.port, timeout=60, context=ctx)
        conn.request("GET", path)
        answer = conn.getresponse()
        text = answer.read(100)
        done.wait(60)
        got = json.loads(text + answer.read())
        conn.close()
        wrong = [i["metadata"]["name"] for i in got["items"] if i["data"]["v"] != VALUE]
        check(len(got["items"]) == LONG and not wrong, f"a long list: {len(got['items'])} objects, not as they were: {wrong[:3]}")
    except Exception as e:  # told to the main thread
        errors.append(f"{type(e).__name__}: {e}")


def peak(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("VmHWM")).split()[1]) // 1024


def test_long_lists():
    """Lists that nobody takes stay one snapshot through changes, cost the memory of a step, and hold up nobody."""
    with Mortal(sys.argv[1], None, gpus="none") as b:
        api, ctx, errors, done = b.api(), context(b.data), [], threading.Event()
        for i in range(LONG):
            api.ok("POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": VALUE},
                                        "metadata": {"name": f"p{i:05}", "labels": {"long": "yes"}}})
        path = f"{CONFIGMAPS}?labelSelector=long%3Dyes"
        before, sanitized = peak(b.process.pid), b"__asan_init" in open(b.program, "rb").read()
        readers = [threading.Thread(target=read_slowly, args=(b, ctx, path, done, errors), daemon=True) for _ in range(24)]
        for t in readers:
            t.start()
        wait_for("all are being answered", lambda: int(metric(api, "readOnly")) > len(readers) or errors, 30)
        for i in range(0, LONG, 41):
            if i % 2:
                api.ok("DELETE", f"{CONFIGMAPS}/p{i:05}")
            else:
                api.ok("PATCH", f"{CONFIGMAPS}/p{i:05}", {"data": {"v": "changed"}}, MERGE)
        grown = peak(b.process.pid) - before
        done.set()
        for t in readers:
            t.join(60)
        check(not errors, f"{len(errors)} failed: {errors[:2]}")
        check(sanitized or grown < 120, f"{len(readers)} lists of 16 MB that nobody takes cost {grown} MiB")
        whole = api.ok("GET", path)["items"]
        code, text = api("GET", path, accept="application/yaml")
        check(code == 200 and text.count("\n- ") == len(whole), f"as YAML: {code}, {text.count(chr(10) + '- ')} objects")
        page, names = {"metadata": {"continue": ""}}, []
        while "continue" in page["metadata"]:
            token = urllib.parse.quote(page["metadata"]["continue"])
            page = api.ok("GET", f"{path}&limit=100000" + (f"&continue={token}" if token else ""))
            check(len(json.dumps(page)) < 10 << 20, "a page is too long")
            names += [i["metadata"]["name"] for i in page["items"]]
        check(names == [i["metadata"]["name"] for i in whole], f"pages: {len(names)} of {len(whole)} objects")
        b.stop()
        return f"({grown} MiB for {len(readers)} readers)"


def metric(api, label):
    text = api("GET", "/metrics", accept="*/*")[1]
    return next(line for line in text.splitlines() if label in line and "inflight" in line).split()[-1]


if __name__ == "__main__":
    sys.exit(run_tests([(n, f) for n, f in list(globals().items()) if n.startswith("test_")], sys.argv[2:]))
