// When something may start: one time, or from when to when, in words and for the clock.

import { strings } from '../strings.ts';
import { clock, exact, length, millis, moment, relative } from './time.ts';

export interface Estimate {
  start?: string;
  earliest?: string;
  latest?: string;
}

const SOON = 30e3; // what may start so soon may start at once

// "in about 20 min", "in 20 min to 1 h 10 min", "within 40 min"; '' where neither a time nor a range is known.
export function startWords(e: Estimate | undefined, now: number): string {
  const early = millis(e?.earliest);
  const late = millis(e?.latest);
  if (e?.start) {
    return strings.workloads.about(relative(e.start, now));
  }
  if (early === undefined || late === undefined) {
    return '';
  }
  return early - now < SOON ? strings.workloads.within(length(late - now)) : strings.workloads.between(length(early - now), length(late - now));
}

// The same for the clock: "Mon, 23 Nov, 14:05", "Mon, 23 Nov, 14:05 – 15:10".
export function startClock(e: Estimate | undefined, zone: string): string {
  if (e?.start) {
    return moment(e.start, zone);
  }
  if (!e?.earliest || !e.latest) {
    return '';
  }
  const [from, to] = [moment(e.earliest, zone), moment(e.latest, zone)];
  const time = clock(e.latest, zone);
  const sameDay = to.endsWith(time) && from.startsWith(to.slice(0, -time.length));
  return `${from} – ${sameDay ? time : to}`;
}

// For a tooltip: the range, to the second.
export function startExact(e: Estimate | undefined, zone: string): string {
  return e?.earliest && e.latest ? `${exact(e.earliest, zone)} – ${exact(e.latest, zone)}` : e?.start ? exact(e.start, zone) : '';
}
