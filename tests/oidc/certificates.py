"""certificates: CertificateSigningRequests, signed by Berth's own authority; part of tests/oidc."""
import base64
import json
import os
import subprocess

from harness import check, wait_for

GROUP = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def request_of(folder, subject, *more):
    """A key's file and a request in base64."""
    key, csr = os.path.join(folder, "k.key"), os.path.join(folder, "k.csr")
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", csr, "-subj", subject, *more], check=True, capture_output=True)
    with open(csr, "rb") as f:
        return key, base64.b64encode(f.read()).decode()


def manifest(name, request, signer="kubernetes.io/kube-apiserver-client", usages=("client auth",), **spec):
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": dict({"request": request, "signerName": signer, "usages": list(usages)}, **spec)}


def run(w):
    b, mint = w.berth, w.provider.mint
    key, request = request_of(b.root, "/CN=carol/O=dev/O=ops")
    ann, bob = mint(), mint(sub="bob")
    b.kubectl("create", "clusterrole", "asks", "--verb=create,get,list", "--resource=certificatesigningrequests.certificates.k8s.io")
    b.kubectl("create", "clusterrolebinding", "asks", "--clusterrole=asks", "--user=idp:ann", "--user=idp:bob")
    wait_for("the right", lambda: w.ask(ann, GROUP)[0] == 200)

    code, got = w.ask(ann, GROUP, manifest("carol", request, username="root", groups=["system:masters"],
                                           expirationSeconds=3600), "POST")
    check(code == 201 and got["spec"]["username"] == "idp:ann" and "system:masters" not in got["spec"]["groups"], got)
    check("Pending" in b.kubectl("get", "csr"), "it waits")

    # who may approve the object must have the right to its signer as well
    b.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "approves"},
             "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests/approval",
                                                                           "certificatesigningrequests/status"],
                        "verbs": ["update"]}]})
    b.kubectl("create", "clusterrolebinding", "approves", "--clusterrole=approves", "--user=idp:bob")
    got["metadata"]["annotations"] = {"note": "seen"}
    approved = dict(got, status={"conditions": [{"type": "Approved", "status": "True", "reason": "x"}]})
    wait_for("the right", lambda: "signer" in str(w.ask(bob, f"{GROUP}/carol/approval", approved, "PUT")[1]))
    code, no = w.ask(bob, f"{GROUP}/carol/approval", approved, "PUT")
    check(code == 403 and "not permitted to approve requests" in no["message"], no)
    code, no = w.ask(bob, f"{GROUP}/carol/status", approved, "PUT")
    check(code == 422 and "by approval alone" in no["message"], no)
    forged = dict(got, status={"certificate": base64.b64encode(b"x").decode()})
    check(w.ask(bob, f"{GROUP}/carol/status", forged, "PUT")[0] == 403, "nor may he sign")
    b.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "signers"},
             "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
                        "resourceNames": ["kubernetes.io/*"], "verbs": ["approve"]}]})
    b.kubectl("create", "clusterrolebinding", "signers", "--clusterrole=signers", "--user=idp:bob")
    dry = f"{GROUP}/carol/approval?dryRun=All"
    wait_for("the right", lambda: w.ask(bob, dry, approved, "PUT")[0] == 200)
    check("certificate" not in w.ask(bob, dry, approved, "PUT")[1]["status"], "a dry run signs nothing")
    check(w.ask(bob, f"{GROUP}/carol/approval", approved, "PUT")[0] == 200, "bob may approve")

    got = json.loads(b.kubectl("get", "csr", "carol", "-o", "json"))
    check(got["metadata"]["annotations"]["note"] == "seen", "annotations come with an approval")
    check(len(got["status"]["conditions"]) == 1 and "Approved,Issued" in b.kubectl("get", "csr"), got["status"])
    cert = os.path.join(b.root, "k.crt")
    with open(cert, "wb") as f:
        f.write(base64.b64decode(got["status"]["certificate"]))
    text = subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-text"], check=True, capture_output=True,
                          text=True).stdout
    check("TLS Web Client Authentication" in text and "CA:FALSE" in text and "TLS Web Server" not in text, text)
    who = json.loads(b.kubectl("--kubeconfig", os.devnull, "--server", f"https://127.0.0.1:{b.port}",
                               "--certificate-authority", os.path.join(b.data, "pki", "ca.crt"), "--client-certificate",
                               cert, "--client-key", key, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    check(who["username"] == "carol" and set(who["groups"]) == {"dev", "ops", "system:authenticated"}, who)

    # kubectl's own verbs; other signers are left to others
    b.apply(manifest("two", request), manifest("theirs", request, signer="example.com/x"))
    b.kubectl("certificate", "deny", "two")
    b.kubectl("certificate", "approve", "theirs")
    table = b.kubectl("get", "csr")
    check("Denied" in table and "Approved,Issued" in table, table)
    theirs = b.kubectl("get", "csr", "--field-selector", "spec.signerName=example.com/x", "-o", "name").split()
    check(theirs == ["certificatesigningrequest.certificates.k8s.io/theirs"], theirs)
    check("certificate" not in json.loads(b.kubectl("get", "csr", "theirs", "-o", "json"))["status"], "not ours to sign")
    check(b.kubectl("certificate", "approve", "two", ok=False).returncode != 0, "denied and approved exclude each other")
    b.apply(manifest("server", request, usages=["client auth", "server auth"]))
    b.kubectl("certificate", "approve", "server")
    check("Approved,Failed" in b.kubectl("get", "csr", "server"), "this signer makes no certificates for servers")

    masters = request_of(b.root, "/CN=eve/O=system:masters")[1]
    names = request_of(b.root, "/CN=eve", "-addext", "subjectAltName=DNS:example.com")[1]
    for bad in (manifest("bad", masters), manifest("bad", names), manifest("bad", "eHg="),
                manifest("bad", request, signer="x"), manifest("bad", request, expirationSeconds=599),
                manifest("bad", request, usages=["everything"])):
        check(w.ask(ann, GROUP, bad, "POST")[0] in (403, 422), bad)
