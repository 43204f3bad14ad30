/*
 * reservation_series: bookings that recur. A ReservationSeries becomes Reservations, one for each occurrence up to the
 * policy's horizon (daysAhead), and more as days go by; reservation.h decides each like any other.
 *
 * Occurrences are local times in the series' zone (rrule.h). A time that the zone's clock skips is moved on by the
 * gap, one that it shows twice is the first; the length is elapsed time. Each Reservation is named after the series and
 * its local start, `<series>-20261123-0900`, labelled with the series, and has `berth.dev/series-intent`: a fingerprint
 * of what was written, by which a change of the series is told from a change of the one occurrence. What somebody
 * changed in one occurrence stays; what was deleted is not made again.
 *
 * Only what has not begun to be prepared is changed or cancelled by its series, however the series was edited. A series
 * that is deleted cancels its future occurrences.
 *
 * conflictPolicy Reject: at first all occurrences up to the horizon are booked, or none. Later, as for Skip, one that
 * does not fit is left out and said so in status.skipped: taking back what people count on would be worse. Waitlist: it
 * waits. Condition Booked says how it went: reasons Booked, Waiting (the planner has not decided all), Conflict,
 * Invalid.
 */
#ifndef BERTH_CONTROL_RESERVATION_SERIES_H
#define BERTH_CONTROL_RESERVATION_SERIES_H

#include "control/kit/env.h"

#define SERIES_LABEL "berth.dev/series"
#define SERIES_INTENT "berth.dev/series-intent"

extern const struct controller_row reservation_series_controller;

#endif
