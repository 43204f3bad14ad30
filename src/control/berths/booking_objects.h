/*
 * booking_objects: from the phase of a Reservation to Kueue's objects. What the planner (reservation.h) decides is in
 * status.phase and status.plan; this makes it so, and says how far it is in status.objects.
 *
 * Of one booking there are a ClusterQueue `rsv-<first 8 of its uid>`, and in its project a LocalQueue `rsv-<name>` and
 * for each resource a HardwareProfile `rsv-<name>-<resource>`:
 *
 *     phase                stage      quota     ClusterQueue   LocalQueue
 *     Preparing            HELD       0         Hold           open: work can be sent ahead
 *     Active, Degraded     OPEN       booked    open           open
 *      drain, soon over    SHUT       booked    Hold           Hold
 *      hard, just before   DRAINED    booked    HoldAndDrain   Hold
 *     Ending, demote       DEMOTED    0         open           Hold: what runs has borrowed from now on
 *     Ending, else; and    DRAINED    booked while something runs, then 0
 *      demote, overstayed                       HoldAndDrain   Hold
 *     nothing runs         GONE       work that waits goes to the project's own queue; LocalQueue and profiles are
 *                                     deleted, then the ClusterQueue
 *
 * A booking that begins where one of the same people with the same shape ends takes its objects over.
 *
 * The quota of the pool's Cohort is what the hardware has less what is booked and less what other ClusterQueues and
 * Cohorts have as their own (booking_ledger.h): the sum is the hardware, and at no revision more by our hand, nor by
 * that of a leader before (booking_fence.c).
 *
 * Everything is decided from what the objects say, all of it at each look: what was deleted is made again, an edit of
 * what belongs here is reverted with an Event, and a restart goes on wherever it stopped. What others add is left
 * alone. On a cluster the Cohort is made with the first booking; one that was there before is taken over then.
 *
 * Annotations on the ClusterQueue: RESERVATION_UID and RESERVATION_NAMESPACE say whose it is; PLACEMENTS, the GPU
 * places that its pods get (queue_pins); the others are for the restart.
 */
#ifndef BERTH_CONTROL_BOOKING_OBJECTS_H
#define BERTH_CONTROL_BOOKING_OBJECTS_H

#include "control/kit/env.h"

#define BOOKING_UID "berth.dev/reservation-uid"
#define BOOKING_NAMESPACE "berth.dev/reservation-namespace"
/* On Workloads of a booking that is about to end: when, and which warning was given last. */
#define BOOKING_ENDS "berth.dev/reservation-ends"
#define BOOKING_WARNED "berth.dev/reservation-warning"
/* On jobs and Workloads that were sent on: why. */
#define BOOKING_MOVED "berth.dev/moved"

extern const struct controller_row booking_objects_controller;

#endif
