// Every screen with something on it: rules of accessibility and room, at a desk, on a phone and on a wall, light and
// dark, for the administrator and for who may little. Dialogs are looked at in the stories that open them.

import assert from 'node:assert/strict';
import { admitted, apply, axe, DESK, dialog, get, go, job, kubectl, person, PHONE, pickProject, remove, signIn, signInAsAdmin, test, until, WALL, workloadOf } from './lib.mjs';

const HOUR = 3600e3;
const time = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
const loaded = (page) => page.waitForFunction(() => !document.querySelector('main [role=status][aria-label^="Loading"]'));

// What there is to see: work that runs and waits, a booking, a maintenance window, one that waits for approval.
async function furnish() {
  const start = Math.ceil(Date.now() / HOUR) * HOUR;
  const reservation = (name, from, line, spec = {}) => ({ apiVersion: 'berth.dev/v1alpha1', kind: 'Reservation', metadata: { name, namespace: 'red' },
    spec: { start: time(from), end: time(from + 2 * HOUR), lines: [line], purpose: `For ${name}`, ...spec } });
  kubectl('patch', 'reservationpolicy', 'default', '--type=merge', '-p', JSON.stringify({ spec: { approval: [{ match: { class: 'production' }, by: 'admin' }] } }));
  apply(job('red', 'seen', 'echo hello; sleep 900', { gpu: 'nvidia.com/mig-2g.35gb' }), job('red', 'unseen', 'sleep 9', { gpu: 'nvidia.com/gpu', pods: 9 }),
    reservation('shown', start + 20 * HOUR, { resource: 'nvidia.com/mig-1g.18gb', count: 2 }),
    reservation('asked', start + 22 * HOUR, { resource: 'nvidia.com/mig-1g.18gb', count: 1 }, { class: 'production' }),
    { apiVersion: 'berth.dev/v1alpha1', kind: 'CapacityWindow', metadata: { name: 'shut' },
      spec: { type: 'Maintenance', start: time(start + 40 * HOUR), end: time(start + 44 * HOUR), resource: 'nvidia.com/gpu', count: 1, reason: 'Cleaning' } });
  await admitted('red', 'seen');
  await until('one waits for approval', () => get('reservation', 'asked', '-n', 'red').status?.phase === 'PendingApproval');
}

async function clear() {
  kubectl('patch', 'reservationpolicy', 'default', '--type=merge', '-p', '{"spec":{"approval":null}}');
  kubectl('delete', 'reservation', 'shown', 'asked', '-n', 'red', '--ignore-not-found', '--wait=false');
  kubectl('delete', 'capacitywindow', 'shut', '--ignore-not-found', '--wait=false');
  await remove('red', 'seen', 'unseen');
}

const SCREENS = ['', 'calendar', 'calendar?view=day', 'calendar?view=month', 'calendar?as=table', 'bookings?whose=all', 'queues', 'gpus', 'gpus?view=table', 'workloads', 'models', 'models?context=8192', 'services', 'playground', 'keys',
  'admin/quotas', 'admin/approvals', 'admin/policy', 'admin/windows', 'admin/flavors', 'nowhere'];
const word = (s) => (s || 'overview').replace(/\W+/g, '-');

test('every screen of the administrator, by the rules of accessibility', async () => {
  await furnish();
  const w = (await workloadOf('red', 'seen')).metadata.name;
  const page = await person();
  await signInAsAdmin(page);
  for (const s of [...SCREENS, `workloads/red/${w}`, `workloads/red/${w}?tab=yaml`, 'bookings/red/shown', 'workloads/red/gone']) {
    await go(page, s);
    await loaded(page);
    await axe(page, `screen-${word(s)}`);
    assert.equal(await page.evaluate(() => window.hacked), undefined, `${s}: a name was run`);
  }
});

test('every screen of who may little', async () => {
  await furnish();
  const page = await person();
  await signIn(page, 'carol');
  await pickProject(page, 'red');
  for (const s of SCREENS) {
    await go(page, s);
    await loaded(page);
    await axe(page, `little-${word(s)}`, [PHONE]);
  }
});

test('menus and small dialogs, by the same rules', async () => {
  await furnish();
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'workloads');
  const menus = [[/^Project:/, page.getByRole('option', { name: 'red' }), [DESK, WALL]], [/^Time zone:/, page.getByRole('textbox', { name: 'Find a time zone' }), [DESK, WALL]],
    [/^Account:/, page.getByRole('menuitem', { name: 'Sign out' }), [DESK, PHONE, WALL]]];
  for (const [name, inside, sizes] of menus) {
    for (const size of sizes) {
      await page.setViewportSize(size);
      await page.getByRole('button', { name }).click();
      await inside.waitFor();
      await axe(page, `menu-${name.source.replace(/\W/g, '')}`, [size]);
      await page.keyboard.press('Escape');
      await inside.waitFor({ state: 'detached' });
    }
  }
  await go(page, 'admin/approvals');
  await page.getByRole('row', { name: /asked/ }).getByRole('button', { name: 'Reject' }).click();
  await dialog(page).waitFor();
  await axe(page, 'reject');
  await dialog(page).getByLabel('Reason').fill('No room');
  await dialog(page).getByRole('button', { name: 'Reject' }).click();
  await until('it is rejected', () => get('reservation', 'asked', '-n', 'red').status.phase === 'Rejected');
  // On a phone the navigation lies over the page.
  await page.setViewportSize(PHONE);
  await go(page, 'gpus');
  await page.getByRole('button', { name: 'Navigation' }).click();
  await page.getByRole('link', { name: 'Calendar' }).waitFor();
  await axe(page, 'phone-navigation', [PHONE]);
  await clear();
});
