"""client_node: @kubernetes/client-node, the JavaScript client; client_node.mjs has the calls."""
import json
import os
import shutil
import subprocess

from parts import TOP, Client, Fail

HERE = os.path.dirname(os.path.abspath(__file__))


def unavailable():
    if not shutil.which("node"):
        return "there is no node"
    if not os.path.isdir(os.path.join(HERE, "node_modules", "@kubernetes", "client-node")):
        return "it is not installed (npm ci in tests/compat)"
    return None


CLIENT_NODE = Client("@kubernetes/client-node", ["Version 1.4 of the client, over JSON and WebSockets."], unavailable)
SCRIPT = [shutil.which("node") or "node", os.path.join(HERE, "client_node.mjs")]
SAID = {}


def declare(name):
    row, _, what = name.partition(": ")

    @CLIENT_NODE.part(row, what or row)
    def _(b):
        if b.root not in SAID:  # all of them run in one process, at the first
            done = subprocess.run(SCRIPT, capture_output=True, text=True, env=b.env, timeout=300, check=False, cwd=TOP)
            SAID[b.root] = {}
            for line in done.stdout.splitlines():
                said = json.loads(line)
                SAID[b.root][said["part"]] = said["error"]
            SAID[b.root][None] = done.stderr
        said = SAID[b.root].get(name, SAID[b.root][None] or "it did not come to this")
        if said is not None:
            raise Fail(said)


if unavailable() is None:
    for part in json.loads(subprocess.run([*SCRIPT, "--list"], capture_output=True, text=True, check=True).stdout):
        declare(part)
