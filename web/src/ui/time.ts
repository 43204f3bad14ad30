// Times and lengths of time for people, in the zone the page shows.

import { strings } from '../strings.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, o: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(o);
  let f = formats.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat(undefined, { ...o, timeZone: zone });
    formats.set(key, f);
  }
  return f;
}

export function millis(t: string | number | Date | undefined): number | undefined {
  if (t === undefined || t === '') {
    return undefined;
  }
  const n = typeof t === 'number' ? t : new Date(t).getTime();
  return Number.isNaN(n) ? undefined : n;
}

// "14:05"
export function clock(t: string | number, zone: string, seconds = false): string {
  const n = millis(t);
  return n === undefined
    ? ''
    : format(zone, { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' } : {}) }).format(n);
}

// "Mon, 23 Nov, 14:05": the year is said when it is another one.
export function moment(t: string | number, zone: string, now = Date.now()): string {
  const n = millis(t);
  if (n === undefined) {
    return '';
  }
  const year = (x: number): string => format(zone, { year: 'numeric' }).format(x);
  return format(zone, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(year(n) === year(now) ? {} : { year: 'numeric' as const }),
    hour: '2-digit',
    minute: '2-digit',
  }).format(n);
}

// The whole of it, with the zone's short name; for tooltips.
export function exact(t: string | number, zone: string): string {
  const n = millis(t);
  return n === undefined
    ? ''
    : format(zone, {
        weekday: 'short',
        year: 'numeric',
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        timeZoneName: 'short',
      }).format(n);
}

// A length in at most two units: "3 d 4 h", "12 min", "45 s".
export function length(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  const d = Math.floor(s / 86400);
  const h = Math.floor((s % 86400) / 3600);
  const m = Math.floor((s % 3600) / 60);
  if (d > 0) {
    return h > 0 && d < 10 ? `${d} d ${h} h` : `${d} d`;
  }
  if (h > 0) {
    return m > 0 ? `${h} h ${m} min` : `${h} h`;
  }
  if (m > 0) {
    return m < 5 && s % 60 > 0 ? `${m} min ${s % 60} s` : `${m} min`;
  }
  return `${s} s`;
}

// "3 min ago", "in 2 h"; in coarse steps, so that a page of them does not flicker.
export function relative(t: string | number, now = Date.now()): string {
  const n = millis(t);
  if (n === undefined) {
    return '';
  }
  const d = now - n;
  if (Math.abs(d) < 1000) {
    return strings.common.now;
  }
  return d > 0 ? strings.common.ago(length(d)) : strings.common.in(length(-d));
}

// A Go duration ("1h30m", "90s", "15m0s") in milliseconds; undefined when it is none.
export function goDuration(s: string | undefined): number | undefined {
  if (!s || !/^(\d+(\.\d+)?(h|m|s|ms))+$/.test(s)) {
    return undefined;
  }
  const unit: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  let sum = 0;
  for (const m of s.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)) {
    sum += Number(m[1]) * (unit[m[2] as string] as number);
  }
  return sum;
}

// Offset of a zone from UTC at an instant, in minutes.
export function offsetAt(zone: string, t: number): number {
  const p = format(zone, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
    era: 'short',
  }).formatToParts(t);
  const of = (k: string): number => Number(p.find((x) => x.type === k)?.value ?? 0);
  const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return Math.round((local - Math.floor(t / 1000) * 1000) / 60_000);
}

// "UTC+1", "UTC-3:30"
export function offsetName(zone: string, t: number): string {
  const m = offsetAt(zone, t);
  const a = Math.abs(m);
  const rest = a % 60 ? `:${String(a % 60).padStart(2, '0')}` : '';
  return m === 0 ? 'UTC' : `UTC${m < 0 ? '-' : '+'}${Math.floor(a / 60)}${rest}`;
}
