/*
 * The rows of the calendar out of what the server answers: one per flavor and resource, grouped by flavor, each with
 * its bookings packed into lanes so that none covers another, and what is free over time.
 */
import { namedGb } from '../ui/names.ts';
import type { Availability, Busy, CapacityWindow } from '../book/types.ts';
import { isWholeGpu, shortResource } from '../book/draft.ts';

export interface Bar {
  key: string;
  from: number;
  to: number;
  lane: number;
  count: number;
  phase: string;
  namespace?: string;
  name?: string;
  owner?: string;
  purpose?: string;
  mine: boolean;
  visible: boolean; /* the asker may see whose it is */
}

export interface Closure {
  from: number;
  to: number;
  text: string;
  name: string;
}

export interface Row {
  key: string;
  flavor: string;
  resource: string;
  label: string;
  namedGb?: number;
  total: number;
  kept: number; /* by the standing quota of queues: not to book */
  free: { from: number; to: number; free: number; total: number }[];
  bars: Bar[];
  lanes: number;
  closures: Closure[];
}

export interface Group {
  flavor: string;
  title: string;
  rows: Row[];
}

export const LANES_MAX = 12;

/* First lane that is free at its start; earliest first, then longest: the usual packing. */
export function pack(bars: Bar[]): number {
  bars.sort((a, b) => a.from - b.from || b.to - a.to || (a.key < b.key ? -1 : 1));
  const ends: number[] = [];
  for (const b of bars) {
    let lane = ends.findIndex((end) => end <= b.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = b.to;
    b.lane = lane;
  }
  return ends.length;
}

function barOf(b: Busy, i: number, mine: (b: Busy) => boolean): Bar {
  const visible = !!b.name;
  const bar: Bar = {
    key: visible ? `${b.namespace}/${b.name}/${i}` : `busy/${i}`,
    from: Date.parse(b.start), to: Date.parse(b.end), lane: 0, count: b.count ?? 1, phase: b.phase ?? '',
    mine: visible && mine(b), visible,
  };
  if (b.namespace) bar.namespace = b.namespace;
  if (b.name) bar.name = b.name;
  if (b.owner) bar.owner = b.owner;
  if (b.purpose) bar.purpose = b.purpose;
  return bar;
}

function concerns(w: CapacityWindow, item: Availability): boolean {
  if (w.spec.type === 'Added') return false;
  return (!w.spec.flavor || w.spec.flavor === item.flavor) && (!w.spec.resource || w.spec.resource === item.resource);
}

function closuresOf(item: Availability, windows: CapacityWindow[], from: number, to: number): Closure[] {
  const out: Closure[] = [];
  for (const w of windows) {
    const a = Date.parse(w.spec.start), b = Date.parse(w.spec.end);
    if (b > from && a < to && concerns(w, item)) {
      out.push({ from: a, to: b, text: w.spec.reason || w.spec.type, name: w.metadata.name });
    }
  }
  return out;
}

/* "NVIDIA H200, whole GPU": "NVIDIA H200". */
export const productOf = (item: Availability): string => item.displayName?.split(',')[0] || item.flavor;

/* Largest first: the whole GPU, then slices by memory. */
export const bySize = (a: Availability, b: Availability): number =>
  Number(isWholeGpu(b.resource)) - Number(isWholeGpu(a.resource)) || (b.memoryGiB ?? 0) - (a.memoryGiB ?? 0) ||
  Number(b.gpuShare ?? 0) - Number(a.gpuShare ?? 0) || (a.resource > b.resource ? -1 : 1);

export function makeGroups(items: Availability[], windows: CapacityWindow[], from: number, to: number,
  mine: (b: Busy) => boolean): Group[] {
  const groups = new Map<string, Group>();
  for (const item of [...items].sort(bySize)) {
    let kept = 0;
    const bars: Bar[] = [], closures = closuresOf(item, windows, from, to);
    (item.busy ?? []).forEach((b, i) => {
      const bar = barOf(b, i, mine);
      if (!(bar.to > from && bar.from < to)) return;
      if (bar.phase === 'Standing') {
        kept += bar.count;
        return;
      }
      if (bar.phase === 'Maintenance' || bar.phase === 'Blackout') {
        if (!closures.some((c) => c.from === bar.from && c.to === bar.to)) {
          closures.push({ from: bar.from, to: bar.to, text: bar.purpose || bar.phase, name: bar.name ?? '' });
        }
      } else bars.push(bar);
    });
    const row: Row = {
      key: `${item.flavor}|${item.resource}`, flavor: item.flavor, resource: item.resource,
      label: shortResource(item.resource), total: item.total, kept, bars, lanes: pack(bars), closures,
      free: (item.slots ?? []).map((s) => ({
        from: Date.parse(s.start), to: Date.parse(s.end), free: s.free, total: s.total,
      })),
    };
    if (item.memoryGiB !== undefined) row.namedGb = namedGb(item);
    const g = groups.get(item.flavor) ?? { flavor: item.flavor, title: productOf(item), rows: [] };
    g.rows.push(row);
    groups.set(item.flavor, g);
  }
  return [...groups.values()].sort((a, b) => (a.flavor < b.flavor ? -1 : 1));
}

export interface CellState {
  free?: number;
  total?: number;
  mine: Bar[];
  others: Bar[];
  closed?: Closure;
}

export function cellState(row: Row, from: number, to: number): CellState {
  const s: CellState = { mine: [], others: [] };
  for (const f of row.free) {
    if (f.to > from && f.from < to && (s.free === undefined || f.free < s.free)) {
      s.free = f.free;
      s.total = f.total;
    }
  }
  for (const b of row.bars) if (b.to > from && b.from < to) (b.mine ? s.mine : s.others).push(b);
  const c = row.closures.find((x) => x.to > from && x.from < to);
  if (c) s.closed = c;
  return s;
}
