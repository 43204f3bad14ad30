// With the keyboard alone: signing in, getting about, extending and cancelling. (Booking with it is in booking.mjs.)

import assert from 'node:assert/strict';
import { applyAs, at, config, dialog, eventually, get, kubectl, person, test, until } from './lib.mjs';

const HOUR = 3600e3;

// What has the focus, as somebody who hears the page is told.
const focused = (page) =>
  page.evaluate(() => {
    const e = document.activeElement;
    const label = e?.getAttribute('aria-label') ?? (e?.id && document.querySelector(`label[for="${CSS.escape(e.id)}"]`)?.textContent) ?? '';
    return (label || e?.textContent || '').trim();
  });

async function tabTo(page, name, most = 120) {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    if (name.test(await focused(page))) {
      return;
    }
  }
  assert.fail(`${most} times Tab do not lead to ${name}; the focus is on: ${await focused(page)}`);
}

async function downTo(page, name) {
  for (let i = 0; i < 12; i++) {
    if (name.test(await focused(page))) {
      return;
    }
    await page.keyboard.press('ArrowDown');
  }
  assert.fail(`arrows do not lead to ${name}; the focus is on: ${await focused(page)}`);
}

// The mark that shows where the focus is can be seen.
async function showsFocus(page) {
  const seen = await page.evaluate(() => {
    const s = getComputedStyle(document.activeElement);
    return (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1) || s.boxShadow !== 'none';
  });
  assert.ok(seen, `the focus on "${await focused(page)}" is not to be seen`);
}

test('keyboard alone: sign in, extend a booking, cancel it', async () => {
  const start = Math.ceil(Date.now() / HOUR) * HOUR + 30 * HOUR;
  const time = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
  applyAs('alice', 'red', { apiVersion: 'berth.dev/v1alpha1', kind: 'Reservation', metadata: { name: 'by-keys', namespace: 'red' },
    spec: { start: time(start), end: time(start + 2 * HOUR), purpose: 'By keys', lines: [{ resource: 'nvidia.com/mig-1g.18gb', count: 1 }] } });
  await until('it is confirmed', () => get('reservation', 'by-keys', '-n', 'red').status?.phase === 'Confirmed');
  const page = await person();
  const keys = async (...all) => {
    for (const k of all) {
      await page.keyboard.press(k);
    }
  };
  await page.goto(at(page, ''));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await tabTo(page, /^Token/);
  await page.keyboard.type(config.tokens.alice);
  await keys('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await tabTo(page, /^My bookings$/);
  await showsFocus(page);
  await keys('Enter');
  await page.getByRole('heading', { level: 1, name: 'My bookings' }).waitFor();
  assert.equal(await focused(page), 'My bookings', 'the focus goes to the title of the screen');
  await page.getByRole('row', { name: /By keys/ }).waitFor();
  await tabTo(page, /^Actions for by-keys$/);
  await showsFocus(page);
  await keys('Enter');
  await page.getByRole('menuitem', { name: 'Extend' }).waitFor();
  await eventually(async () => assert.match(await focused(page), /\w/));
  await downTo(page, /^Extend$/);
  await keys('Enter');
  await dialog(page).getByRole('heading', { name: 'Extend by-keys' }).waitFor();
  // Escape leaves it as it was.
  await keys('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal(Date.parse(get('reservation', 'by-keys', '-n', 'red').spec.end), start + 2 * HOUR);
  await eventually(async () => assert.equal(await focused(page), 'Actions for by-keys', 'the focus is back where it came from'));
  await keys('Enter');
  await page.getByRole('menuitem', { name: 'Extend' }).waitFor();
  await downTo(page, /^Extend$/);
  await keys('Enter');
  await dialog(page).getByText('It can be extended').waitFor();
  await tabTo(page, /^2 h$/);
  await keys('Space');
  await dialog(page).getByText('It can be extended').waitFor();
  await tabTo(page, /^Extend$/);
  await showsFocus(page);
  await keys('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await until('kubectl sees the new end', () => Date.parse(get('reservation', 'by-keys', '-n', 'red').status.end) === start + 4 * HOUR);
  await eventually(async () => assert.equal(await focused(page), 'Actions for by-keys'));
  await keys('Enter');
  await page.getByRole('menuitem', { name: 'Cancel the booking' }).waitFor();
  await downTo(page, /^Cancel the booking$/);
  await keys('Enter');
  await dialog(page).getByRole('heading', { name: /Cancel by-keys\?/ }).waitFor();
  await tabTo(page, /^Reason/);
  await page.keyboard.type('With keys');
  // The focus stays in the dialog, however often one goes on.
  for (let i = 0; i < 12; i++) {
    await keys('Tab');
    assert.ok(await page.evaluate(() => document.activeElement.closest('[role=dialog]') !== null), 'the focus left the dialog');
  }
  await tabTo(page, /^Cancel the booking$/);
  await keys('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  const r = await until('it is cancelled', () => [get('reservation', 'by-keys', '-n', 'red')].find((x) => x.status.phase === 'Cancelled'));
  assert.equal(r.spec.cancel.reason, 'With keys');
  await page.getByRole('row', { name: /By keys/ }).waitFor({ state: 'detached' });
  kubectl('delete', 'reservation', 'by-keys', '-n', 'red', '--wait=false');
});
