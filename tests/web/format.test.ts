// Words and numbers, times and quota.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoff } from '../../web/src/data/live.ts';
import type { ClusterQueue, Cohort, Workload } from '../../web/src/data/types.ts';
import { thin } from '../../web/src/ui/chart.tsx';
import { amount, asked, compareResources, profileOf, quantity } from '../../web/src/ui/names.ts';
import { pairsOf, quotaTree, readPreempted, readPreemption } from '../../web/src/ui/quota.ts';
import { goDuration, length, offsetAt, offsetName, relative } from '../../web/src/ui/time.ts';
import { asks, stages, stateOf } from '../../web/src/ui/workload.ts';

test('quantities', () => {
  assert.equal(quantity('500m'), 0.5);
  assert.equal(quantity('64Gi'), 64 * 2 ** 30);
  assert.equal(quantity('1e3'), 1000);
  assert.equal(quantity(3), 3);
  assert.equal(quantity('<img>'), 0);
  assert.equal(quantity(undefined), 0);
});

test('resources', () => {
  assert.equal(profileOf('nvidia.com/mig-2g.35gb'), '2g.35gb');
  assert.equal(asked('nvidia.com/mig-2g.35gb', 2), '2 × 2g.35gb');
  assert.equal(asked('cpu', 0.02), '0.02 cpu');
  assert.equal(amount('memory', 2 ** 31), '2 GiB');
  const order = ['cpu', 'nvidia.com/mig-1g.18gb', 'nvidia.com/gpu', 'nvidia.com/mig-7g.141gb'].sort(compareResources);
  assert.deepEqual(order, ['nvidia.com/gpu', 'nvidia.com/mig-7g.141gb', 'nvidia.com/mig-1g.18gb', 'cpu']);
});

test('lengths of time', () => {
  assert.equal(length(45_000), '45 s');
  assert.equal(length(125_000), '2 min 5 s');
  assert.equal(length(3_600_000 * 27), '1 d 3 h');
  assert.equal(relative(1000, 61_000), '1 min ago');
  assert.equal(relative(61_000, 1000), 'in 1 min');
  assert.equal(goDuration('1h30m'), 5_400_000);
  assert.equal(goDuration('15m0s'), 900_000);
  assert.equal(goDuration('soon'), undefined);
});

test('offsets of zones, with summer time and with half hours', () => {
  const winter = Date.UTC(2026, 0, 15);
  const summer = Date.UTC(2026, 6, 15);
  assert.equal(offsetAt('Europe/Berlin', winter), 60);
  assert.equal(offsetAt('Europe/Berlin', summer), 120);
  assert.equal(offsetAt('Europe/Berlin', Date.UTC(2026, 9, 25, 0, 59, 59)), 120);
  assert.equal(offsetAt('Europe/Berlin', Date.UTC(2026, 9, 25, 1)), 60);
  assert.equal(offsetName('Asia/Kolkata', winter), 'UTC+5:30');
  assert.equal(offsetName('America/St_Johns', winter), 'UTC-3:30');
  assert.equal(offsetName('UTC', winter), 'UTC');
});

test('waits between tries grow to half a minute and no further', () => {
  assert.equal(backoff(0, () => 1), 1000);
  assert.equal(backoff(3, () => 0), 4000);
  assert.equal(backoff(50, () => 1), 30_000);
});

function work(conditions: [string, string, string?, string?][], more: object = {}): Workload {
  return {
    metadata: { name: 'w', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { active: true },
    status: {
      conditions: conditions.map(([type, status, at, reason]) => ({
        type,
        status: status as 'True',
        ...(reason ? { reason } : {}),
        lastTransitionTime: at ?? '2026-01-01T00:00:00Z',
      })),
      ...more,
    },
  } as Workload;
}

test('states of workloads', () => {
  assert.equal(stateOf(work([])), 'waiting');
  assert.equal(stateOf({ ...work([]), spec: { active: false } }), 'held');
  assert.equal(stateOf(work([['QuotaReserved', 'True']])), 'reserved');
  assert.equal(stateOf(work([['QuotaReserved', 'True'], ['Admitted', 'True']])), 'running');
  assert.equal(stateOf(work([['Admitted', 'True'], ['PodsReady', 'False']])), 'starting');
  assert.equal(stateOf(work([['Admitted', 'True'], ['Evicted', 'True']], { admission: { clusterQueue: 'q' } })), 'stopping');
  assert.equal(stateOf(work([['Finished', 'True', undefined, 'Failed']])), 'failed');
  assert.equal(stateOf(work([['Finished', 'True', undefined, 'Succeeded']])), 'succeeded');
});

test('the life of a workload', () => {
  const w = work([
    ['QuotaReserved', 'True', '2026-01-01T00:10:00Z'],
    ['Admitted', 'True', '2026-01-01T00:10:00Z'],
    ['PodsReady', 'True', '2026-01-01T00:11:00Z'],
  ]);
  const now = Date.parse('2026-01-01T00:31:00Z');
  assert.deepEqual(
    stages(w, now).map((s) => [s.kind, (s.to - s.from) / 60_000, s.open]),
    [
      ['waiting', 10, false],
      ['starting', 1, false],
      ['running', 20, true],
    ],
  );
});

test('what a workload asks for counts every pod', () => {
  const w = {
    metadata: { name: 'w' },
    spec: { podSets: [{ name: 'm', count: 3, template: { spec: { containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': '2' } } }] } } }] },
  } as Workload;
  assert.equal(asks(w).get('nvidia.com/gpu'), 6);
});

function queue(name: string, nominal: string, used: string, borrowed = '0'): ClusterQueue {
  return {
    metadata: { name },
    spec: {
      cohortName: 'pool',
      resourceGroups: [{ coveredResources: ['gpu'], flavors: [{ name: 'f', resources: [{ name: 'gpu', nominalQuota: nominal }] }] }],
    },
    status: { flavorsReservation: [{ name: 'f', resources: [{ name: 'gpu', total: used, borrowed }] }], pendingWorkloads: 1 },
  } as ClusterQueue;
}

test('what is borrowed is lent by the cohort first, then by who leaves it unused', () => {
  const queues = [queue('a', '4', '1'), queue('b', '2', '6', '4'), queue('c', '3', '2')];
  const pool = {
    metadata: { name: 'pool' },
    spec: { resourceGroups: [{ coveredResources: ['gpu'], flavors: [{ name: 'f', resources: [{ name: 'gpu', nominalQuota: '2' }] }] }] },
  } as Cohort;
  const [root] = quotaTree(queues, [pool], { flavor: 'f', resource: 'gpu' });
  assert.ok(root);
  assert.equal(root.name, 'pool');
  assert.equal(root.nominal, 11);
  assert.equal(root.used, 9);
  assert.equal(root.borrowed, 0);
  assert.equal(root.pending, 3);
  const lent = Object.fromEntries(root.children.map((c) => [c.name, c.lent]));
  assert.deepEqual(lent, { a: 2, b: 0, c: 0 });
});

test('a cohort that nobody made, a queue in none, and cohorts in a circle', () => {
  const alone = { ...queue('alone', '1', '0'), spec: { ...queue('alone', '1', '0').spec, cohortName: '' } };
  const ring = (name: string, parentName: string): Cohort => ({ metadata: { name }, spec: { parentName } });
  const roots = quotaTree([queue('a', '1', '0'), alone], [ring('x', 'y'), ring('y', 'x')], { flavor: 'f', resource: 'gpu' });
  assert.deepEqual(
    roots.map((r) => r.name),
    ['pool', 'x', 'y', 'alone'],
  );
  assert.deepEqual(pairsOf([alone], []), [{ flavor: 'f', resource: 'gpu', most: 1 }]);
});

test('who preempted whom', () => {
  const r = readPreemption(
    'Preempted to accommodate a workload (UID: cb4c-1, JobUID: 17b6) due to reclamation within the cohort; preemptor path: /pool/language; preemptee path: /pool/vision; preemptor effective priority: 1000',
  );
  assert.deepEqual(r, { uid: 'cb4c-1', why: 'reclamation within the cohort', byPath: '/pool/language', path: '/pool/vision' });
  assert.equal(readPreemption('something else'), undefined);
  assert.equal(readPreempted('Preempted workload a/b (UID: u-1) in ClusterQueue q'), 'u-1');
});

test('a chart joins neighbours and keeps gaps', () => {
  const at = Array.from({ length: 10 }, (_, i) => i);
  const t = thin(at, [{ key: 'a', label: 'a', look: 'line', colour: 'used', values: [1, 3, undefined, undefined, 5, 5, 0, 2, 4, 4] }], 5);
  assert.deepEqual(t.at, [0, 2, 4, 6, 8]);
  assert.deepEqual(t.series[0]?.values, [2, undefined, 5, 1, 4]);
});
