// The store of a list that a watch keeps current.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { availabilities, fleets, pods } from '../../web/src/data/kinds.ts';
import { placesOver, Slots, streams } from '../../web/src/data/slots.ts';
import type { Pod } from '../../web/src/data/types.ts';
import { storeOf, WatchStore } from '../../web/src/data/watch.ts';
import { Fake, pod, status, until } from './fake.ts';

let fake: Fake;

beforeEach(() => {
  fake = new Fake();
  fake.install();
});

function names(s: WatchStore<Pod>): string[] {
  return s.get().items.map((p) => p.metadata.name).sort();
}

test('lists, then watches from the revision of the list', async () => {
  fake.answer = () => ({ items: [pod('x', '5')], metadata: { resourceVersion: '7' } });
  const s = new WatchStore<Pod>('/api/v1/pods');
  const off = s.subscribe(() => undefined);
  const w = await fake.watch();
  assert.equal(w.url.searchParams.get('resourceVersion'), '7');
  assert.deepEqual(names(s), ['x']);
  assert.equal(s.get().phase, 'live');
  w.send({ type: 'ADDED', object: pod('y', '8') }, { type: 'DELETED', object: pod('x', '9') });
  await until(() => names(s).join() === 'y');
  off();
  s.stop();
});

test('pages of a list are one list', async () => {
  fake.answer = (c) =>
    c.url.searchParams.get('continue')
      ? { items: [pod('b', '2')], metadata: { resourceVersion: '7' } }
      : { items: [pod('a', '1')], metadata: { resourceVersion: '7', continue: 'more' } };
  const s = new WatchStore<Pod>('/api/v1/pods');
  s.subscribe(() => undefined);
  await fake.watch();
  assert.deepEqual(names(s), ['a', 'b']);
  s.stop();
});

test('a stream that ends is resumed after the last event, also after a bookmark, without a list', async () => {
  const s = new WatchStore<Pod>('/api/v1/pods');
  s.subscribe(() => undefined);
  const w = await fake.watch();
  w.send({ type: 'ADDED', object: pod('y', '8') }, { type: 'BOOKMARK', object: { metadata: { resourceVersion: '20' } } });
  await until(() => names(s).length === 1);
  w.cut();
  const again = await fake.watch();
  assert.equal(again.url.searchParams.get('resourceVersion'), '20');
  assert.equal(fake.calls.filter((c) => !c.url.searchParams.has('watch')).length, 1);
  assert.deepEqual(names(s), ['y']);
  s.stop();
});

test('a revision that is gone is listed anew: as an event, and as an answer', async () => {
  const s = new WatchStore<Pod>('/api/v1/pods');
  s.subscribe(() => undefined);
  const w = await fake.watch();
  w.send({ type: 'ADDED', object: pod('old', '8') });
  await until(() => names(s).length === 1);
  fake.answer = () => ({ items: [pod('new', '30')], metadata: { resourceVersion: '31' } });
  fake.refuse.push(status(410, 'Expired', 'too old'));
  w.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } });
  await until(() => names(s).join() === 'new');
  await fake.watch(); // refused with 410
  const third = await fake.watch();
  assert.equal(third.url.searchParams.get('resourceVersion'), '31');
  s.stop();
});

test('unreachable: what is here stays, marked stale, and comes back', async () => {
  fake.answer = () => ({ items: [pod('x', '5')], metadata: { resourceVersion: '7' } });
  const s = new WatchStore<Pod>('/api/v1/pods');
  s.subscribe(() => undefined);
  const w = await fake.watch();
  fake.refuse.push('unreachable');
  w.end();
  await until(() => s.get().phase === 'stale');
  assert.deepEqual(names(s), ['x']);
  assert.ok((s.get().since ?? 0) > 0);
  assert.ok(s.get().error?.unreachable);
  await until(() => s.get().phase === 'live');
  assert.equal(s.get().error, undefined);
  s.stop();
});

test('forbidden: nothing is shown, and it is said', async () => {
  fake.answer = () => status(403, 'Forbidden', 'pods is forbidden');
  const s = new WatchStore<Pod>('/api/v1/pods');
  s.subscribe(() => undefined);
  await until(() => s.get().phase === 'failed');
  assert.ok(s.get().error?.forbidden);
  assert.deepEqual(s.get().items, []);
  s.stop();
});

test('two readers share one store, and so one list', async () => {
  const a = storeOf(pods, 'a');
  const b = storeOf(pods, 'a');
  assert.equal(a, b);
  a.subscribe(() => undefined);
  b.subscribe(() => undefined);
  await fake.watch();
  assert.equal(fake.calls.length, 2);
  a.stop();
});

test('over HTTP/2 there are places for all screens, over HTTP/1.1 two connections are left', () => {
  assert.equal(placesOver('http/1.1'), 4);
  assert.equal(placesOver(undefined), 4);
  assert.ok(placesOver('h2') >= 64 && placesOver('h2') < 100);
});

test('with more streams wanted than there are slots, all get their turn', async () => {
  const slots = new Slots(2, 20);
  const turns: string[] = [];
  const end = new AbortController();
  const hold = async (name: string): Promise<void> => {
    while (!end.signal.aborted) {
      let over: () => void = () => undefined;
      const asked = new Promise<void>((r) => (over = r));
      const slot = await slots.take(() => over(), end.signal);
      turns.push(name);
      await Promise.race([asked, new Promise((r) => end.signal.addEventListener('abort', r, { once: true }))]);
      slot.release();
    }
  };
  const all = ['a', 'b', 'c', 'd', 'e'].map((n) => hold(n).catch(() => undefined));
  await until(() => ['a', 'b', 'c', 'd', 'e'].every((n) => turns.filter((t) => t === n).length >= 2));
  end.abort();
  await Promise.all(all);
});

test('who is urgent goes before who waits longer', async () => {
  const slots = new Slots(1, 300);
  const c = new AbortController();
  const first = await slots.take(() => first.release(), c.signal);
  const order: string[] = [];
  const patient = slots.take(() => undefined, c.signal).then(() => order.push('patient'));
  const urgent = slots.take(() => undefined, c.signal, true).then((s) => {
    order.push('urgent');
    s.release();
  });
  await Promise.all([patient, urgent]);
  assert.deepEqual(order, ['urgent', 'patient']);
});

test('fewer places: who holds one too many is asked to yield, and more come back later', async () => {
  const slots = new Slots(3, 60_000);
  const c = new AbortController();
  let yielded = 0;
  const held = await Promise.all([1, 2, 3].map(() => slots.take(() => yielded++, c.signal)));
  slots.limit(1);
  await until(() => yielded === 2);
  held[0]?.release();
  held[1]?.release();
  let got = false;
  void slots.take(() => undefined, c.signal).then(() => (got = true));
  await new Promise((r) => setTimeout(r, 20));
  assert.equal(got, false);
  slots.limit(2);
  await until(() => got);
});

test('without others a slot is held for good', async () => {
  const slots = new Slots(1, 5);
  let asked = false;
  await slots.take(() => (asked = true), new AbortController().signal);
  await new Promise((r) => setTimeout(r, 30));
  assert.equal(asked, false);
});

// ---- what is computed ----

const fleet = (used: number, computed: string): unknown => ({ metadata: { name: 'current' }, types: [{ used }], computed });
const told = { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } };

test('what is computed is not listed: its watch tells what there is, and then what changes', async () => {
  const s = storeOf(fleets, undefined, { fields: 'metadata.name=current' });
  const off = s.subscribe(() => undefined);
  const w = await fake.watch();
  assert.equal(w.url.pathname, '/apis/berth.dev/v1alpha1/fleets');
  assert.equal(w.url.searchParams.get('fieldSelector'), 'metadata.name=current');
  assert.equal(w.url.searchParams.get('sendInitialEvents'), 'true');
  assert.equal(w.url.searchParams.has('resourceVersion'), false);
  w.send({ type: 'ADDED', object: fleet(1, 'a') });
  await new Promise((r) => setTimeout(r, 20));
  assert.equal(s.get().phase, 'loading', 'until all there is was told');
  w.send(told);
  await until(() => s.get().phase === 'live');
  w.send({ type: 'MODIFIED', object: fleet(2, 'b') });
  await until(() => JSON.stringify(s.get().items[0]).includes('"used":2'));
  assert.equal(fake.calls.length, 1);
  off();
  await until(() => s.idle); // its stream is wanted by others
  s.stop();
});

test('asked anew, the same answer is the same object, and what is not told again is gone', async () => {
  const s = new WatchStore<Pod>('/apis/x', {}, undefined, true);
  let drawn = 0;
  s.subscribe(() => drawn++);
  const w = await fake.watch();
  const pod1 = (n: string, computed: string): unknown => ({ metadata: { name: n }, status: { computed } });
  w.send({ type: 'ADDED', object: pod1('a', '1') }, { type: 'ADDED', object: pod1('b', '1') }, told);
  await until(() => names(s).join() === 'a,b');
  const before = s.get().items[0], drawings = drawn;
  w.end();
  const again = await fake.watch();
  again.send({ type: 'ADDED', object: pod1('a', '2') }, { type: 'ADDED', object: pod1('b', '2') }, told);
  await new Promise((r) => setTimeout(r, 30));
  assert.equal(drawn, drawings, 'only when it was worked out is other');
  again.cut();
  const third = await fake.watch();
  third.send({ type: 'ADDED', object: pod1('a', '3') }, told);
  await until(() => names(s).join() === 'a');
  assert.equal(s.get().items[0], before);
  s.stop();
});

test('what is computed and cannot be asked stays, marked stale since the stream ended', async () => {
  const s = new WatchStore<Pod>('/apis/x', {}, undefined, true);
  s.subscribe(() => undefined);
  const w = await fake.watch();
  w.send({ type: 'ADDED', object: pod('x', '1') }, told);
  await until(() => s.get().loaded);
  await new Promise((r) => setTimeout(r, 60));
  const at = Date.now();
  fake.refuse.push(status(503, 'ServiceUnavailable', 'not now'));
  w.cut();
  await until(() => s.get().phase === 'stale');
  assert.deepEqual(names(s), ['x']);
  assert.ok((s.get().since ?? 0) >= at, 'until it was cut off it would have told');
  const next = await fake.watch(); // refused
  assert.ok(next);
  (await fake.watch()).send({ type: 'ADDED', object: pod('x', '1') }, told);
  await until(() => s.get().phase === 'live');
  s.stop();
});

test('with all streams taken a question is asked once, and its turn to watch comes', async () => {
  const c = new AbortController();
  const held = await Promise.all([1, 2, 3, 4].map(() => streams.take(() => undefined, c.signal)));
  fake.answer = (call) => {
    assert.equal(call.url.pathname, '/apis/berth.dev/v1alpha1/availabilities');
    assert.equal(call.url.searchParams.get('step'), '60m');
    return { items: [{ metadata: { name: 'one' } }], metadata: {} };
  };
  const s = storeOf(availabilities, undefined, { query: 'from=a&to=b&step=60m' });
  s.subscribe(() => undefined);
  await until(() => s.get().phase === 'live');
  assert.deepEqual(s.get().items.map((x) => x.metadata.name), ['one']);
  held.forEach((h) => h.release());
  const w = await fake.watch();
  assert.equal(w.url.searchParams.get('from'), 'a');
  s.stop();
});

test('one computed object is asked for by its name when there is no stream for it', async () => {
  const c = new AbortController();
  const held = await Promise.all([1, 2, 3, 4].map(() => streams.take(() => undefined, c.signal)));
  fake.answer = (call) => {
    assert.equal(call.url.pathname, '/apis/berth.dev/v1alpha1/fleets/current');
    assert.equal(call.url.search, '');
    return fleet(3, 'a');
  };
  const s = new WatchStore<Pod>('/apis/berth.dev/v1alpha1/fleets', { fields: 'metadata.name=current' }, undefined, true);
  s.subscribe(() => undefined);
  await until(() => s.get().phase === 'live');
  assert.deepEqual(names(s as WatchStore<Pod>), ['current']);
  s.stop();
  held.forEach((h) => h.release());
});
