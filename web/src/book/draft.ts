/*
 * What a person is about to book: the state of the dialog, the presets of its times, and the objects made of it.
 * Pure: the clock is an argument.
 */
import { GROUP, type Availability, type EndPolicy, type Line, type ReservationClass, type ReservationSeries, type ReservationSpec } from './types.ts';
import { namedGb } from '../ui/names.ts';
import { DAY, HOUR, MINUTE, addDays, instantOf, rfc3339, startOfDay, toInput, wallOf } from '../calendar/zone.ts';

export interface Repeat {
  freq: 'none' | 'DAILY' | 'WEEKLY' | 'WEEKDAYS';
  count: number;
  conflictPolicy: 'Reject' | 'Skip' | 'Waitlist';
}

export interface Draft {
  name: string;
  project: string;
  start: number;
  end: number;
  zone: string;
  lines: Line[];
  purpose: string;
  class: ReservationClass;
  exclusive: boolean;
  endPolicy: EndPolicy;
  waitlist: boolean;
  autoExtend: string; /* "" for none */
  group: string; /* a group that may use it as well; "" for none */
  repeat: Repeat;
}

export type Preset = 'now' | 'afternoon' | 'tomorrow' | 'custom';

const up = (at: number, step: number): number => Math.ceil(at / step) * step;

/* Whole steps of the zone's wall clock: in +05:45 the grid is :00, :15, :30, :45 there. */
export function alignUp(at: number, step: number, zone: string): number {
  const wall = wallOf(at - (at % 1000), zone) + (at % 1000);
  return at + (up(wall, step) - wall);
}

export const alignDown = (at: number, step: number, zone: string): number => alignUp(at - step + 1, step, zone);

export function presetRange(preset: Preset, now: number, zone: string, step: number): [number, number] | undefined {
  if (preset === 'now') {
    /* From the slot that runs: a booking may start in the past of its own slot, and nothing is lost by it. */
    const start = alignDown(now, step, zone);
    return [start, start + 2 * HOUR];
  }
  const day = startOfDay(now, zone);
  const wall = wallOf(day, zone);
  if (preset === 'afternoon') {
    const from = Math.max(instantOf(wall + 13 * HOUR, zone), alignDown(now, step, zone));
    const to = instantOf(wall + 18 * HOUR, zone);
    return to - from >= 30 * MINUTE ? [from, to] : undefined;
  }
  if (preset === 'tomorrow') {
    const next = wallOf(addDays(now, 1, zone), zone);
    return [instantOf(next + 9 * HOUR, zone), instantOf(next + 17 * HOUR, zone)];
  }
  return undefined;
}

/* A name that says what and when, and that no other booking of the same minute is likely to have. */
export function proposeName(draft: Pick<Draft, 'lines' | 'start' | 'zone' | 'purpose'>, salt: string): string {
  const words = draft.purpose.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 24)
    .replace(/-+$/, '');
  const what = words || shortResource(draft.lines[0]?.resource ?? 'gpu').replace(/[^a-z0-9]+/g, '-');
  const day = toInput(draft.start, draft.zone).slice(5, 10).replace('-', '');
  const name = `${what}-${day}-${salt}`;
  return /^[a-z]/.test(name) ? name : `b-${name}`;
}

export const randomSalt = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return Array.from(bytes, (b) => 'bcdfghjklmnpqrstvwxz2456789'[b % 27]).join('');
};

/* "nvidia.com/mig-1g.18gb.me": "1g.18gb+me"; "nvidia.com/gpu": "gpu". */
export const shortResource = (resource: string): string =>
  resource.replace(/^.*\//, '').replace(/^mig-/, '').replace(/\.me$/, '+me');
export const isWholeGpu = (resource: string): boolean => !resource.includes('/mig-');

export function specOf(draft: Draft): ReservationSpec {
  const spec: ReservationSpec = {
    start: rfc3339(draft.start),
    end: rfc3339(draft.end),
    timeZone: draft.zone,
    lines: draft.lines.map((l) => ({ ...l, count: l.count ?? 1 })),
  };
  if (draft.purpose.trim()) spec.purpose = draft.purpose.trim();
  if (draft.class !== 'standard') spec.class = draft.class;
  if (draft.exclusive) spec.exclusive = true;
  if (draft.endPolicy !== 'demote') spec.endPolicy = draft.endPolicy;
  if (draft.waitlist) spec.waitlist = true;
  if (draft.autoExtend) spec.autoExtend = { max: draft.autoExtend };
  if (draft.group.trim()) spec.beneficiary = { kind: 'Group', name: draft.group.trim() };
  return spec;
}

export const rruleOf = (r: Repeat): string =>
  r.freq === 'WEEKDAYS' ? `FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=${r.count}` : `FREQ=${r.freq};COUNT=${r.count}`;

export function objectOf(draft: Draft): Record<string, unknown> {
  const metadata = { name: draft.name, namespace: draft.project };
  const spec = specOf(draft);
  if (draft.repeat.freq === 'none') return { apiVersion: GROUP, kind: 'Reservation', metadata, spec };
  const { start: _s, end: _e, timeZone: _z, ...template } = spec;
  const series: ReservationSeries['spec'] = {
    timeZone: draft.zone,
    start: `${toInput(draft.start, draft.zone)}:00`,
    duration: minutesText(draft.end - draft.start),
    rrule: rruleOf(draft.repeat),
    conflictPolicy: draft.repeat.conflictPolicy,
    template,
  };
  return { apiVersion: GROUP, kind: 'ReservationSeries', metadata, spec: series };
}

export function minutesText(ms: number): string {
  const minutes = Math.round(ms / MINUTE);
  const h = Math.floor(minutes / 60), m = minutes % 60;
  return m === 0 ? `${h}h` : h === 0 ? `${m}m` : `${h}h${m}m`;
}

export type Fault = 'noLines' | 'order' | 'past' | 'project' | 'name' | 'long' | 'purpose' | 'repeat';

/* What is wrong with the form itself; whether it fits is the server's to say. */
export function faultsOf(draft: Draft, now: number): Fault[] {
  const out: Fault[] = [];
  if (draft.lines.length === 0) out.push('noLines');
  if (!(draft.end > draft.start)) out.push('order');
  else if (draft.end <= now) out.push('past');
  if (draft.end - draft.start > 366 * DAY) out.push('long');
  if (!draft.project) out.push('project');
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(draft.name)) out.push('name');
  if ([...draft.purpose].length > 160) out.push('purpose');
  if (draft.repeat.freq !== 'none' && !(draft.repeat.count >= 1 && draft.repeat.count <= 366)) out.push('repeat');
  return out;
}

/* The least that is free of an item over the whole of [from, to); undefined where the answer does not cover it. */
export function freeOver(item: Availability, from: number, to: number): number | undefined {
  let least: number | undefined;
  for (const s of item.slots ?? []) {
    const a = Date.parse(s.start), b = Date.parse(s.end);
    if (b > from && a < to) least = Math.min(least ?? Infinity, s.free);
  }
  return least;
}

/* The smallest thing with that many GB: what to book when a person knows the need and not the name. A GB is what its name
   says, or 10^9 bytes. */
export function byMemory(items: Availability[], need: number, from: number, to: number): Availability | undefined {
  const fits = items.filter((i) => Math.max(namedGb(i), (i.memoryGiB ?? 0) * 2 ** 30 / 1e9) >= need && i.total > 0);
  fits.sort((a, b) => (a.memoryGiB ?? 0) - (b.memoryGiB ?? 0) || Number(a.gpuShare ?? 1) - Number(b.gpuShare ?? 1));
  return fits.find((i) => (freeOver(i, from, to) ?? 0) > 0) ?? fits[0];
}

export function withCount(all: Line[], flavor: string, resource: string, count: number): Line[] {
  const rest = all.filter((l) => !(l.resource === resource && (l.flavor ?? '') === flavor));
  return count <= 0 ? rest : [...rest, { resource, flavor, count }];
}

export const countOf = (all: Line[], flavor: string, resource: string): number =>
  all.find((l) => l.resource === resource && (l.flavor ?? '') === flavor)?.count ?? 0;

export function linesText(all: Line[]): string {
  return all.map((l) => `${l.count ?? 1} × ${isWholeGpu(l.resource) ? 'GPU' : shortResource(l.resource)}`).join(' + ');
}
