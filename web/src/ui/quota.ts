// The arithmetic of quota: what each queue of a tree has, uses, borrows and lends of one resource of one flavor.

import type { ClusterQueue, Cohort, FlavorUsage, ResourceGroup } from '../data/types.ts';
import { compareResources, isGpu, quantity } from './names.ts';

export interface Pair {
  flavor: string;
  resource: string;
}

export interface QuotaNode {
  kind: 'cohort' | 'queue';
  name: string;
  depth: number;
  parent: string | undefined; // cohort
  queue?: ClusterQueue;
  cohort?: Cohort;
  children: QuotaNode[];
  nominal: number;
  used: number;
  borrowed: number;
  lent: number;
  covers: boolean; // it has quota for this pair, perhaps of nothing
  borrowingLimit: number | undefined;
  lendingLimit: number | undefined;
  share: number | undefined;
  weight: number | undefined;
  pending: number;
  admitted: number;
}

export function pairKey(p: Pair): string {
  return `${p.flavor}/${p.resource}`;
}

// All pairs that any queue or cohort has quota for: GPUs first.
export function pairsOf(queues: ClusterQueue[], cohorts: Cohort[]): Pair[] {
  const found = new Map<string, Pair & { most: number }>();
  for (const o of [...queues, ...cohorts]) {
    for (const g of o.spec?.resourceGroups ?? []) {
      for (const f of g.flavors) {
        for (const r of f.resources) {
          const k = pairKey({ flavor: f.name, resource: r.name });
          const had = found.get(k);
          const most = Math.max(had?.most ?? 0, quantity(r.nominalQuota));
          found.set(k, { flavor: f.name, resource: r.name, most });
        }
      }
    }
  }
  // What nobody has quota of is still there to be borrowed from a cohort; without any it is last.
  return [...found.values()].sort(
    (a, b) =>
      Number(isGpu(b.resource)) - Number(isGpu(a.resource)) ||
      Number(b.most > 0) - Number(a.most > 0) ||
      a.flavor.localeCompare(b.flavor) ||
      compareResources(a.resource, b.resource),
  );
}

function quotaOf(
  groups: ResourceGroup[] | undefined,
  p: Pair,
): { nominal: number; borrowingLimit: number | undefined; lendingLimit: number | undefined } | undefined {
  for (const g of groups ?? []) {
    for (const f of g.flavors) {
      if (f.name === p.flavor) {
        const r = f.resources.find((x) => x.name === p.resource);
        if (r) {
          return {
            nominal: quantity(r.nominalQuota),
            borrowingLimit: r.borrowingLimit === undefined ? undefined : quantity(r.borrowingLimit),
            lendingLimit: r.lendingLimit === undefined ? undefined : quantity(r.lendingLimit),
          };
        }
      }
    }
  }
  return undefined;
}

function usageOf(all: FlavorUsage[] | undefined, p: Pair): { total: number; borrowed: number } {
  const r = all?.find((f) => f.name === p.flavor)?.resources.find((x) => x.name === p.resource);
  return { total: quantity(r?.total), borrowed: quantity(r?.borrowed) };
}

function queueNode(q: ClusterQueue, p: Pair): QuotaNode {
  const have = quotaOf(q.spec.resourceGroups, p);
  const use = usageOf(q.status?.flavorsReservation ?? q.status?.flavorsUsage, p);
  return {
    kind: 'queue',
    name: q.metadata.name,
    depth: 0,
    parent: q.spec.cohortName || undefined,
    queue: q,
    children: [],
    nominal: have?.nominal ?? 0,
    used: use.total,
    borrowed: use.borrowed,
    lent: 0,
    covers: have !== undefined,
    borrowingLimit: have?.borrowingLimit,
    lendingLimit: have?.lendingLimit,
    share: q.status?.fairSharing?.weightedShare,
    weight: q.spec.fairSharing?.weight === undefined ? undefined : quantity(q.spec.fairSharing.weight),
    pending: q.status?.pendingWorkloads ?? 0,
    admitted: q.status?.admittedWorkloads ?? 0,
  };
}

function cohortNode(name: string, c: Cohort | undefined, p: Pair): QuotaNode {
  const have = quotaOf(c?.spec?.resourceGroups, p);
  return {
    kind: 'cohort',
    name,
    depth: 0,
    parent: c?.spec?.parentName || undefined,
    ...(c ? { cohort: c } : {}),
    children: [],
    nominal: have?.nominal ?? 0,
    used: 0,
    borrowed: 0,
    lent: 0,
    covers: have !== undefined,
    borrowingLimit: have?.borrowingLimit,
    lendingLimit: have?.lendingLimit,
    share: c?.status?.fairSharing?.weightedShare,
    weight: c?.spec?.fairSharing?.weight === undefined ? undefined : quantity(c.spec.fairSharing.weight),
    pending: 0,
    admitted: 0,
  };
}

function leaves(n: QuotaNode): QuotaNode[] {
  return n.kind === 'queue' ? [n] : n.children.flatMap(leaves);
}

function cohortsOf(n: QuotaNode): QuotaNode[] {
  return n.kind === 'queue' ? [] : [n, ...n.children.flatMap(cohortsOf)];
}

// What is borrowed in a tree comes from quota of its cohorts first, then from what queues do not use; which queue's it
// is nobody writes down, so it is split by how much each has unused.
function lend(root: QuotaNode): void {
  const queues = leaves(root);
  let borrowed = queues.reduce((a, q) => a + Math.max(0, q.used - q.nominal), 0);
  for (const c of cohortsOf(root)) {
    c.lent = Math.min(borrowed, c.nominal);
    borrowed -= c.lent;
  }
  const unused = (q: QuotaNode): number => Math.max(0, Math.min(q.lendingLimit ?? q.nominal, q.nominal - q.used));
  const sum = queues.reduce((a, q) => a + unused(q), 0);
  if (sum <= 0) {
    return;
  }
  const whole = Number.isInteger(borrowed) && queues.every((q) => Number.isInteger(unused(q)));
  for (const q of queues) {
    const part = Math.min(unused(q), (borrowed * unused(q)) / sum);
    q.lent = whole ? Math.floor(part) : part;
  }
  if (!whole) {
    return;
  }
  // Whole GPUs stay whole: what rounding left goes to whose part was cut most.
  const cut = (q: QuotaNode): number => Math.min(unused(q), (borrowed * unused(q)) / sum) - q.lent;
  let left = Math.min(borrowed, sum) - queues.reduce((a, q) => a + q.lent, 0);
  for (const q of [...queues].sort((x, y) => cut(y) - cut(x) || (x.name < y.name ? -1 : 1))) {
    if (left > 0 && q.lent < unused(q)) {
      q.lent++;
      left--;
    }
  }
}

function total(n: QuotaNode, depth: number): void {
  n.depth = depth;
  n.children.sort((a, b) => (a.kind === b.kind ? a.name.localeCompare(b.name, undefined, { numeric: true }) : a.kind === 'cohort' ? -1 : 1));
  for (const c of n.children) {
    total(c, depth + 1);
    n.nominal += c.nominal;
    n.used += c.used;
    n.lent += c.lent;
    n.pending += c.pending;
    n.admitted += c.admitted;
    n.covers ||= c.covers;
  }
  if (n.kind === 'cohort') {
    n.borrowed = Math.max(0, n.used - n.nominal);
  }
}

// The trees: cohorts with their queues, and queues that are in none.
export function quotaTree(queues: ClusterQueue[], cohorts: Cohort[], p: Pair): QuotaNode[] {
  const byName = new Map<string, QuotaNode>();
  for (const c of cohorts) {
    byName.set(c.metadata.name, cohortNode(c.metadata.name, c, p));
  }
  const cohort = (name: string): QuotaNode => {
    let n = byName.get(name);
    if (!n) {
      n = cohortNode(name, undefined, p); // nobody made it; it is there because it is named
      byName.set(name, n);
    }
    return n;
  };
  const roots: QuotaNode[] = [];
  for (const q of queues) {
    const n = queueNode(q, p);
    if (n.parent) {
      cohort(n.parent).children.push(n);
    } else {
      roots.push(n);
    }
  }
  for (const c of [...byName.values()]) {
    if (c.parent) {
      cohort(c.parent);
    }
  }
  const inCycle = (c: QuotaNode): boolean => {
    const seen = new Set<string>();
    for (let x: QuotaNode | undefined = c; x?.parent; x = byName.get(x.parent)) {
      if (seen.has(x.name)) {
        return true;
      }
      seen.add(x.name);
    }
    return false;
  };
  for (const c of byName.values()) {
    if (c.parent && !inCycle(c)) {
      byName.get(c.parent)?.children.push(c);
    } else {
      roots.push(c);
    }
  }
  for (const r of roots) {
    if (r.kind === 'cohort') {
      lend(r);
    }
    total(r, 0);
  }
  return roots.sort((a, b) => (a.kind === b.kind ? a.name.localeCompare(b.name) : a.kind === 'cohort' ? -1 : 1));
}

export interface Preemption {
  at: number;
  victim: { ns: string; name: string };
  by: { ns: string; name: string } | undefined;
  byUid: string;
  why: string;
  byPath: string;
  path: string;
}

// "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...; preemptor path: ...; preemptee path: ..."
export function readPreemption(message: string): { uid: string; why: string; byPath: string; path: string } | undefined {
  const m = /\(UID: ([\w-]+)[^)]*\) due to ([^;]+)(?:; preemptor path: ([^;]*))?(?:; preemptee path: ([^;]*))?/.exec(message);
  return m ? { uid: m[1] as string, why: (m[2] as string).trim(), byPath: (m[3] ?? '').trim(), path: (m[4] ?? '').trim() } : undefined;
}

// "Preempted workload ns/name (UID: ...) in ClusterQueue ..."
export function readPreempted(message: string): string | undefined {
  return /^Preempted workload \S+ \(UID: ([\w-]+)\)/.exec(message)?.[1];
}
