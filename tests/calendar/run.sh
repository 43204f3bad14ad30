#!/bin/sh
# Calendars and series: time zones and rules against Python's, feeds of the real program read by python3-icalendar.
# run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=python3
$python -c 'import icalendar, dateutil' 2>/dev/null || python=/usr/bin/python3
$python -c 'import icalendar, dateutil' 2>/dev/null || {
    echo "python3-icalendar and python3-dateutil are missing"
    exit 77
}
$python "$here/clocks.py" "$(realpath "$2")/tests/calendar/calendar-clock"
exec $python "$here/feeds.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
