"""security: Berth attacked from where attackers are: as every kind of user, from the network, from inside a pod."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
sys.path.insert(0, HERE)

import circles
import escalation
import hostile
import matrix
import places
import pods
from api import Client
from harness import Berth, Fail, check


def check_matrix(users):
    want, got = matrix.expected(), matrix.run(users)
    wrong = [f"{g}   (expected {w})" for w, g in zip(want, got) if w != g]
    check(len(want) == len(got) and not wrong, "the matrix of rights differs:\n" + "\n".join(wrong))
    return len(got) * len(matrix.USERS)


def secrets_stay(b, words):
    """Tokens are in no log, no audit line, no command line, no database page."""
    places = [b.log.name] + [os.path.join(b.data, f) for f in os.listdir(b.data) if f.startswith(("audit", "berth.db"))]
    for path in places:
        with open(path, "rb") as f:
            text = f.read()
        for word in words:
            check(word.encode() not in text, f"a token stands in {path}")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        check(not any(w.encode() in line for w in words), f"a token is in the command line of {pid}")
    for folder, _, names in os.walk(b.data):
        for name in names:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            private = not name.endswith(".crt") and "/pods/" not in folder
            check(not private or mode & 0o077 == 0, f"{folder}/{name} can be read by others")


def main():
    os.environ["BERTH_TEST_SECRET"] = "not for pods"
    start = time.monotonic()
    try:
        with Berth(sys.argv[1], os.path.join(HERE, "..", "..", ".tools", "kubectl")) as b:
            admin = Client(b.port, b.data, cert="admin")
            users = matrix.make_users(b, admin)
            print(f"matrix: {check_matrix(users)} cells as in the table")
            print(f"reviews: {matrix.reviews(admin)} cells as the requests themselves")
            tokens = escalation.run(b, admin, users)
            tokens += places.run(b, admin, users)
            pods.run(b, admin, users)
            circles.run(admin)
            hostile.run(b, admin)
            tokens += [u.headers["Authorization"][7:] for u in users.values() if "Authorization" in u.headers]
            secrets_stay(b, tokens)
    except Fail as e:
        print("FAIL", e)
        return 1
    print(f"security: all held, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
