"""feeds: calendars and series with the real program, read by independent parsers (python3-icalendar, libical, calcurse).

    feeds.py BERTH KUBECTL

What is booked is what the calendar shows, whatever people write into it; addresses end when they are taken back.
"""
import datetime
import json
import os
import ssl
import sys
import urllib.error
import urllib.request
import zoneinfo

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for  # noqa: E402  pylint: disable=wrong-import-position
import programs  # noqa: E402  pylint: disable=wrong-import-position

UTC = datetime.timezone.utc
WARSAW = zoneinfo.ZoneInfo("Europe/Warsaw")
SLICE = "nvidia.com/mig-2g.35gb"
HOSTILE = ["a\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:evil", "semi;colon, comma \\ back\\slash \"quoted\" :colon",
           "\U0001f984" * 40, "za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144 " * 5, "tab\there", "=1+1", "\u202eright to left",
           "x" * 160]


def today():
    return datetime.datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def text(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


def reservation(name, start, hours=1, ns="team", resource=SLICE, **spec):
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name, "namespace": ns},
            "spec": dict({"start": text(start), "end": text(start + datetime.timedelta(hours=hours)),
                          "lines": [{"resource": resource, "count": 1}]}, **spec)}


def feed(name, scope, ns="team", **spec):
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "CalendarFeed", "metadata": {"name": name, "namespace": ns},
            "spec": dict({"scope": scope}, **spec)}


def fetch(b, path, **headers):
    """(status, headers, body); nobody signs in."""
    request = urllib.request.Request(f"https://127.0.0.1:{b.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=20) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()


def apply(b, *objects):
    # Not with escapes for what is not ASCII: kubectl reads YAML, which has no pairs of them.
    return b.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o, ensure_ascii=False) for o in objects))


def address(b, name, other_than=None):
    def path():
        p = b.get("calendarfeed", name, "-n", "team").get("status", {}).get("path")
        return p if p != other_than else None
    return wait_for(f"address of feed {name}", path)


def read(b, path):
    """The calendar, as the parser reads it; and its form, line by line."""
    from icalendar import Calendar
    status, headers, body = fetch(b, path)
    check(status == 200, f"{path}: {status} {body[:200]}")
    check(headers["Content-Type"].startswith("text/calendar"), headers["Content-Type"])
    lines = body.split(b"\r\n")
    check(lines[-1] == b"" and lines[0] == b"BEGIN:VCALENDAR", "a calendar begins and ends")
    for line in lines:
        check(len(line) <= 75 and b"\n" not in line and b"\r" not in line, f"line {line!r}")
        line.decode("utf-8")  # no sequence is cut by a fold
    text_ = body.decode("utf-8")
    cal = Calendar.from_ical(text_)
    check(len(programs.libical(text_)) == len(events(cal)), "libical finds as many events")
    taken, said = programs.calcurse(text_)
    check(taken == len(events(cal)) and " 0 skipped" in said, f"calcurse takes {taken} of {len(events(cal))}: {said}")
    return cal


def read_by_libical(b, path, uid):
    return [e for e in programs.libical(fetch(b, path)[2].decode("utf-8")) if e[0] == uid]


def events(cal):
    return [c for c in cal.walk() if c.name == "VEVENT"]


def phase(b, name):
    return b.get("reservation", name, "-n", "team").get("status", {}).get("phase", "")


def normal(purpose):
    return purpose.replace("\r\n", " ").replace("\r", " ").replace("\n", " ").replace("\t", " ")


def test_hostile_texts(b):
    day = today() + datetime.timedelta(days=2)
    apply(b, *[reservation(f"h{i}", day + datetime.timedelta(hours=i), purpose=p) for i, p in enumerate(HOSTILE)])
    apply(b, feed("team", "project"))
    for i in range(len(HOSTILE)):
        wait_for("a decision", lambda n=f"h{i}": phase(b, n) == "Confirmed")
    cal = read(b, address(b, "team"))
    check(str(cal["X-WR-CALNAME"]) == "GPU bookings of team", cal["X-WR-CALNAME"])
    found = {e["DTSTART"].dt: e for e in events(cal)}
    check(len(found) == len(HOSTILE) == len(events(cal)), f"{len(events(cal))} events")
    for i, p in enumerate(HOSTILE):
        o = b.get("reservation", f"h{i}", "-n", "team")
        e = found[day + datetime.timedelta(hours=i)]
        check(str(e["SUMMARY"]) == normal(p) + " (1 \u00d7 2g.35gb)", f"{p!r} became {str(e['SUMMARY'])!r}")
        check(e["DTEND"].dt == day + datetime.timedelta(hours=i + 1) and str(e["STATUS"]) == "CONFIRMED", str(e))
        check(str(e["UID"]) == o["metadata"]["uid"] + "@berth", str(e["UID"]))
        shown = read_by_libical(b, address(b, "team"), str(e["UID"]))
        check(shown == [(str(e["UID"]), str(e["SUMMARY"]), [e["DTSTART"].dt], False)], f"libical shows {shown}")
        check(f"Booking: h{i}" in str(e["DESCRIPTION"]) and "Project: team" in str(e["DESCRIPTION"]), str(e))
        check("DTSTAMP" in e and "SEQUENCE" in e, "what RFC 5545 requires")


def test_asked_again(b):
    path = address(b, "team")
    _, headers, body = fetch(b, path)
    check(headers["ETag"] and headers["Last-Modified"], "both say what it is")
    check(fetch(b, path, **{"If-None-Match": headers["ETag"]})[0] == 304, "nothing is sent twice")
    b.kubectl("patch", "reservation", "h0", "-n", "team", "--type=merge", "-p", '{"spec":{"cancel":{"reason":"enough"}}}')
    wait_for("it is cancelled", lambda: phase(b, "h0") == "Cancelled")
    status, again, _ = fetch(b, path, **{"If-None-Match": headers["ETag"]})
    check(status == 200 and again["ETag"] != headers["ETag"], "a change is seen")
    uid = b.get("reservation", "h0", "-n", "team")["metadata"]["uid"]
    e = [e for e in events(read(b, path)) if str(e["UID"]).startswith(uid)]
    check(len(e) == 1 and str(e[0]["STATUS"]) == "CANCELLED", "cancelled bookings stay, as cancelled")
    b.kubectl("delete", "reservation", "h1", "-n", "team")
    uids = {str(e["STATUS"]) for e in events(read(b, path)) if "Booking: h1" in str(e["DESCRIPTION"])}
    check(uids == {"CANCELLED"}, f"deleted ones as well: {uids}")


def series(name, first, rule, **more):
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "ReservationSeries",
            "metadata": {"name": name, "namespace": "team"},
            "spec": dict({"timeZone": "Europe/Warsaw", "start": first.strftime("%Y-%m-%dT%H:%M:%S"), "duration": "2h",
                          "rrule": rule, "template": {"lines": [{"resource": SLICE, "count": 1}], "purpose": "class"}},
                         **more)}


def starts_of(e, zone):
    """Instants of an event with a rule, as a calendar program makes them."""
    from dateutil import rrule
    first = e["DTSTART"].dt
    check(first.tzinfo is not None, "a rule has a time zone")
    until = e["RRULE"]["UNTIL"][0].astimezone(zone).replace(tzinfo=None)
    text_ = ";".join(f"{k}={','.join(str(x) for x in v)}" for k, v in e["RRULE"].items() if k != "UNTIL")
    out = e.get("EXDATE", [])
    out = {d.dt.replace(tzinfo=None) for x in (out if isinstance(out, list) else [out]) for d in x.dts}
    local = rrule.rrulestr(text_, dtstart=first.replace(tzinfo=None))
    return [t.replace(tzinfo=zone).astimezone(UTC) for t in local.between(first.replace(tzinfo=None), until, inc=True)
            if t not in out]


def test_series(b):
    # Half a year ahead, so that clocks change on the way.
    b.kubectl("patch", "reservationpolicy", "default", "--type=merge", "-p", '{"spec":{"daysAhead":200}}')
    first = (today() + datetime.timedelta(days=3)).replace(hour=9, tzinfo=None)
    skipped = (first + datetime.timedelta(days=7)).strftime("%Y-%m-%d")
    apply(b, series("weekly", first, "FREQ=WEEKLY;COUNT=26", exdates=[skipped]))

    def booked():
        s = b.get("reservationseries", "weekly", "-n", "team").get("status", {})
        return s if any(c["type"] == "Booked" and c["status"] == "True" for c in s.get("conditions", [])) else None
    status = wait_for("the series is booked", booked)
    want = [(first + datetime.timedelta(days=7 * i)).replace(tzinfo=WARSAW).astimezone(UTC)
            for i in range(26) if i != 1]
    got = sorted(o["spec"]["start"] for o in b.get("reservations", "-n", "team", "-l", "berth.dev/series=weekly")["items"])
    check(got == [text(t) for t in want], f"{got}")
    check(len({t.hour for t in want}) == 2, "clocks change on the way")
    check(len(status["occurrences"]) == 25 and status.get("tzdata"), str(status)[:300])
    b.kubectl("annotate", "reservation", f"weekly-{first:%Y%m%d}-0900", "-n", "team", "note=x")
    cal = read(b, address(b, "team"))
    uid = b.get("reservationseries", "weekly", "-n", "team")["metadata"]["uid"] + "@berth"
    mine = [e for e in events(cal) if str(e["UID"]) == uid]
    check(len(mine) == 1 and "RRULE" in mine[0], f"{len(mine)} events of the series")
    check(starts_of(mine[0], WARSAW) == want, "the rule yields what is booked")
    shown = [e[2] for e in read_by_libical(b, address(b, "team"), uid)]
    check(shown == [want], f"libical makes {shown} of the rule")
    zones = [c for c in cal.walk() if c.name == "VTIMEZONE"]
    check([str(z["TZID"]) for z in zones] == ["Europe/Warsaw"], "its zone is there once")
    check(len({c.name for c in zones[0].subcomponents}) == 2, "with both its times")

    # One is cancelled, one lasts longer, and the rule goes on without them.
    third, fourth = (first + datetime.timedelta(days=7 * i) for i in (2, 3))
    b.kubectl("patch", "reservation", f"weekly-{third:%Y%m%d}-0900", "-n", "team", "--type=merge", "-p",
              '{"spec":{"cancel":{"reason":"ill"}}}')
    end = text(fourth.replace(tzinfo=WARSAW).astimezone(UTC) + datetime.timedelta(hours=3))
    b.kubectl("patch", "reservation", f"weekly-{fourth:%Y%m%d}-0900", "-n", "team", "--type=merge", "-p",
              json.dumps({"spec": {"end": end}}))
    wait_for("it is cancelled", lambda: phase(b, f"weekly-{third:%Y%m%d}-0900") == "Cancelled")

    def odd():
        mine = [e for e in events(read(b, address(b, "team"))) if str(e["UID"]) == uid and "RECURRENCE-ID" in e]
        return mine if len(mine) == 2 else None
    by_id = {e["RECURRENCE-ID"].dt.replace(tzinfo=None): e for e in wait_for("two exceptions", odd)}
    check(str(by_id[third]["STATUS"]) == "CANCELLED", str(by_id[third]))
    check(text(by_id[fourth]["DTEND"].dt.astimezone(UTC)) == end, str(by_id[fourth]["DTEND"].dt))

    # The series is edited: what somebody changed alone stays.
    b.kubectl("patch", "reservationseries", "weekly", "-n", "team", "--type=merge", "-p", '{"spec":{"duration":"1h"}}')
    name = f"weekly-{first + datetime.timedelta(days=28):%Y%m%d}-0900"
    wait_for("a shorter one", lambda: b.get("reservation", name, "-n", "team")["spec"]["end"] ==
             text(want[3] + datetime.timedelta(hours=1)))
    check(b.get("reservation", f"weekly-{fourth:%Y%m%d}-0900", "-n", "team")["spec"]["end"] == end, "its own")
    b.kubectl("delete", "reservationseries", "weekly", "-n", "team")
    wait_for("the future is cancelled", lambda: phase(b, name) == "Cancelled")


def test_series_that_does_not_fit(b):
    first = (today() + datetime.timedelta(days=3)).replace(hour=20, tzinfo=None)
    second = first.replace(tzinfo=WARSAW) + datetime.timedelta(days=1)
    apply(b, reservation("everything", second.astimezone(UTC), resource="nvidia.com/gpu", hours=2))
    wait_for("it is booked", lambda: phase(b, "everything") == "Confirmed")

    def decided(name, reason):
        s = b.get("reservationseries", name, "-n", "team").get("status", {})
        return s if any(c["type"] == "Booked" and c["reason"] == reason for c in s.get("conditions", [])) else None
    apply(b, series("all", first, "FREQ=DAILY;COUNT=3"))
    status = wait_for("it is refused", lambda: decided("all", "Conflict"))
    check("none was booked: 1 of 3" in status["message"], status["message"])
    wait_for("nothing is left of it",
             lambda: not b.get("reservations", "-n", "team", "-l", "berth.dev/series=all")["items"])
    apply(b, series("some", first, "FREQ=DAILY;COUNT=3", conflictPolicy="Skip"))
    status = wait_for("the others are booked", lambda: decided("some", "Booked"))
    wait_for("two", lambda: len(b.get("reservations", "-n", "team", "-l", "berth.dev/series=some")["items"]) == 2)
    check([s["recurrenceId"][:10] for s in status["skipped"]] == [f"{second:%Y-%m-%d}"], str(status["skipped"]))
    b.kubectl("delete", "reservation", "everything", "-n", "team")


def test_series_refused(b):
    for rule, why in (("FREQ=YEARLY", "FREQ=YEARLY: must be DAILY, WEEKLY or MONTHLY"),
                      ("FREQ=WEEKLY;BYSETPOS=1", "BYSETPOS is not supported")):
        done = b.kubectl("apply", "-f", "-", stdin=json.dumps(series("bad", today(), rule)), ok=False)
        check(done.returncode != 0 and why in done.stderr, done.stderr)
    other = series("for-others", today(), "FREQ=DAILY")
    other["spec"]["template"]["beneficiary"] = {"kind": "User", "name": "somebody-else"}
    b.kubectl("create", "rolebinding", "ed", "-n", "team", "--clusterrole=edit", "--user=ed")
    done = b.kubectl("apply", "--as=ed", "-f", "-", stdin=json.dumps(other), ok=False)
    check(done.returncode != 0 and "you may not book for somebody-else" in done.stderr, done.stderr)


def test_what_others_see(b):
    b.kubectl("create", "namespace", "secret")
    day = today() + datetime.timedelta(days=5)
    apply(b, reservation("hush", day, ns="secret", purpose="merger"))
    wait_for("it is booked",
             lambda: b.get("reservation", "hush", "-n", "secret").get("status", {}).get("phase") == "Confirmed")
    apply(b, feed("slices", "resource", resource=SLICE), feed("free", "freebusy"), feed("own", "own"))
    for name in ("slices", "free"):
        path = address(b, name)
        body = fetch(b, path)[2]
        for word in (b"merger", b"hush", b"secret", b"class", b"evil", b"Booking:", b"CONTACT"):
            check(word not in body, f"{name} tells {word!r}")
    cal = read(b, address(b, "free"))
    busy = [c for c in cal.walk() if c.name == "VFREEBUSY"]
    check(len(busy) == 1 and "UID" in busy[0] and "DTSTAMP" in busy[0], "one VFREEBUSY")
    periods = busy[0]["FREEBUSY"] if isinstance(busy[0]["FREEBUSY"], list) else [busy[0]["FREEBUSY"]]
    check(any(p.start == day for p in periods), "what is booked is busy")
    own = fetch(b, address(b, "own"))[2]
    check(b"GPU booking in another project" in own and b"merger" not in own and b"evil" in own,
          "one's own, and no names of other projects")
    b.kubectl("create", "rolebinding", "vi", "-n", "team", "--clusterrole=view", "--user=vi")
    done = b.kubectl("get", "calendarfeeds", "-n", "team", "--as=vi", ok=False)
    check(done.returncode != 0, "who may only look does not see addresses")


def test_addresses_end(b):
    old = address(b, "team")
    check(len(old) >= len("/calendar/.ics") + 32, old)
    b.stop()
    b.up()
    check(address(b, "team") == old and fetch(b, old)[0] == 200, "a restart keeps it")
    b.kubectl("patch", "calendarfeed", "team", "-n", "team", "--type=merge", "-p", '{"spec":{"revision":1}}')
    check(fetch(b, old)[0] == 404, "taken back at once")
    new = address(b, "team", other_than=old)
    check(fetch(b, new)[0] == 200 and fetch(b, old)[0] == 404, "another instead")
    b.kubectl("delete", "calendarfeed", "team", "-n", "team")
    check(fetch(b, new)[0] == 404, "gone with its feed")
    for path in ("/calendar/", "/calendar/.ics", "/calendar/x.ics", "/calendar/" + "A" * 5000 + ".ics",
                 new[:-5] + ".ics", new + "x", "/calendar/%2e%2e/x.ics"):
        check(fetch(b, path)[0] in (400, 404, 414, 431), f"{path[:60]}: {fetch(b, path)[0]}")


TESTS = [test_hostile_texts, test_asked_again, test_series, test_series_that_does_not_fit, test_series_refused,
         test_what_others_see, test_addresses_end]


def main():
    failed = 0
    with Berth(sys.argv[1], sys.argv[2], gpus="sim:1xh200") as b:
        b.kubectl("create", "namespace", "team")
        for test in TESTS:
            if len(sys.argv) > 3 and test.__name__ not in sys.argv[3:] and test is not TESTS[0]:
                continue
            try:
                test(b)
                print(f"ok      {test.__name__}", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {test.__name__}: {e if isinstance(e, Fail) else repr(e)}", flush=True)
        if failed:
            raise SystemExit(1)
    print(f"{len(TESTS)} passed, {failed} failed")


main()
