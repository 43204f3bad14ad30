/*
 * How much of a person's limits a booking would use, as far as the page can see: what counts in the end is what the
 * server says.
 */
import { HOUR } from '../calendar/zone.ts';
import { B } from '../strings.ts';
import { unitsOf } from './cost.ts';
import type { Draft } from './draft.ts';
import { FINAL, REQUESTED_BY, type Availability, type Reservation, type ReservationPolicy } from './types.ts';
import type { UsedLimit } from './verdict.tsx';

const countUnits = (r: Reservation): number => r.spec.lines.reduce((sum, l) => sum + (l.count ?? 1), 0);

export function limitsUsed(policy: ReservationPolicy | undefined, all: Reservation[], user: string, draft: Draft,
  items: Availability[]): UsedLimit[] {
  const l = policy?.spec?.limits?.user;
  if (!l) {
    return [];
  }
  const mine = all.filter((r) => r.metadata.annotations?.[REQUESTED_BY] === user && !FINAL.has(r.status?.phase ?? ''));
  const over = (r: Reservation) => Date.parse(r.spec.start) < draft.end && Date.parse(r.spec.end) > draft.start;
  const out: UsedLimit[] = [];
  const asked = draft.lines.reduce((sum, x) => sum + x.count, 0);
  if (l.concurrentUnits) {
    const used = mine.filter(over).reduce((sum, r) => sum + countUnits(r), 0) + asked;
    out.push({ text: B.book.limit.concurrentUnits, used, allowed: l.concurrentUnits });
  }
  if (l.futureBookings) {
    out.push({ text: B.book.limit.futureBookings, used: mine.length + 1, allowed: l.futureBookings });
  }
  const week = Number(l.gpuHoursPerWeek ?? 0);
  if (week > 0) {
    const near = mine.filter((r) => Math.abs(Date.parse(r.spec.start) - draft.start) < 7 * 24 * HOUR);
    const hours = near.reduce((sum, r) =>
      sum + unitsOf(r.spec.lines, items) * ((Date.parse(r.spec.end) - Date.parse(r.spec.start)) / HOUR), 0);
    out.push({ text: B.book.limit.gpuHoursPerWeek, used: hours + unitsOf(draft.lines, items) * ((draft.end - draft.start) / HOUR), allowed: week });
  }
  return out;
}
