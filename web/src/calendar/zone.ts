/*
 * Time zones by what the browser knows of them: the offset at an instant, wall-clock time to an instant and back, the
 * days, weeks and months of a zone, and how times are written.
 *
 * Instants are milliseconds since 1970 (UTC). A wall-clock time is written as if it were UTC ("wall"), so that
 * calendar arithmetic on it needs no zone. A wall time that does not exist is shifted by the gap, one that exists
 * twice is the first: the rules of the server.
 */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const partsOf = new Map<string, Intl.DateTimeFormat>();

function partsFormat(zone: string): Intl.DateTimeFormat {
  let f = partsOf.get(zone);
  if (!f) {
    f = new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric',
      hour: 'numeric', minute: 'numeric', second: 'numeric',
    });
    partsOf.set(zone, f);
  }
  return f;
}

export function isZone(zone: string): boolean {
  try {
    partsFormat(zone);
    return zone !== '';
  } catch {
    return false;
  }
}

/* The wall-clock time of an instant, as if it were UTC. */
export function wallOf(at: number, zone: string): number {
  const p: Record<string, number> = {};
  let before = false;
  for (const part of partsFormat(zone).formatToParts(at)) {
    if (part.type === 'era') before = part.value.startsWith('B');
    else if (part.type !== 'literal') p[part.type] = Number(part.value);
  }
  const year = before ? 1 - (p.year ?? 0) : (p.year ?? 0);
  return Date.UTC(year, (p.month ?? 1) - 1, p.day, p.hour, p.minute, p.second);
}

/* Milliseconds east of UTC. */
export function offsetAt(at: number, zone: string): number {
  const whole = Math.floor(at / 1000) * 1000;
  return wallOf(whole, zone) - whole;
}

export function instantOf(wall: number, zone: string): number {
  const before = offsetAt(wall - DAY, zone);
  const after = offsetAt(wall + DAY, zone);
  const first = wall - before;
  if (before === after || offsetAt(first, zone) === before) return first;
  const second = wall - after;
  return offsetAt(second, zone) === after ? second : first;
}

/* "+01:00", "+05:45", "+00:00" */
export function offsetText(at: number, zone: string): string {
  const minutes = Math.round(offsetAt(at, zone) / MINUTE);
  const abs = Math.abs(minutes);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${minutes < 0 ? '−' : '+'}${two(Math.floor(abs / 60))}:${two(abs % 60)}`;
}

export const startOfDay = (at: number, zone: string): number => {
  const wall = wallOf(at, zone);
  return instantOf(wall - (((wall % DAY) + DAY) % DAY), zone);
};

/* The start of the day that is n calendar days away. */
export const addDays = (at: number, n: number, zone: string): number => {
  const wall = wallOf(at, zone);
  return instantOf(wall - (((wall % DAY) + DAY) % DAY) + n * DAY, zone);
};

/* The same wall-clock time, n days away. */
export const sameTime = (at: number, n: number, zone: string): number => instantOf(wallOf(at, zone) + n * DAY, zone);

export function startOfMonth(at: number, zone: string, plus = 0): number {
  const wall = new Date(wallOf(at, zone));
  return instantOf(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + plus, 1), zone);
}

/* Where the offset changes in [from, to): the instants, to the minute. */
export function changesIn(from: number, to: number, zone: string): number[] {
  const found: number[] = [];
  for (let at = from; at < to; at += DAY) {
    let lo = at, hi = Math.min(at + DAY, to);
    if (offsetAt(lo, zone) === offsetAt(hi, zone)) continue;
    while (hi - lo > MINUTE) {
      const mid = lo + Math.floor((hi - lo) / 2 / MINUTE) * MINUTE;
      if (offsetAt(mid, zone) === offsetAt(lo, zone)) lo = mid;
      else hi = mid;
    }
    if (hi < to) found.push(hi);
  }
  return found;
}

export const dayHours = (at: number, zone: string): number =>
  (addDays(at, 1, zone) - startOfDay(at, zone)) / HOUR;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let f = formats.get(key);
  if (!f) formats.set(key, f = new Intl.DateTimeFormat(undefined, { timeZone: zone, ...options }));
  return f;
}

export const timeText = (at: number, zone: string): string =>
  format(zone, { hour: '2-digit', minute: '2-digit' }).format(at);
export const dayText = (at: number, zone: string): string =>
  format(zone, { weekday: 'short', day: 'numeric', month: 'short' }).format(at);
export const longDayText = (at: number, zone: string): string =>
  format(zone, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }).format(at);
export const monthText = (at: number, zone: string): string =>
  format(zone, { month: 'long', year: 'numeric' }).format(at);
export const dayNumber = (at: number, zone: string): string => format(zone, { day: 'numeric' }).format(at);
export const weekdayText = (at: number, zone: string): string => format(zone, { weekday: 'short' }).format(at);

/* "Tue 24 Nov, 14:00–18:00" or with both days where it ends on another. */
export function rangeText(from: number, to: number, zone: string): string {
  if (!Number.isFinite(from) || !Number.isFinite(to)) {
    return ''; /* what stands for good has no ends */
  }
  if (startOfDay(from, zone) === startOfDay(to - 1, zone)) {
    return `${dayText(from, zone)}, ${timeText(from, zone)}–${timeText(to, zone)}`;
  }
  return `${dayText(from, zone)}, ${timeText(from, zone)} – ${dayText(to, zone)}, ${timeText(to, zone)}`;
}

/* What an <input type="datetime-local"> holds, and back. */
export const toInput = (at: number, zone: string): string => new Date(wallOf(at, zone)).toISOString().slice(0, 16);

export function fromInput(text: string, zone: string): number | undefined {
  const wall = Date.parse(`${text}Z`);
  return Number.isNaN(wall) ? undefined : instantOf(wall, zone);
}

/* True where the wall time is one that the zone skips. */
export const isSkipped = (text: string, zone: string): boolean => {
  const at = fromInput(text, zone);
  return at !== undefined && toInput(at, zone) !== text;
};

/* RFC 3339 to the second, UTC. */
export const rfc3339 = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

export const viewerZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

export function allZones(): string[] {
  const list = (Intl as { supportedValuesOf?: (k: string) => string[] }).supportedValuesOf?.('timeZone') ?? [];
  return list.includes('UTC') ? list : ['UTC', ...list];
}
