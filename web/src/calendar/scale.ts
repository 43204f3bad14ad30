/*
 * What the calendar shows: the period of a view, its columns (cells that the keyboard walks over), its ticks and
 * headings, and where an instant lies in it. All in real time: a day of 23 or 25 hours is that much narrower or wider.
 */
import {
  DAY, HOUR, MINUTE, addDays, dayHours, dayNumber, dayText, longDayText, monthText, offsetText, rangeText, sameTime,
  startOfDay, startOfMonth, timeText, wallOf, weekdayText,
} from './zone.ts';

export type View = 'day' | 'week' | 'month';
export const VIEWS: View[] = ['day', 'week', 'month'];

export interface Column {
  from: number;
  to: number;
}

export interface Heading extends Column {
  text: string;
  sub?: string; /* "23 h" where the day has not 24 */
  today: boolean;
  weekend: boolean;
}

export interface Scale {
  view: View;
  zone: string;
  from: number;
  to: number;
  step: number; /* of one cell, in ms; a day in the month */
  columns: Column[];
  headings: Heading[];
  ticks: { at: number; text: string; major: boolean }[];
  title: string;
}

/* A week is the seven days from the day on: what is ahead counts, not what was since Monday. */
export function periodOf(view: View, at: number, zone: string): [number, number] {
  if (view !== 'month') return [startOfDay(at, zone), addDays(at, view === 'day' ? 1 : 7, zone)];
  return [startOfMonth(at, zone), startOfMonth(at, zone, 1)];
}

export function movePeriod(view: View, at: number, by: number, zone: string): number {
  if (view === 'month') return startOfMonth(at, zone, by);
  return addDays(at, view === 'week' ? 7 * by : by, zone);
}

function daysOf(from: number, to: number, zone: string, now: number): Heading[] {
  const out: Heading[] = [];
  for (let at = from; at < to;) {
    const next = addDays(at, 1, zone);
    const weekday = new Date(wallOf(at, zone)).getUTCDay();
    const hours = dayHours(at, zone);
    const h: Heading = {
      from: at, to: next, text: '', today: now >= at && now < next, weekend: weekday === 0 || weekday === 6,
    };
    if (hours !== 24) h.sub = `${hours} h`;
    out.push(h);
    at = next;
  }
  return out;
}

/* Cells never cross midnight, so that days of other than 24 hours have all theirs. */
function cells(days: Heading[], step: number): Column[] {
  const out: Column[] = [];
  for (const d of days) {
    for (let at = d.from; at < d.to; at += step) out.push({ from: at, to: Math.min(at + step, d.to) });
  }
  return out;
}

function ticksOf(days: Heading[], view: View, zone: string): Scale['ticks'] {
  const out: Scale['ticks'] = [];
  if (view === 'month') return out;
  for (const d of days) {
    for (let at = d.from; at < d.to; at += HOUR) {
      const hour = new Date(wallOf(at, zone)).getUTCHours();
      if (view === 'week' && (hour % 6 !== 0 || at === d.from)) continue;
      const text = view === 'day' || hour === 12 ? timeText(at, zone) : '';
      out.push({ at, text, major: hour % 6 === 0 });
    }
  }
  return out;
}

export function makeScale(view: View, at: number, zone: string, now: number): Scale {
  const [from, to] = periodOf(view, at, zone);
  const days = daysOf(from, to, zone, now);
  for (const d of days) {
    d.text = view === 'day' ? longDayText(d.from, zone)
      : view === 'week' ? dayText(d.from, zone) : `${weekdayText(d.from, zone)} ${dayNumber(d.from, zone)}`;
  }
  const step = view === 'day' ? 30 * MINUTE : view === 'week' ? 3 * HOUR : DAY;
  const columns = view === 'month' ? days.map((d) => ({ from: d.from, to: d.to })) : cells(days, step);
  const title = view === 'day' ? longDayText(from, zone)
    : view === 'week' ? `${dayText(from, zone)} – ${dayText(to - 1, zone)} ${new Date(wallOf(from, zone)).getUTCFullYear()}`
      : monthText(from, zone);
  return { view, zone, from, to, step, columns, headings: days, ticks: ticksOf(days, view, zone), title };
}

/* 0..1, clamped. */
export const placeOf = (scale: Pick<Scale, 'from' | 'to'>, at: number): number =>
  Math.min(1, Math.max(0, (at - scale.from) / (scale.to - scale.from)));

export const cellAt = (scale: Scale, at: number): number => {
  const i = scale.columns.findIndex((c) => at < c.to);
  return i < 0 ? scale.columns.length - 1 : at < scale.from ? 0 : i;
};

/* What a selection of cells means as times: in the month, whole days are office hours. */
export function selectionRange(scale: Scale, a: number, b: number): [number, number] {
  const first = scale.columns[Math.min(a, b)], last = scale.columns[Math.max(a, b)];
  if (!first || !last) return [scale.from, scale.to];
  if (scale.view !== 'month') return [first.from, last.to];
  const nine = wallOf(first.from, scale.zone) + 9 * HOUR, evening = wallOf(last.from, scale.zone) + 17 * HOUR;
  const at = (wall: number, day: number) => sameTime(day, 0, scale.zone) + (wall - wallOf(day, scale.zone));
  return [at(nine, first.from), at(evening, last.from)];
}

export const cellText = (scale: Scale, c: Column): string =>
  scale.view === 'month' ? longDayText(c.from, scale.zone) : rangeText(c.from, c.to, scale.zone);

/* "UTC+01:00", or both where it changes within the period: "UTC+02:00 → +01:00". */
export function offsetsText(scale: Pick<Scale, 'from' | 'to' | 'zone'>): string {
  const a = offsetText(scale.from, scale.zone), b = offsetText(scale.to - 1, scale.zone);
  return a === b ? `UTC${a}` : `UTC${a} → ${b}`;
}
