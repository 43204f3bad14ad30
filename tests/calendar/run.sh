#!/bin/sh
# Calendars and series: time zones and rules against Python's, feeds of the real program read by what calendar
# programs use.
# run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=python3
$python -c 'import icalendar, dateutil, gi' 2>/dev/null || python=/usr/bin/python3
$python -c 'import icalendar, dateutil, gi' 2>/dev/null || {
    echo "python3-icalendar, python3-dateutil or gir1.2-ical-3.0 is missing"
    exit 77
}
$python "$here/clocks.py" "$(realpath "$2")/tests/calendar/calendar-clock"
exec $python "$here/feeds.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
