// Who is offered what of a booking.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deedsOfPhase } from '../../web/src/book/phase.ts';
import { isOwn, mayDo, whyNot, type Right, type Rights } from '../../web/src/book/rights.ts';
import type { Reservation } from '../../web/src/data/types.ts';

const all = 'all';
const rights = (has: Partial<Record<Right, string[]>>): Rights => (right, project) =>
  !!has[right]?.includes(project ?? all) || !!has[right]?.includes(all);
const booking = (phase: string, reason = '', beneficiary?: { kind: 'User' | 'Group'; name: string }): Reservation =>
  ({
    metadata: { name: 'b', namespace: 'red', annotations: { 'berth.dev/requested-by': 'ana' } },
    spec: { start: '', end: '', lines: [], ...(beneficiary ? { beneficiary } : {}) },
    status: { phase, reason },
  }) as unknown as Reservation;
const offered = (r: Reservation, who: Parameters<typeof mayDo>[2], may: Rights): string =>
  deedsOfPhase(r).filter((d) => mayDo(d, r, who, may)).join();

const ana = { user: 'ana', groups: ['team'], world: 'up' };
const ben = { user: 'ben', groups: ['team'], world: 'up' };
const edit = rights({ patch: ['red'] });
const manage = rights({ patch: ['red'], manage: ['red'], approve: ['red'] });
const admin = rights({ patch: [all], manage: [all], approve: [all] });

test('one’s own is changed with the right to change bookings; without it nothing is offered', () => {
  assert.equal(offered(booking('Confirmed'), ana, edit), 'extend,change,cancel');
  assert.equal(offered(booking('Confirmed'), ana, rights({})), '');
  assert.match(whyNot(booking('Confirmed'), ana, rights({})), /red/);
  assert.equal(whyNot(booking('Confirmed'), ana, edit), '');
});

test('somebody else’s takes the right to manage, unless it was made for one', () => {
  assert.equal(offered(booking('Active'), ben, edit), '');
  assert.notEqual(whyNot(booking('Active'), ben, edit), '');
  assert.equal(offered(booking('Active'), ben, manage), 'extend,cancel');
  assert.ok(isOwn(booking('Active', '', { kind: 'Group', name: 'team' }), ben));
  assert.ok(isOwn(booking('Active', '', { kind: 'User', name: 'ben' }), ben));
  assert.ok(!isOwn(booking('Active', '', { kind: 'User', name: 'team' }), ben));
});

test('who approves is by what the policy wants', () => {
  const manager = booking('PendingApproval', 'NeedsManager'), top = booking('PendingApproval', 'NeedsAdmin');
  assert.equal(offered(manager, ben, manage), 'approve,reject,change,cancel');
  assert.equal(offered(top, ben, manage), 'change,cancel');
  assert.equal(offered(top, ben, admin), 'approve,reject,change,cancel');
  assert.equal(offered(manager, ana, edit), 'change,cancel', 'one does not approve one’s own');
  assert.notEqual(whyNot(top, ben, manage), whyNot(manager, ana, edit));
});

test('on a cluster groups decide, since the webhook cannot ask for rights', () => {
  const r = booking('PendingApproval', 'NeedsAdmin');
  assert.equal(offered(r, { ...ben, world: 'operate' }, admin), '');
  assert.equal(offered(r, { ...ben, world: 'operate', groups: ['berth:booking-managers'] }, edit), 'approve,reject,change,cancel');
});

test('what is not known yet is offered: the server decides', () => {
  assert.equal(offered(booking('Confirmed'), ben, () => undefined), 'extend,change,cancel');
});
