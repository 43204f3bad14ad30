// What a page shows when there is nothing to show, or nothing can be read: empty, loading, failed, not allowed, not
// reachable, signed out. And one of the cards that fails. Those that stop Berth have one of their own.

import assert from 'node:assert/strict';
import {
  admitted, apply, ask, at, axe, cable, cellsOf, cluster, config, dialog, eventually, get, go, isLive, isStale, isTrue, job, kubectl, person, PHONE, pickProject, remove,
  signIn, signInAsAdmin, test, tried, until, workloadOf,
} from './lib.mjs';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SLICE = 'nvidia.com/mig-3g.71gb';

test('no permission: each screen says so, and what the server said', async () => {
  const page = await person();
  await signIn(page, 'carol');
  await pickProject(page, 'red');
  for (const [path, text, resource] of [['workloads', 'You may not see workloads', 'workloads.kueue.x-k8s.io'], ['bookings', 'You may not see bookings', 'reservations.berth.dev']]) {
    await go(page, path);
    await page.getByRole('heading', { name: text }).waitFor();
    await page.getByText('Your account has no right to see this in project red.').waitFor();
    await page.getByRole('button', { name: 'What the server said' }).click();
    await page.getByText(/"?carol"? cannot list resource/).waitFor();
    assert.match(tried('auth', 'can-i', 'list', resource, '-n', 'red', '--as', 'carol', '--as-group', 'nobody').text, /^no/m);
  }
  // Who may look may not do: the buttons say so, and do nothing.
  apply(job('red', 'shown', 'sleep 600'));
  await admitted('red', 'shown');
  const vera = await person();
  await signIn(vera, 'vera');
  await pickProject(vera, 'red');
  await go(vera, `workloads/red/${(await workloadOf('red', 'shown')).metadata.name}`);
  for (const name of ['Cancel job', 'Change priority']) {
    const button = vera.getByRole('button', { name });
    await eventually(async () => assert.ok((await button.count()) === 0 || (await button.isDisabled()), `${name} is not offered`));
    if (await button.count()) {
      await button.click({ force: true });
    }
    assert.equal(await dialog(vera).count(), 0);
  }
  assert.match(tried('auth', 'can-i', 'delete', 'jobs.batch', '-n', 'red', '--as', 'vera', '--as-group', 'lookers').text, /^no/m);
  assert.ok(get('job', 'shown', '-n', 'red'));
  await remove('red', 'shown');
});

test('while it loads, and when it cannot be read: said, and over by itself', async () => {
  apply(job('red', 'there', 'sleep 600'));
  await admitted('red', 'there');
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  let answer;
  const answered = new Promise((r) => (answer = r));
  await page.route('**/namespaces/red/workloads?**', async (route) => {
    await answered;
    await route.continue().catch(() => undefined);
  });
  await go(page, 'workloads');
  await page.getByRole('status', { name: 'Loading workloads' }).waitFor();
  assert.equal(await page.getByRole('table').count(), 0);
  await axe(page, 'loading');
  answer();
  await page.getByRole('row', { name: /there/ }).waitFor();
  assert.equal(await page.getByRole('status', { name: 'Loading workloads' }).count(), 0);
  await page.unroute('**/namespaces/red/workloads?**');
  const fleets = /\/fleets(\/|\?|$)/; // it is read and watched
  await page.route(fleets, (route) => route.fulfill({ status: 500, contentType: 'application/json',
    body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500, message: 'The fleet fell over' }) }));
  await go(page, 'gpus');
  await page.getByRole('heading', { name: 'Cannot read the GPUs' }).waitFor();
  await page.getByText('The fleet fell over').waitFor();
  await axe(page, 'failed');
  await page.unroute(fleets);
  await page.getByRole('article').first().waitFor({ timeout: 45_000 });
  await remove('red', 'there');
});

test('the network goes and comes back: stale since when, and then what happened meanwhile', async () => {
  apply(job('red', 'before', 'sleep 600'));
  await admitted('red', 'before');
  const way = await cable();
  const page = await person({ base: way.address });
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await go(page, 'workloads');
  await page.getByRole('row', { name: /before/ }).waitFor();
  await isLive(page);
  way.cut();
  await isStale(page);
  await axe(page, 'stale');
  await page.getByRole('row', { name: /before/ }).waitFor();
  apply(job('red', 'meanwhile', 'sleep 600'));
  await remove('red', 'before');
  assert.equal(await page.getByRole('row', { name: /meanwhile/ }).count(), 0);
  way.mend();
  await isLive(page);
  await page.getByRole('row', { name: /meanwhile/ }).waitFor();
  await page.getByRole('row', { name: /before/ }).waitFor({ state: 'detached' });
  await remove('red', 'meanwhile');
});

test('a token that is deleted ends the session; with another one goes on where one was', async () => {
  apply(job('red', 'going', 'sleep 600'));
  await admitted('red', 'going');
  const before = new Set(get('secrets', '-n', 'kube-system').items.map((s) => s.metadata.name));
  const token = cluster(config).berth('token', 'anna', '--group', 'red', '--time', '1h').trim();
  const secret = get('secrets', '-n', 'kube-system').items.map((s) => s.metadata.name).find((n) => !before.has(n));
  const page = await person();
  await signIn(page, 'anna', token);
  await pickProject(page, 'red');
  await go(page, 'workloads?state=running');
  await page.getByRole('row', { name: /going/ }).waitFor();
  await isLive(page);
  kubectl('delete', 'secret', secret, '-n', 'kube-system');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByText('You were signed out. Sign in again to go on.').waitFor();
  assert.equal(await page.getByText('going').count(), 0, 'what was seen is not seen any more');
  await axe(page, 'signed-out');
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The server does not know this token.').waitFor();
  await page.getByLabel(/^Token/).fill(config.tokens.alice);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('row', { name: /going/ }).waitFor();
  assert.match(page.url(), /workloads\?state=running$/);
  await page.getByRole('button', { name: 'Account: alice' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.goto(at(page, 'workloads'));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await remove('red', 'going');
});

let other; // the second Berth, as it is reached
let eight = false; // it has eight GPUs and runs

test('nothing there yet: each screen says so', async () => {
  other = await ask('up', 'none');
  const page = await person({ base: other.address });
  await signInAsAdmin(page, other);
  for (const [path, ...texts] of [
    ['', 'No GPUs yet', 'Nothing needs you.'], ['calendar', 'No GPUs can be booked yet'], ['bookings', 'Nothing is booked'],
    ['queues', 'Nothing waits.', 'Nobody was preempted of late.'], ['gpus', 'No GPUs yet'], ['workloads', 'No workloads yet'],
    ['admin/approvals', 'Nothing waits for approval'], ['admin/windows', 'Nothing is planned'],
  ]) {
    await go(page, path);
    // The overview without GPUs has nothing else to say.
    for (const text of path === '' ? texts.slice(0, 1) : texts) {
      await page.getByText(text, { exact: true }).first().waitFor();
    }
    await axe(page, `empty-${path.replace(/\W/g, '-')}`, [PHONE]);
  }
  const k = cluster(other);
  assert.equal(k.get('workloads', '-A').items.length + k.get('reservations', '-A').items.length + (k.get('fleet', 'current').cards ?? []).length, 0);
});

test('the server stops and comes back: stale, then sign in again, then all is there', async () => {
  other = await ask('up', 'sim:8xh200');
  const k = cluster(other);
  await until('the default queue', () => k.tried('get', 'localqueue', 'default').ok);
  k.apply(job('default', 'steady', 'sleep 900', { gpu: SLICE }));
  await admitted('default', 'steady', k);
  const token = k.berth('token', 'root', '--group', 'system:masters', '--time', '1h').trim();
  const page = await person({ base: other.address });
  await signIn(page, 'root', token);
  await go(page, 'workloads');
  await page.getByRole('row', { name: /steady/ }).getByText('running').waitFor();
  await isLive(page);
  await ask('stop');
  await isStale(page);
  await page.getByRole('row', { name: /steady/ }).waitFor();
  await axe(page, 'stopped');
  await ask('up', 'sim:8xh200');
  await page.getByText('You were signed out. Sign in again to go on.').waitFor({ timeout: 60_000 });
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('row', { name: /steady/ }).getByText('running').waitFor();
  await isLive(page);
  assert.ok(isTrue(await workloadOf('default', 'steady', k), 'Admitted'));
  eight = true;
});

// Of what `berth top` and kubectl say of a card, what its picture says.
async function sameCard(page, card) {
  const article = page.getByRole('article', { name: `GPU ${card.index} of ${card.node}` });
  const meter = async (name) => (await article.getByText(name, { exact: true }).locator('xpath=following-sibling::*[1]').innerText()).trim();
  // What the driver does not say of an idle card is not known.
  assert.equal(await meter('Busy'), card.utilization === undefined ? '–' : `${card.utilization} %`);
  assert.equal(await meter('Memory'), card.memoryUsed === undefined ? '–' : `${card.memoryUsed} / ${card.memoryGiB} GiB`);
  assert.ok((card.instances ?? []).length === 0 || card.utilization > 0, 'a card in use says how busy it is');
  assert.equal(await meter('Temperature'), `${card.temperature} °C`);
  const watts = Number((await meter('Power')).replace(/[^\d.]/g, ''));
  assert.ok(watts > 0 && Math.abs(watts - card.power) <= 0.05 * card.power, `${watts} W is not ${card.power} W`);
  const parts = (await article.getByRole('list', { name: `Parts of GPU ${card.index} of ${card.node}` }).getByRole('listitem').allInnerTexts()).map((t) => t.replace(/\s+/g, ' '));
  const told = (card.instances ?? []).map((i) => `${i.profile}, memory slices ${i.start + 1} to ${i.start + i.size} of 8: ` +
    `${i.namespace}/${i.workload?.replace(/^job-/, '') ?? i.pod}, ${i.utilization} % busy`);
  if (told.length === 0) {
    assert.deepEqual(parts, [card.health === 'Unhealthy' ? 'Out of service' : 'Not in use']);
  } else {
    assert.equal(parts.length, told.length);
    for (const t of told) {
      assert.ok(parts.some((p) => p.endsWith(t)), `${t} is none of: ${parts.join('; ')}`);
    }
  }
  return article;
}

test('GPUs: parts, owners and figures of every card; one that fails is out of service', async () => {
  const k = cluster((other = eight ? other : await ask('up', 'sim:8xh200')));
  await until('the default queue', () => k.tried('get', 'localqueue', 'default').ok);
  k.apply(job('default', 'steady', 'sleep 900', { gpu: SLICE }), job('default', 'pair', 'sleep 900', { gpu: 'nvidia.com/mig-2g.35gb', pods: 2 }));
  await admitted('default', 'steady', k);
  await admitted('default', 'pair', k);
  await until('they run', () => k.get('pods', '-n', 'default').items.filter((p) => p.status.phase === 'Running').length === 3, 60_000);
  const page = await person({ base: other.address });
  await signInAsAdmin(page, other);
  await go(page, 'gpus');
  const fleet = () => k.get('fleet', 'current');
  await eventually(async () => {
    const { cards } = fleet();
    assert.equal(cards.length, 8);
    assert.equal(cards.reduce((a, c) => a + (c.instances ?? []).filter((i) => i.namespace === 'default').length, 0), 3);
    for (const c of cards) {
      const article = await sameCard(page, c);
      assert.equal(await article.getByText('Healthy', { exact: true }).count(), 1);
    }
  }, 60_000);
  await axe(page, 'gpus-busy');
  // As a table, and only those in use.
  const busy = fleet().cards.filter((c) => (c.instances ?? []).some((i) => i.used));
  await page.getByRole('button', { name: `In use ${busy.length}`, exact: true }).click();
  await eventually(async () => assert.equal(await page.getByRole('article').count(), busy.length));
  await page.getByRole('button', { name: 'Table', exact: true }).click();
  const table = page.getByRole('table', { name: 'All GPUs' });
  await table.waitFor();
  const place = fleet().cards.find((c) => (c.instances ?? []).some((i) => /^(job-)?steady-/.test(i.workload ?? i.pod ?? '')));
  const cells = await cellsOf(table, table.getByRole('row').filter({ has: page.getByRole('link', { name: /^default\/steady-/ }) }));
  assert.deepEqual([cells.Node, cells.GPU, cells.Health], [place.node, `${place.index}`, 'Healthy']);
  await page.getByRole('button', { name: 'Map', exact: true }).click();
  await page.getByRole('button', { name: 'All 8', exact: true }).click();
  // The driver reports an Xid: the card goes out of service, and the pod on it is told why.
  const faults = join(other.data, 'node', 'sim.state.faults');
  writeFileSync(`${faults}.new`, `xid ${place.index} 48\n`);
  renameSync(`${faults}.new`, faults);
  const article = page.getByRole('article', { name: `GPU ${place.index} of ${place.node}` });
  await article.getByText('Out of service', { exact: true }).first().waitFor();
  await article.getByText(/Xid 48: /).waitFor();
  await until('kubectl sees why', () => k.get('pods', '-n', 'default').items.some((p) => p.metadata.name.startsWith('steady-') &&
    p.status.phase === 'Failed' && p.status.reason === 'GpuUnhealthy' && /Xid 48/.test(p.status.message)));
  assert.match(k.berth('top'), /Xid 48/);
  await page.getByRole('button', { name: 'Trouble 1', exact: true }).click();
  await eventually(async () => assert.equal(await page.getByRole('article').count(), 1));
  await axe(page, 'gpus-trouble');
  await page.getByRole('link', { name: 'Overview' }).first().click();
  const whole = page.getByRole('table', { name: /whole GPUs and slices$/ }).getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'Whole GPU' }) });
  await whole.getByText('(1 broken)').waitFor();
  assert.equal(fleet().types[0].resources.find((r) => r.resource === 'nvidia.com/gpu').broken, 1);
  await page.getByRole('listitem').filter({ hasText: /Xid 48/ }).first().waitFor();
  await axe(page, 'overview-trouble');
});
