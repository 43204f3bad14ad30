/*
 * reservation_controller: the one planner. It mirrors what can be booked (Nodes, standing quotas, CapacityWindows) and
 * what is booked (Reservations) into a calendar (calendar.h), decides what is undecided in order of creation
 * (time, then uid), walks each booking through its states on the clock (booking.h) and writes that to its status.
 * What a phase means in Kueue's objects is booking_objects' part: it reads status.phase and status.plan, and writes
 * status.objects.
 *
 * The calendar is only memory. status.plan is the durable form of it: after a restart what was decided is put back
 * exactly, and only then is anything new decided. What others' bookings had to make room for (their plans moved) is
 * written before the booking that needs the room. Reservation by reservation, so that a conflict costs one more look.
 *
 * It answers ReservationCheck and Availability (port/virtual.h), without names where the asker may not list the
 * Reservations of that namespace.
 */
#ifndef BERTH_CONTROL_RESERVATION_H
#define BERTH_CONTROL_RESERVATION_H

#include "control/kit/env.h"

extern const struct controller_row reservation_controller;
/* Its calendar, for checks. */
struct calendar;
struct reservation_controller;
const struct calendar *reservation_controller_calendar(const struct reservation_controller *c);

#endif
