// Bookings in the calendar and the dialog, as people make them. Stories run one after another on one Berth of eight
// simulated H200, and later ones use what earlier ones booked. What is asserted is what a person sees and what kubectl says.

import assert from 'node:assert/strict';
import { apply, at, axe, config, dialog, get, go, kubectl, person, phaseOf, pickProject, pickZone, QUEUE, shot, signIn, signInAsAdmin, test, until } from './lib.mjs';

const submit = (page) => dialog(page).getByTestId('book-submit');
const more = async (page, what, n = 1) => {
  for (let i = 0; i < n; i++) {
    await dialog(page).getByRole('button', { name: `One ${what} more`, exact: true }).click();
  }
};

// What the dialog's own copy of the object says it will be called.
async function nameIn(page) {
  await dialog(page).getByText('More options').click();
  const name = await dialog(page).getByLabel('Name', { exact: true }).inputValue();
  await dialog(page).getByText('More options').click();
  return name;
}

const local = (page, ms) =>
  page.evaluate((t) => {
    const d = new Date(t);
    const two = (n) => String(n).padStart(2, '0');
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
  }, ms);

const HOUR = 3600e3;
const quarter = () => Math.ceil(Date.now() / (900e3)) * 900e3;

async function times(page, start, end) {
  await dialog(page).getByLabel('From', { exact: true }).fill(await local(page, start));
  await dialog(page).getByLabel('To', { exact: true }).fill(await local(page, end));
}

const kept = {};

test('who has a wrong token stays outside; who has a right one comes in', async () => {
  const page = await person();
  await page.goto(at(page, 'calendar'));
  await page.getByLabel(/^Token/).fill('not-a-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('does not know this token').waitFor();
  await axe(page, 'sign-in');
  await signIn(page, 'alice');
});

test('a link signs in once', async () => {
  const page = await person();
  await signInAsAdmin(page);
  await page.getByRole('navigation').first().waitFor();
});

test('book by mouse: drag over the calendar', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await go(page, 'calendar?view=day');
  const row = page.getByRole('row', { name: /2g\.35gb/ });
  const cells = row.getByRole('gridcell');
  await cells.nth(47).waitFor();
  const labels = await cells.evaluateAll((all) => all.map((c) => c.getAttribute('aria-label')));
  assert.ok(labels.length === 48 && /of \d+ free/.test(labels[47]), `cells say: ${labels[47]}`);
  // Tomorrow is whole: from 9:00 to 11:00.
  await page.getByRole('button', { name: 'Next day' }).click();
  await page.getByRole('row', { name: /2g\.35gb/ }).getByRole('gridcell', { name: /09:00/ }).first().waitFor();
  const a = page.getByRole('row', { name: /2g\.35gb/ }).locator('[data-col="18"]');
  const b = page.getByRole('row', { name: /2g\.35gb/ }).locator('[data-col="21"]');
  await a.scrollIntoViewIfNeeded();
  const from = await a.boundingBox();
  const to = await b.boundingBox();
  await page.mouse.move(from.x + 3, from.y + from.height - 6);
  await page.mouse.down();
  await page.mouse.move(to.x + to.width / 2, to.y + to.height - 6, { steps: 5 });
  await page.mouse.up();
  await dialog(page).waitFor();
  assert.match(await dialog(page).getByLabel('From', { exact: true }).inputValue(), /T09:00$/);
  assert.match(await dialog(page).getByLabel('To', { exact: true }).inputValue(), /T11:00$/);
  await dialog(page).getByLabel('Purpose').fill(`Mouse ${config.hostile}`);
  await dialog(page).getByTestId('verdict-fits').waitFor();
  await axe(page, 'book-dialog');
  await dialog(page).getByText('The objects that will be made').click();
  assert.match(await dialog(page).locator('pre').innerText(), /kind: Reservation/);
  kept.mouse = await nameIn(page);
  await submit(page).click();
  await dialog(page).getByTestId('booked').waitFor();
  await shot(page, 'booked');
  await axe(page, 'book-done');
  const r = get('reservation', kept.mouse, '-n', 'red');
  assert.equal(r.spec.lines[0].resource, 'nvidia.com/mig-2g.35gb');
  assert.equal(r.metadata.annotations['berth.dev/requested-by'], 'alice');
  assert.equal(Date.parse(r.spec.end) - Date.parse(r.spec.start), 2 * HOUR);
  assert.equal(r.status.phase, 'Confirmed');
  await dialog(page).getByRole('button', { name: 'Close' }).last().click();
  await page.getByTestId(`bar-${kept.mouse}`).waitFor();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

test('book by keyboard alone', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await go(page, 'calendar?view=day');
  await page.getByRole('gridcell').first().waitFor();
  const press = (...keys) => keys.reduce((p, k) => p.then(() => page.keyboard.press(k)), Promise.resolve());
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id ?? '');
  // By tab to the grid's one stop.
  for (let i = 0; i < 60 && (await page.evaluate(() => document.activeElement?.getAttribute('role'))) !== 'gridcell'; i++) {
    await press('Tab');
  }
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'gridcell', 'tab reaches the grid');
  await press('PageDown');
  await page.waitForTimeout(700);
  await page.locator('[role=gridcell][tabindex="0"]').waitFor();
  for (let i = 0; i < 80 && (await page.evaluate(() => document.activeElement?.getAttribute('role'))) !== 'gridcell'; i++) {
    await press('Tab');
  }
  await press('Control+Home');
  for (let i = 0; i < 12 && !/1g\.18gb/.test(await focused()); i++) {
    await press('ArrowDown');
  }
  assert.match(await focused(), /1g\.18gb/);
  for (let i = 0; i < 28; i++) {
    await press('ArrowRight');
  }
  await press('Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter');
  await dialog(page).waitFor();
  assert.match(await dialog(page).getByLabel('From', { exact: true }).inputValue(), /T14:00$/);
  assert.match(await dialog(page).getByLabel('To', { exact: true }).inputValue(), /T16:00$/);
  const toField = async (id) => {
    for (let i = 0; i < 120 && (await page.evaluate(() => document.activeElement?.id)) !== id; i++) {
      await press('Tab');
    }
    assert.equal(await page.evaluate(() => document.activeElement?.id), id, `tab reaches ${id}`);
  };
  await toField('book-project');
  await page.keyboard.type('red');
  await toField('book-purpose');
  await page.keyboard.type('Keyboard');
  await dialog(page).getByTestId('verdict-fits').waitFor();
  await press('Enter');
  await dialog(page).getByTestId('booked').waitFor();
  const all = get('reservations', '-n', 'red').items.filter((r) => r.spec.purpose === 'Keyboard');
  assert.equal(all.length, 1);
  assert.equal(all[0].status.phase, 'Confirmed');
  kept.keyboard = all[0].metadata.name;
  await press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
});

test('what was booked now is there as queue objects; only its owner\'s project may use it', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await go(page, 'calendar');
  await page.getByTestId('book').first().click();
  await dialog(page).waitFor();
  await dialog(page).getByRole('button', { name: 'Now, for 2 h' }).click();
  await more(page, '3g.71gb');
  await dialog(page).getByLabel('Purpose').fill('Run');
  await dialog(page).getByTestId('verdict-fits').waitFor();
  const name = (kept.run = await nameIn(page));
  await submit(page).click();
  await dialog(page).getByTestId('booked').waitFor();
  await until('the booking is active', () => phaseOf('red', name) === 'Active', 30_000);
  const r = get('reservation', name, '-n', 'red');
  const cq = get('clusterqueue', `rsv-${r.metadata.uid.slice(0, 8)}`);
  assert.equal(cq.metadata.labels['berth.dev/reservation'], name);
  const lq = get('localqueue', `rsv-${name}`, '-n', 'red');
  assert.equal(lq.spec.clusterQueue, cq.metadata.name);
  const profiles = get('hardwareprofiles.infrastructure.opendatahub.io', '-n', 'red').items;
  assert.ok(profiles.some((p) => p.metadata.labels?.['berth.dev/reservation'] === name));

  const job = (ns) => ({
    apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `use-${ns}`, namespace: ns, labels: { [QUEUE]: `rsv-${name}` } },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{
      name: 'main', image: 'busybox', command: ['sh', '-c', 'sleep 600'],
      resources: { requests: { cpu: '20m', memory: '16Mi' }, limits: { 'nvidia.com/mig-3g.71gb': '1' } } }] } } },
  });
  apply(job('blue'));
  apply(job('red'));
  await until('the owner\'s pod runs', () =>
    get('pods', '-n', 'red').items.some((p) => p.metadata.name.startsWith('use-red') && p.status.phase === 'Running'), 60_000);
  assert.equal(get('pods', '-n', 'blue').items.length, 0, 'another project\'s job does not start');
  const wl = get('workloads', '-n', 'blue').items;
  assert.ok(wl.every((w) => !w.status?.admission), 'and is not admitted');
  // It runs where the plan says.
  const pod = get('pods', '-n', 'red').items.find((p) => p.metadata.name.startsWith('use-red'));
  const plan = get('reservation', name, '-n', 'red').status.plan[0];
  assert.equal(pod.spec.nodeName, plan.node);
  const words = JSON.stringify(pod.metadata.annotations ?? {});
  assert.ok(words.includes(plan.gpu) && words.includes('3g.71gb'), `the pod's place: ${words}; the plan: ${JSON.stringify(plan)}`);
  kubectl('delete', 'job', 'use-blue', '-n', 'blue', '--wait=false');
  await go(page, `bookings/red/${name}`);
  // Each of the objects by its whole name, and the label that work has to have.
  const detail = page.getByTestId('booking-detail');
  for (const text of [cq.metadata.name, lq.metadata.name]) {
    await detail.getByText(text, { exact: true }).first().waitFor();
  }
  await detail.getByText(`${QUEUE}: ${lq.metadata.name}`).first().waitFor();
  await axe(page, 'booking');
});

test('extend, and cancel', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await go(page, `bookings/red/${kept.run}`);
  const before = get('reservation', kept.run, '-n', 'red').spec.end;
  await page.getByTestId('deed-extend').click();
  await dialog(page).getByText('It can be extended').waitFor();
  await axe(page, 'extend');
  await dialog(page).getByTestId('extend-submit').click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal(Date.parse(get('reservation', kept.run, '-n', 'red').spec.end) - Date.parse(before), HOUR);
  await until('it is granted', () => {
    const s = get('reservation', kept.run, '-n', 'red').status;
    return Date.parse(s.end) - Date.parse(before) === HOUR;
  });
  await go(page, 'bookings');
  await page.getByTestId(`booking-${kept.keyboard}`).getByRole('button', { name: /Actions/ }).click();
  await page.getByRole('menuitem', { name: 'Cancel the booking' }).click();
  await dialog(page).getByLabel('Reason').fill('Not needed');
  await axe(page, 'cancel');
  await dialog(page).getByTestId('reason-submit').click();
  await until('it is cancelled', () => phaseOf('red', kept.keyboard) === 'Cancelled');
  await page.getByTestId(`booking-${kept.keyboard}`).waitFor({ state: 'detached' });
  await axe(page, 'bookings');
});

test('two people want the last ones at once: one has them, the other is told what else there is', async () => {
  const start = Math.ceil(Date.now() / HOUR) * HOUR + 50 * HOUR;
  const people = [];
  for (const who of ['anders', 'bob']) {
    const page = await person();
    await signIn(page, who);
    await pickProject(page, who === 'bob' ? 'blue' : 'red');
    await go(page, 'calendar');
    await page.getByTestId('book').first().click();
    await dialog(page).waitFor();
    await times(page, start, start + 2 * HOUR);
    await more(page, 'Whole GPU', 5);
    await dialog(page).getByLabel('Purpose').fill(`Race of ${who}`);
    await dialog(page).getByTestId('verdict-fits').waitFor();
    people.push(page);
  }
  await Promise.all(people.map((page) => submit(page).click()));
  const outcome = async (page) => {
    const won = dialog(page).getByTestId('booked');
    const lost = dialog(page).getByTestId('booked-lost').or(dialog(page).getByTestId('book-refused'));
    await won.or(lost).first().waitFor();
    return (await won.count()) > 0;
  };
  const won = [];
  for (const page of people) {
    won.push(await outcome(page));
  }
  assert.equal(won.filter(Boolean).length, 1, `exactly one has it: ${won}`);
  const loser = people[won.indexOf(false)];
  await dialog(loser).locator('[data-testid^="alternative-"]').first().waitFor();
  await axe(loser, 'alternatives');
  // Taking what is offered instead works.
  await dialog(loser).locator('[data-testid^="alternative-"]').first().click();
  await dialog(loser).getByTestId('verdict-fits').waitFor();
  await submit(loser).click();
  await dialog(loser).getByTestId('booked').waitFor();
  const held = get('reservations', '-A').items.filter((r) => /^Race of/.test(r.spec.purpose ?? '') && r.status?.phase === 'Confirmed');
  assert.equal(held.length, 2);
});

test('every week; and in line for what is taken', async () => {
  const page = await person();
  await signIn(page, 'anders');
  await pickProject(page, 'red');
  await go(page, 'bookings');
  await page.getByTestId('book').first().click();
  const start = quarter() + 200 * HOUR;
  await times(page, start, start + HOUR);
  await dialog(page).getByLabel('Repeat', { exact: true }).selectOption('WEEKLY');
  await dialog(page).getByLabel('How many times').fill('3');
  await more(page, '1g.18gb');
  const series = await nameIn(page);
  await submit(page).click();
  await dialog(page).getByText('3 bookings were made').waitFor();
  assert.equal(get('reservations', '-n', 'red').items.filter((r) => r.spec.seriesName === series && r.status.phase === 'Confirmed').length, 3);
  await dialog(page).getByRole('button', { name: 'Book another' }).click();
  await dialog(page).getByLabel('Repeat', { exact: true }).selectOption('none');
  await dialog(page).getByRole('button', { name: 'One 1g.18gb less', exact: true }).click();
  await more(page, 'Whole GPU', 8);
  await dialog(page).getByTestId('verdict-no').waitFor();
  await dialog(page).getByText('Wait in line').click();
  await dialog(page).getByText('it would wait in line').waitFor();
  const name = await nameIn(page);
  await dialog(page).getByRole('button', { name: 'Join the waiting list' }).click();
  await dialog(page).getByText(/On the waiting list/).waitFor();
  assert.equal(phaseOf('red', name), 'Waitlisted');
  // What is in its way goes, and it has its place without anybody asking again.
  kubectl('delete', 'reservationseries', series, '-n', 'red', '--wait=false');
  for (const r of get('reservations', '-n', 'red').items.filter((x) => x.spec.seriesName === series)) {
    kubectl('delete', 'reservation', r.metadata.name, '-n', 'red', '--ignore-not-found', '--wait=false');
  }
  await until('it has its place', () => ['Confirmed', 'Offered'].includes(phaseOf('red', name)), 30_000);
  await dialog(page).getByText('It is yours').waitFor();
  kubectl('delete', 'reservation', name, '-n', 'red', '--wait=false');
});

test('what others booked is seen without their names, and live', async () => {
  const alice = await person();
  const bob = await person();
  await signIn(alice, 'alice');
  await signIn(bob, 'bob');
  await pickProject(bob, 'blue');
  await go(bob, 'calendar?view=day&as=table');
  await bob.getByRole('table').first().waitFor();
  const html = await bob.content();
  assert.ok(!html.includes(kept.run) && !html.includes('Mouse'), 'the names of another project are not told');
  await pickProject(alice, 'red');
  await go(alice, 'calendar?view=day');
  await alice.getByTestId(`bar-${kept.run}`).waitFor();
  kubectl('patch', 'reservation', kept.run, '-n', 'red', '--type=merge', '-p', '{"spec":{"purpose":"Seen at once"}}');
  // In the text of its bar, which is not shown where the bar is short, as late in the day.
  await alice.getByTestId(`bar-${kept.run}`).filter({ hasText: 'Seen at once' }).first().waitFor();
});

test('who needs approval waits for it, and an administrator gives it', async () => {
  kubectl('patch', 'reservationpolicy', 'default', '--type=merge', '-p',
    JSON.stringify({ spec: { approval: [{ match: { class: 'production' }, by: 'admin' }] } }));
  const start = quarter() + 100 * HOUR;
  const page = await person();
  await signIn(page, 'bob');
  await pickProject(page, 'blue');
  await go(page, 'calendar');
  await page.getByTestId('book').first().click();
  await times(page, start, start + HOUR);
  await more(page, '1g.18gb');
  await dialog(page).getByText('More options').click();
  await dialog(page).getByLabel('Class').selectOption('production');
  const name = await dialog(page).getByLabel('Name', { exact: true }).inputValue();
  await dialog(page).getByText('It fits, and needs approval').waitFor();
  await submit(page).click();
  await dialog(page).getByTestId('booked').waitFor();
  assert.equal(phaseOf('blue', name), 'PendingApproval');
  const admin = await person();
  await signInAsAdmin(admin);
  await go(admin, 'admin/approvals');
  await axe(admin, 'admin-approvals-one');
  await admin.getByRole('button', { name: 'Approve' }).first().click();
  await until('it is confirmed', () => phaseOf('blue', name) === 'Confirmed');
  kubectl('patch', 'reservationpolicy', 'default', '--type=merge', '-p', '{"spec":{"approval":null}}');
});

test('a calendar program can read the feed, until it is revoked', async () => {
  const page = await person();
  await signIn(page, 'alice');
  await go(page, `bookings/red/${kept.mouse}`);
  await page.getByRole('button', { name: 'Add to calendar' }).click();
  const path = await page.getByRole('link', { name: 'Download .ics' }).getAttribute('href');
  const r = await fetch(config.address + path);
  assert.equal(r.status, 200);
  const body = await r.text();
  assert.match(body, /BEGIN:VCALENDAR/);
  assert.match(body, /BEGIN:VEVENT/);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await until('the address is gone', async () => (await fetch(config.address + path)).status === 404);
});

