// Time zones, and days on which clocks change.

import assert from 'node:assert/strict';
import { applyAs, axe, dialog, eventually, get, go, kubectl, person, pickProject, pickZone, shot, signIn, test, until } from './lib.mjs';

const HOUR = 3600e3;
const time = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
const ABROAD = 'Australia/Adelaide'; // half an hour beside most of the world
const offset = (ms) => new Intl.DateTimeFormat('en-GB', { timeZone: ABROAD, timeZoneName: 'longOffset' }).format(ms).replace(/.*GMT/, 'UTC');
const clock = (zone, ms) => new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(ms);

test('zones: the same booking in another zone, which stays chosen', async () => {
  const start = Math.ceil(Date.now() / HOUR) * HOUR + 26 * HOUR;
  applyAs('alice', 'red', { apiVersion: 'berth.dev/v1alpha1', kind: 'Reservation', metadata: { name: 'abroad', namespace: 'red' },
    spec: { start: time(start), end: time(start + 2 * HOUR), lines: [{ resource: 'nvidia.com/mig-1g.18gb', count: 1 }] } });
  await until('it is confirmed', () => get('reservation', 'abroad', '-n', 'red').status?.phase === 'Confirmed');
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await go(page, 'bookings/red/abroad');
  const shown = (zone) => page.getByText(new RegExp(`${clock(zone, start)}.*${clock(zone, start + 2 * HOUR)}`)).first().waitFor();
  await shown('Europe/Warsaw');
  await pickZone(page, 'Adelaide');
  await shown(ABROAD);
  await page.getByText(offset(start)).first().waitFor();
  await page.reload();
  await shown(ABROAD);
  // In the calendar it is where that zone has it, and in the dialog a time is one of that zone.
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: ABROAD }).format(start);
  await go(page, `calendar?view=day&day=${day}`);
  await eventually(async () => assert.equal(await page.getByTestId('cal-offset').innerText(), `${ABROAD}, ${offset(start)}`));
  const booked = page.getByRole('gridcell', { name: /abroad/ });
  await booked.first().waitFor();
  assert.match(await booked.first().getAttribute('aria-label'), new RegExp(`${clock(ABROAD, start)}.${clock(ABROAD, start + 2 * HOUR)}`));
  await page.getByRole('button', { name: 'Book GPUs' }).click();
  await dialog(page).getByLabel('From', { exact: true }).fill(`${day}T20:15`);
  await dialog(page).getByLabel('To', { exact: true }).fill(`${day}T22:15`);
  await dialog(page).getByRole('button', { name: 'One 1g.18gb more', exact: true }).click();
  await dialog(page).getByLabel('Purpose').fill('Abroad too');
  await dialog(page).getByRole('button', { name: 'Book', exact: true }).click();
  await dialog(page).getByText('It is yours').waitFor();
  const made = get('reservations', '-n', 'red').items.find((r) => r.spec.purpose === 'Abroad too');
  assert.equal(clock(ABROAD, Date.parse(made.spec.start)), '20:15');
  assert.equal(new Date(made.spec.start).getUTCMinutes(), 45);
  assert.equal(made.spec.timeZone, ABROAD);
  kubectl('delete', 'reservation', 'abroad', made.metadata.name, '-n', 'red', '--wait=false');
});

test('a day of 25 hours, one of 23, and a booking across the change', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  const cells = () => page.getByRole('row', { name: /Whole GPU/ }).getByRole('gridcell');
  // The last Sunday of October in Warsaw has 25 hours, that of March 23; in New York it is the first of November.
  await go(page, 'calendar?view=day&day=2027-10-31');
  await eventually(async () => assert.equal(await cells().count(), 50));
  await page.getByText('25 h', { exact: true }).first().waitFor();
  await page.getByText('clocks go back 1 h').waitFor();
  assert.match(await page.getByTestId('cal-offset').innerText(), /UTC\+02:00 → \+01:00/);
  await shot(page, 'calendar-dst');
  await axe(page, 'calendar-dst');
  await go(page, 'calendar?view=day&day=2027-03-28');
  await eventually(async () => assert.equal(await cells().count(), 46));
  await page.getByText('23 h', { exact: true }).first().waitFor();
  await page.getByText('clocks go forward 1 h').waitFor();
  await pickZone(page, 'New York');
  await eventually(async () => assert.equal(await cells().count(), 48, 'no change there on that day'));
  await go(page, 'calendar?view=day&day=2027-11-07');
  await eventually(async () => assert.equal(await cells().count(), 50));
  // Next March, from 1:00 to 4:00 by the clock are two hours, and the dialog says why.
  await pickZone(page, 'Warsaw');
  const days = [...Array(500).keys()].map((i) => Date.now() + (i + 1) * 24 * HOUR);
  const change = days.find((t) => new Date(t).getUTCMonth() === 2 && new Date(t).getUTCDay() === 0 && new Date(t).getUTCDate() > 24);
  const day = new Date(change).toISOString().slice(0, 10);
  await page.getByRole('button', { name: 'Book GPUs' }).click();
  await dialog(page).getByLabel('From', { exact: true }).fill(`${day}T01:00`);
  await dialog(page).getByLabel('To', { exact: true }).fill(`${day}T04:00`);
  await dialog(page).getByText('Clocks change within it: UTC+01:00 at the start, UTC+02:00 at the end.').waitFor();
  await dialog(page).getByText(/^2 h, at UTC\+01:00/).waitFor();
  await axe(page, 'book-across-a-change');
});
