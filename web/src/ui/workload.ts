// What a Workload says about itself, in the words that the queue's commands use.

import type { Condition, Workload } from '../data/types.ts';
import { quantity } from './names.ts';
import { millis } from './time.ts';

export type WorkState = 'running' | 'starting' | 'stopping' | 'reserved' | 'waiting' | 'held' | 'succeeded' | 'failed';

export const STATES: WorkState[] = ['running', 'starting', 'reserved', 'waiting', 'held', 'stopping', 'succeeded', 'failed'];

export function condition(w: Workload, type: string): Condition | undefined {
  return w.status?.conditions?.find((c) => c.type === type);
}

function is(w: Workload, type: string): boolean {
  return condition(w, type)?.status === 'True';
}

export function stateOf(w: Workload): WorkState {
  const f = condition(w, 'Finished');
  if (f?.status === 'True') {
    return f.reason === 'Failed' || /fail/i.test(f.reason ?? '') ? 'failed' : 'succeeded';
  }
  if (is(w, 'Evicted') && (w.status?.admission || is(w, 'QuotaReserved'))) {
    return 'stopping';
  }
  if (is(w, 'Admitted')) {
    return condition(w, 'PodsReady')?.status === 'False' ? 'starting' : 'running';
  }
  if (is(w, 'QuotaReserved')) {
    return 'reserved';
  }
  return w.spec.active === false ? 'held' : 'waiting';
}

export function finished(s: WorkState): boolean {
  return s === 'succeeded' || s === 'failed';
}

// Whose Workload it is: the Job, or what else made it.
export function ownerName(w: Workload): string {
  const o = w.metadata.ownerReferences?.find((r) => r.controller) ?? w.metadata.ownerReferences?.[0];
  return o?.name ?? w.metadata.name;
}

export function owner(w: Workload): { apiVersion: string; kind: string; name: string } | undefined {
  return w.metadata.ownerReferences?.find((r) => r.controller) ?? w.metadata.ownerReferences?.[0];
}

export function priorityClass(w: Workload): string | undefined {
  return w.spec.priorityClassRef?.name || w.spec.priorityClassName || undefined;
}

// What all its pods ask for together.
export function asks(w: Workload): Map<string, number> {
  const sum = new Map<string, number>();
  for (const p of w.spec.podSets ?? []) {
    for (const c of p.template?.spec?.containers ?? []) {
      const want = { ...c.resources?.limits, ...c.resources?.requests };
      for (const [r, q] of Object.entries(want)) {
        sum.set(r, (sum.get(r) ?? 0) + quantity(q) * p.count);
      }
    }
  }
  return sum;
}

// Conditions may name the reason without a sentence.
export function why(w: Workload): string {
  const q = condition(w, 'QuotaReserved');
  if (q?.status === 'False') {
    return q.message ?? q.reason ?? '';
  }
  const e = condition(w, 'Evicted');
  if (e?.status === 'True') {
    return e.message ?? e.reason ?? '';
  }
  return condition(w, 'Finished')?.message ?? '';
}

export interface Stage {
  kind: 'waiting' | 'checks' | 'starting' | 'running';
  from: number;
  to: number;
  open: boolean; // it lasts
}

// The stages of its life since it last waited; earlier runs are told of by its evictions.
export function stages(w: Workload, now: number): Stage[] {
  const at = (type: string): number | undefined => {
    const c = condition(w, type);
    return c?.status === 'True' ? millis(c.lastTransitionTime) : undefined;
  };
  const born = millis(w.metadata.creationTimestamp) ?? now;
  const evicted = condition(w, 'Evicted');
  const again = evicted && evicted.status !== 'True' ? undefined : at('Evicted');
  const reserved = at('QuotaReserved');
  const admitted = at('Admitted');
  const ready = at('PodsReady');
  const done = at('Finished');
  const end = done ?? now;
  const open = done === undefined;
  const out: Stage[] = [];
  const add = (kind: Stage['kind'], from: number, to: number | undefined): void => {
    const last = to === undefined;
    out.push({ kind, from, to: Math.max(from, Math.min(to ?? end, end)), open: last && open });
  };
  add('waiting', again ?? born, reserved);
  if (reserved !== undefined) {
    if (admitted === undefined || admitted - reserved >= 1000) {
      add('checks', reserved, admitted);
    }
    if (admitted !== undefined) {
      if (ready === undefined && done === undefined) {
        add('starting', admitted, undefined);
      } else {
        if (ready !== undefined && ready - admitted >= 1000) {
          add('starting', admitted, ready);
        }
        add('running', ready ?? admitted, undefined);
      }
    }
  }
  return out;
}

export function evictions(w: Workload): { reason: string; count: number }[] {
  return (w.status?.schedulingStats?.evictions ?? []).map((e) => ({ reason: e.reason ?? '', count: e.count ?? 0 }));
}
