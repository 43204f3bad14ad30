/*
 * calendar_feed: CalendarFeeds get their addresses, and answer for what is in them (port/calendar_source.h).
 *
 * An address holds 192 bits of the machine's randomness; it is in status.path, for who may read the feed's object. It
 * is gone with the object, and with a change of spec.revision at once, before the new one is there. Tokens are looked
 * up by their SHA-256 and then compared in constant time.
 *
 *     scope      what is in it
 *     own        bookings of who made the feed (or for whom they are), in all projects; those of other projects without
 *                project, name and purpose, as others who may read feeds of this project could look
 *     project    bookings of the feed's namespace
 *     resource   when the resource is booked and how much of it, in all projects, not by whom
 *     freebusy   the same as VFREEBUSY, of spec.resource or of everything
 *
 * Bookings are in it from 30 days after their end; cancelled, rejected, expired and deleted ones stay so long with
 * STATUS:CANCELLED, as programs would keep showing them (deleted ones are remembered by this process alone). What waits
 * for a decision is TENTATIVE. A series is one event with a rule, its exceptions beside it.
 */
#ifndef BERTH_CONTROL_CALENDAR_FEED_H
#define BERTH_CONTROL_CALENDAR_FEED_H

#include "control/kit/env.h"

extern const struct controller_row calendar_feed_controller;

#endif
