// Requests: what they carry, and what failures are told as.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { forgetAccess, mayI, deed } from '../../web/src/data/access.ts';
import { ApiError, createObject, deleteObject, patchObject, whenSignedOut } from '../../web/src/data/client.ts';
import { jobs, pathOf, pods, reservations, workloads } from '../../web/src/data/kinds.ts';
import { followLog } from '../../web/src/ui/log.tsx';
import { Fake, status, until } from './fake.ts';

let fake: Fake;

beforeEach(() => {
  fake = new Fake();
  fake.install();
});

test('addresses', () => {
  assert.equal(pathOf(pods), '/api/v1/pods');
  assert.equal(pathOf(pods, 'a', 'b', 'log'), '/api/v1/namespaces/a/pods/b/log');
  assert.equal(pathOf(workloads, 'a/b'), '/apis/kueue.x-k8s.io/v1beta2/namespaces/a%2Fb/workloads');
});

test('changes carry the header that no other site can add; reads do not', async () => {
  fake.answer = () => ({ metadata: { name: 'x' } });
  await createObject(reservations, { metadata: { name: 'x', namespace: 'a' }, spec: { start: '', end: '', lines: [] } });
  await patchObject(jobs, 'x', 'a', { spec: {} });
  await deleteObject(jobs, 'x', 'a');
  assert.ok(fake.calls.every((c) => c.headers['X-Berth-Dashboard'] === '1'));
  assert.deepEqual(
    fake.calls.map((c) => c.method),
    ['POST', 'PATCH', 'DELETE'],
  );
  assert.equal(fake.calls[1]?.headers['Content-Type'], 'application/merge-patch+json');
  assert.equal((fake.calls[2]?.body as { propagationPolicy: string }).propagationPolicy, 'Background');
});

test('a Status becomes a message with its causes', async () => {
  fake.answer = () => status(409, 'Conflict', 'it does not fit', [{ field: 'spec.lines[0]', message: 'only 1 free' }]);
  await assert.rejects(patchObject(jobs, 'x', 'a', {}), (e: ApiError) => {
    assert.ok(e.conflict);
    assert.equal(e.message, 'it does not fit');
    assert.equal(e.causes[0]?.field, 'spec.lines[0]');
    return true;
  });
});

test('a page of a proxy in between is not shown as a message', async () => {
  fake.answer = () => new Response('<html>Bad gateway</html>', { status: 502 });
  await assert.rejects(patchObject(jobs, 'x', 'a', {}), (e: ApiError) => {
    assert.ok(!e.message.includes('<'));
    assert.equal(e.code, 502);
    return true;
  });
});

test('401 says that nobody is signed in', async () => {
  let out = false;
  whenSignedOut(() => (out = true));
  fake.answer = () => status(401, 'Unauthorized', 'who are you');
  await assert.rejects(patchObject(jobs, 'x', 'a', {}));
  assert.ok(out);
  whenSignedOut(undefined);
});

test('rights are asked once and kept', async () => {
  forgetAccess();
  fake.answer = () => ({ status: { allowed: true } });
  const d = deed('delete', jobs, 'a');
  assert.equal(await mayI(d), true);
  assert.equal(await mayI(d), true);
  assert.equal(fake.calls.length, 1);
  const asked = fake.calls[0]?.body as { spec: { resourceAttributes: { resource: string; namespace: string } } };
  assert.equal(asked.spec.resourceAttributes.resource, 'jobs');
  assert.equal(asked.spec.resourceAttributes.namespace, 'a');
});

test('a log goes on after the last line when it is cut', async () => {
  const bodies = [
    '2026-11-21T10:00:00.1Z one\n2026-11-21T10:00:00.2Z two\n',
    '2026-11-21T10:00:00.2Z two\n2026-11-21T10:00:00.3Z three\nno stamp\n',
  ];
  fake.answer = () => {
    const text = bodies.shift() ?? '';
    const last = bodies.length === 0;
    return new Response(
      new ReadableStream({
        pull(c) {
          if (text && !this.done) {
            this.done = true;
            c.enqueue(new TextEncoder().encode(text));
          } else if (last) {
            c.close();
          } else {
            c.error(new Error('lost'));
          }
        },
        done: false,
      } as UnderlyingDefaultSource<Uint8Array> & { done: boolean }),
    );
  };
  const lines: string[] = [];
  await followLog('/log', {}, { add: (l) => lines.push(...l), state: () => undefined }, new AbortController().signal);
  assert.deepEqual(lines, ['one', 'two', 'three', 'no stamp']);
  assert.equal(fake.calls[1]?.url.searchParams.get('sinceTime'), '2026-11-21T10:00:00.2Z');
});
