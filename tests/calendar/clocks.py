"""clocks: Berth's time zones against Python's zoneinfo, its recurrence rules against dateutil, at many instants.

    clocks.py CALENDAR-CLOCK [SEED]
"""
import datetime
import random
import subprocess
import sys
import zoneinfo

ZONES = ["Europe/Warsaw", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo",
         "Africa/Casablanca", "Pacific/Apia", "Europe/Dublin", "Antarctica/Troll", "America/St_Johns", "Asia/Gaza", "UTC"]
EPOCH = datetime.datetime(1970, 1, 1)
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def ask(program, lines):
    r = subprocess.run([program], input="".join(x + "\n" for x in lines), capture_output=True, text=True, check=True)
    return r.stdout.split("\n")[:-1]


def offset_of(zone, at):
    t = datetime.datetime.fromtimestamp(at, tz=zone)
    return f"{int(t.utcoffset().total_seconds())} {t.tzname()}"


def near_changes(zone, first, last):
    """Instants at each change of offset or name, and one second before."""
    step, at, found = 5 * 86400, first, []
    before = offset_of(zone, at)
    while at < last:
        after = offset_of(zone, at + step)
        if after != before:
            low, high = at, at + step
            while high - low > 1:
                mid = (low + high) // 2
                low, high = (mid, high) if offset_of(zone, mid) == before else (low, mid)
            found += [high - 1, high]
        before, at = after, at + step
    return found


def zones(program, rng):
    lines, want = [], []
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        changes = near_changes(zone, 1262304000, 2082758400)  # 2010 to 2035
        instants = changes + [rng.randrange(-1500000000, 4102444800) for _ in range(2000)]
        for at in instants:
            lines.append(f"at {name} {at}")
            want.append(offset_of(zone, at))
        # Readings of the clock around each change, up to a day and a half away: gaps, and hours that come twice.
        locals_ = [c + o + d for c in changes[1::2] for o in (int(offset_of(zone, c).split()[0]),)
                   for d in (-129600, -86401, -5400, -3601, -3600, -3599, -1800, -1, 0, 1, 900, 1800, 3599, 3600, 5400)]
        for at in locals_ + [rng.randrange(0, 4102444800) for _ in range(1000)]:
            lines.append(f"utc {name} {at}")
            t = (EPOCH + datetime.timedelta(seconds=at)).replace(tzinfo=zone)  # fold 0: the first, or the offset before
            want.append(str(int(t.timestamp())))
    return lines, want


def random_rule(rng):
    freq = rng.choice(["DAILY", "WEEKLY", "MONTHLY"])
    parts = [f"FREQ={freq}"]
    if rng.random() < 0.5:
        parts.append(f"INTERVAL={rng.randrange(1, 6)}")
    if rng.random() < 0.6:
        days = rng.sample(DAYS, rng.randrange(1, 4))
        if freq == "MONTHLY" and rng.random() < 0.7:
            days = [rng.choice(["1", "2", "-1", "-2", "5", "+3"]) + d for d in days]
        parts.append("BYDAY=" + ",".join(days))
    if freq != "WEEKLY" and rng.random() < 0.4:
        parts.append("BYMONTHDAY=" + ",".join(str(rng.choice([1, 7, 13, 15, 28, 30, 31, -1, -2, -30])) for _ in range(2)))
    if rng.random() < 0.3:
        parts.append(f"WKST={rng.choice(DAYS)}")
    end = rng.random()
    if end < 0.3:
        parts.append(f"COUNT={rng.randrange(1, 40)}")
    elif end < 0.6:
        parts.append("UNTIL=20280315T120000")
    rng.shuffle(parts)
    return ";".join(parts)


def rules(rng):
    from dateutil import rrule
    lines, want = [], []
    for _ in range(800):
        start = datetime.datetime(2026, 1, 1) + datetime.timedelta(minutes=rng.randrange(0, 525600))
        text = random_rule(rng)
        got, rare = [], False
        for t in rrule.rrulestr(text, dtstart=start):
            rare = t.year > 2060
            if len(got) == 30 or rare:
                break
            got.append(int((t - EPOCH).total_seconds()))
        if rare or (len(got) < 30 and "COUNT" not in text and "UNTIL" not in text):
            continue  # rarer than once a year: where each stops looking is its own business
        lines.append(f"rule UTC {int((start - EPOCH).total_seconds())} 30 {text}")
        want.append("".join(f"{x} " for x in got))
    return lines, want


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
    lines, want = zones(sys.argv[1], rng)
    try:
        more = rules(rng)
    except ImportError:
        print("clocks: no dateutil, recurrence rules are not compared")
        more = [], []
    got = ask(sys.argv[1], lines + more[0])
    bad = [(q, w, g) for q, w, g in zip(lines + more[0], want + more[1], got, strict=True) if w != g]
    for q, w, g in bad[:10]:
        print(f"{q}\n  want {w}\n  got  {g}")
    print(f"{len(lines)} instants and readings, {len(more[0])} rules compared: {len(bad)} differ")
    return 1 if bad or len(lines) < 10000 else 0


sys.exit(main())
