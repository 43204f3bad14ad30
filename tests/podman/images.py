"""images: images for tests, made here of almost nothing, and a registry that serves them.

The images have no programs: they lead to /usr, which pods mount from the machine (berth up --host-path /usr). So they are
small, and no registry of others is asked.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import threading

USER, PASSWORD = "robot", "s3cret"


def podman(*args, stdin=None, ok=True):
    done = subprocess.run(["podman", *args], input=stdin, capture_output=True, timeout=120, check=False)
    if ok and done.returncode != 0:
        raise RuntimeError(f"podman {' '.join(args)}: {done.stderr.decode()}")
    return done


def layer(mark):
    """The files of an image, as a tar archive; `mark` is what is different in each."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        def add(name, text=None, mode=0o755, link=None, uid=0):
            i = tarfile.TarInfo(name)
            i.mode, i.uid, i.gid = mode, uid, uid
            if link:
                i.type, i.linkname = tarfile.SYMTYPE, link
            elif text is None:
                i.type = tarfile.DIRTYPE
            else:
                i.size = len(text)
            t.addfile(i, io.BytesIO(text.encode()) if text is not None else None)
        for folder in ("usr", "etc", "srv", "private"):
            add(folder)
        add("tmp", mode=0o1777)
        for name in ("bin", "lib", "lib64", "sbin"):
            add(name, link=f"usr/{name}")
        add("etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:1000:1000::/srv:/bin/sh\n", 0o644)
        add("etc/group", "root:x:0:\napp:x:1000:\n", 0o644)
        add("mark", mark + "\n", 0o644)
        add("private/root", "of root\n", 0o600)
        add("srv/dev")
        add("srv/dev/kept", "kept\n", 0o644)
        add("su", "", 0o6755)
        add("srv/app", "of app\n", 0o600, uid=1000)
        add("root", mode=0o700)
    return out.getvalue()


def make(name, mark, *changes):
    """Puts an image into podman's store."""
    args = [x for c in ("ENV FROM_IMAGE=yes", *changes) for x in ("--change", c)]
    podman("import", *args, "-", name, stdin=layer(mark))


def forget(*names):
    podman("rmi", "-f", *names, ok=False)


def in_image(o, image, policy=None):
    """The containers of a Job or pod run in an image, with /usr from the machine."""
    spec = o["spec"].get("template", o)["spec"]
    spec.setdefault("volumes", []).append({"name": "usr", "hostPath": {"path": "/usr"}})
    for c in spec["containers"] + spec.get("initContainers", []):
        c["image"] = image
        c.setdefault("volumeMounts", []).append({"name": "usr", "mountPath": "/usr", "readOnly": True})
        if policy:
            c["imagePullPolicy"] = policy
    return o


class Registry:
    """Pulls alone, on loopback. Repositories below closed/ take USER and PASSWORD."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-registry.")
        self.repositories, self.asked = {}, []
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def answer(self, code, body=b"", kind="application/json", **headers):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Docker-Distribution-API-Version", "registry/2.0")
                for k, v in headers.items():
                    self.send_header(k.replace("_", "-"), v)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def may(self):
                word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
                return self.headers.get("Authorization") == f"Basic {word}"

            def do_GET(self):
                registry.asked.append(self.path)
                m = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/(.+)", self.path)
                if (m is None or m.group(1).startswith("closed/")) and not self.may():
                    self.answer(401, b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}',
                                WWW_Authenticate='Basic realm="test"')
                elif m is None:
                    self.answer(200, b"{}")
                else:
                    self.serve(*m.groups())

            do_HEAD = do_GET

            def serve(self, repository, what, which):
                folder = registry.repositories.get(repository)
                path = folder and os.path.join(folder, "manifest.json" if what == "manifests" else which.split(":")[1])
                if not path or not os.path.exists(path):
                    self.answer(404, b'{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}')
                    return
                with open(path, "rb") as f:
                    body = f.read()
                kind = json.loads(body)["mediaType"] if what == "manifests" else "application/octet-stream"
                self.answer(200, body, kind, Docker_Content_Digest="sha256:" + hashlib.sha256(body).hexdigest())

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()
        forget(*(f"{self.host}/{r}:latest" for r in self.repositories))  # what pods pulled

    def put(self, repository, mark):
        """Makes an image and serves it as HOST/repository; podman's store does not keep it."""
        local = f"localhost/berth-served-{len(self.repositories)}:latest"
        folder = os.path.join(self.folder.name, str(len(self.repositories)))
        make(local, mark)
        podman("save", "--format=docker-dir", "-o", folder, local)
        forget(local)
        self.repositories[repository] = folder
        return f"{self.host}/{repository}:latest"
