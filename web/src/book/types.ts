/*
 * What these screens add to the booking kinds of data/types: which phases mean what, and durations.
 */
export type {
  Alternative, Availability, AvailabilityBusy as Busy, CalendarFeed, CapacityWindow, Conflict, Limits, Refusal,
  Reservation, ReservationCheck, ReservationClass, EndPolicy, ReservationPhase as Phase, ReservationPolicy,
  ReservationSeries, ReservationSpec, ReservationStatus, PlannedSlice,
} from '../data/types.ts';
export type { ReservationLine as Line } from '../data/types.ts';

export const GROUP = 'berth.dev/v1alpha1';
export const REQUESTED_BY = 'berth.dev/requested-by';

export const FINAL: ReadonlySet<string> = new Set(['Ended', 'Rejected', 'Cancelled', 'Released', 'Expired']);
/* Those whose objects exist. */
export const RUNS: ReadonlySet<string> = new Set(['Preparing', 'Active', 'Degraded', 'Ending']);

/* "30m", "4h", "1h30m" to milliseconds; undefined where it is no duration. */
export function durationMs(text: string | undefined): number | undefined {
  if (!text || !/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) {
    return undefined;
  }
  const unit: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  let sum = 0;
  for (const [, n, , u] of text.matchAll(/(\d+(\.\d+)?)(ms|h|m|s)/g)) {
    sum += Number(n) * (unit[u ?? 's'] ?? 0);
  }
  return sum;
}
