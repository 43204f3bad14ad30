"""programs: calendars read by what calendar programs read them with: libical (GNOME's, KDE's and others' calendars) and
calcurse, a calendar for terminals with a parser of its own."""
import datetime
import os
import subprocess
import tempfile

import gi

gi.require_version("ICalGLib", "3.0")
from gi.repository import ICalGLib  # noqa: E402  pylint: disable=wrong-import-position

UTC = datetime.timezone.utc


def _parts(component, kind):
    part = component.get_first_component(kind)
    while part is not None:
        yield part
        part = component.get_next_component(kind)


def libical(text):
    """The VEVENTs: (uid, summary, instants at which they begin, whether one of a series that is different)."""
    calendar = ICalGLib.Component.new_from_string(text)
    if calendar is None or calendar.isa() != ICalGLib.ComponentKind.VCALENDAR_COMPONENT:
        raise AssertionError("libical reads no calendar")
    if calendar.count_errors() != 0:
        raise AssertionError(f"libical finds {calendar.count_errors()} errors")
    far = ICalGLib.Time.new_from_string("20991231T000000Z")
    events = []
    for e in _parts(calendar, ICalGLib.ComponentKind.VEVENT_COMPONENT):
        starts = []
        e.foreach_recurrence(ICalGLib.Time.new_from_string("20200101T000000Z"), far,
                             lambda _, span, out: out.append(span.get_start()), starts)
        alone = e.get_first_property(ICalGLib.PropertyKind.RECURRENCEID_PROPERTY) is not None
        events.append((e.get_uid(), e.get_summary(), [datetime.datetime.fromtimestamp(s, UTC) for s in starts], alone))
    return events


def calcurse(text):
    """How many it takes in as appointments; it says itself what it leaves out."""
    with tempfile.TemporaryDirectory(prefix="berth-calcurse.") as folder:
        path = os.path.join(folder, "c.ics")
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
        done = subprocess.run(["calcurse", "-D", folder, "-C", folder, "-i", path], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8"), check=False)
        with open(os.path.join(folder, "apts"), encoding="utf-8") as f:
            taken = len(f.read().splitlines())
    return taken, done.stdout + done.stderr
