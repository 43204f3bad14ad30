"""api: plain HTTPS requests to a running berth up, as any user: by token, by certificate, or as nobody."""
import base64
import hashlib
import http.client
import json
import os
import secrets
import ssl


class Client:
    """One user's connection; kept open, opened again when the server closed it."""

    def __init__(self, port, data, token=None, cert=None, headers=None):
        self.port = port
        self.context = ssl.create_default_context(cafile=os.path.join(data, "pki", "ca.crt"))
        if cert:
            self.context.load_cert_chain(os.path.join(data, "pki", cert + ".crt"),
                                         os.path.join(data, "pki", cert + ".key"))
        self.headers = dict(headers or {})
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def open(self, method, path, body=None, kind="application/json", headers=None):
        """The response, unread."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        send = dict(self.headers, **(headers or {}))
        if data is not None:
            send["Content-Type"] = kind
        for attempt in (1, 2):
            if not self.connection:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=20)
            try:
                self.connection.request(method, path, data, send)
                return self.connection.getresponse()
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt == 2:
                    raise
        return None

    def call(self, method, path, body=None, kind="application/json", headers=None):
        """(status, parsed or raw body)"""
        response = self.open(method, path, body, kind, headers)
        raw = response.read()
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, raw.decode("utf-8", "replace")

    def status(self, method, path, body=None, kind="application/json"):
        """The status alone: of a stream, too, which is cut."""
        response = self.open(method, path, body, kind)
        if "watch" in path or "follow" in path:
            code = response.status
            self.close()
            return code
        response.read()
        return response.status


def new_token(admin, user, groups=(), expires="2099-01-01T00:00:00Z"):
    """A bearer token, and the name of the Secret that makes it one."""
    token = "berth_" + secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    name = "berth-token-" + digest[:40]
    data = {"hash": digest, "user": user, "groups": "\n".join(groups), "expires": expires}
    code, answer = admin.call("POST", "/api/v1/namespaces/kube-system/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "berth.dev/token",
        "data": {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}})
    if code != 201:
        raise RuntimeError(f"no token: {code} {answer}")
    return token, name
