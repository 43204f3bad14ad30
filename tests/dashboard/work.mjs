// Workloads, queues and figures of the fleet: what runs, what waits and why, and what can be done about it.

import assert from 'node:assert/strict';
import {
  admitted, apply, axe, berth, cellsOf, dialog, eventually, get, go, isTrue, job, kubectl, person, pickProject, remove, second, shot,
  signIn, signInAsAdmin, test, tried, until, waits, why, workloadOf,
} from './lib.mjs';

const SLICE = 'nvidia.com/mig-1g.18gb';
const LARGER = 'nvidia.com/mig-2g.35gb';
const GPU = 'nvidia.com/gpu';

const workloadPage = async (page, ns, name) => go(page, `workloads/${ns}/${(await workloadOf(ns, name)).metadata.name}`);
const fact = (page, name) => page.getByRole('term').filter({ hasText: new RegExp(`^${name}$`) }).locator('xpath=following-sibling::*[1]');

test('workloads: the list and one of them, with its events', async () => {
  apply(job('red', 'thinker', 'sleep 600', { gpu: LARGER }), job('red', 'trainee', 'echo done', { gpu: SLICE }),
    job('red', 'toobig', 'sleep 1', { gpu: GPU, pods: 9 }), job('blue', 'stranger', 'sleep 600', { gpu: SLICE }));
  await admitted('red', 'thinker');
  await waits('red', 'toobig');
  await until('trainee is done', async () => isTrue(await workloadOf('red', 'trainee'), 'Finished'));
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await go(page, 'workloads');
  const table = page.getByRole('table', { name: 'workloads' });
  const all = get('workloads', '-n', 'red').items;
  const counts = { Running: 0, Waiting: 0, Ended: 0, All: all.length };
  for (const w of all) {
    counts[isTrue(w, 'Finished') ? 'Ended' : isTrue(w, 'Admitted') ? 'Running' : 'Waiting']++;
  }
  assert.deepEqual(counts, { Running: 1, Waiting: 1, Ended: 1, All: 3 });
  for (const [state, n] of Object.entries(counts)) {
    await page.getByRole('button', { name: `${state} ${n}`, exact: true }).click();
    await eventually(async () => assert.equal(await table.getByRole('rowheader').count(), n, state));
  }
  const names = await table.getByRole('rowheader').allInnerTexts();
  assert.deepEqual(names.map((n) => n.trim()).sort(), all.map((w) => w.metadata.ownerReferences[0].name).sort(), 'the jobs are those kubectl has');
  const cells = await cellsOf(table, table.getByRole('row', { name: /thinker/ }));
  assert.deepEqual([cells.State, cells.Queue, cells['Asks for']], ['running', 'default', '1 × 2g.35gb']);
  const waiting = await cellsOf(table, table.getByRole('row', { name: /toobig/ }));
  assert.deepEqual([waiting.State, waiting['Asks for']], ['waiting', '9 × GPU']);
  await axe(page, 'workloads');
  await page.getByRole('textbox', { name: 'Find by job, project or queue' }).fill('think');
  await eventually(async () => assert.equal(await table.getByRole('rowheader').count(), 1));
  // Another project's is not there; it is for the administrator.
  await page.getByRole('textbox', { name: 'Find by job, project or queue' }).fill('stranger');
  await page.getByText('No workload matches').waitFor();
  await page.getByRole('textbox', { name: 'Find by job, project or queue' }).fill('');
  await table.getByRole('link', { name: 'thinker' }).click();
  await page.getByRole('heading', { level: 1, name: 'thinker' }).waitFor();
  assert.equal(await fact(page, 'Queue').innerText(), 'default');
  await eventually(async () => assert.match(await fact(page, 'Where').innerText(), /2g\.35gb at \d GPU \d/));
  // Its events are those that kubectl has of its Workload, its Job and its pod.
  const w = await workloadOf('red', 'thinker');
  const own = new Set([w.metadata.name, 'thinker', ...get('pods', '-n', 'red', '-l', 'batch.kubernetes.io/job-name=thinker').items.map((p) => p.metadata.name)]);
  const events = page.getByRole('table', { name: 'Events' });
  await eventually(async () => {
    const told = get('events', '-n', 'red').items.filter((e) => own.has(e.involvedObject.name)).map((e) => `${e.reason} ${e.involvedObject.kind}`);
    const rows = await events.locator('tbody tr').evaluateAll((r) => r.map((x) => `${x.children[1].innerText.replace(/ ×\d+$/, '')} ${x.children[2].innerText}`));
    assert.deepEqual(rows.sort(), told.sort());
    assert.ok(told.includes('Admitted Workload') && told.some((e) => e.endsWith(' Pod')), `${told}`);
  });
  await axe(page, 'workload-events');
  await page.getByRole('tab', { name: 'YAML' }).click();
  await page.getByText(w.metadata.uid).waitFor();
  await remove('red', 'thinker', 'toobig', 'trainee');
  await remove('blue', 'stranger');
});

test('logs follow what a job prints, until one scrolls away or it ends', async () => {
  apply(job('red', 'talker', 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done', { gpu: SLICE }));
  await admitted('red', 'talker');
  const page = await person();
  await signIn(page, 'alice');
  await pickProject(page, 'red');
  await workloadPage(page, 'red', 'talker');
  await page.getByRole('tab', { name: 'Logs' }).click();
  const log = page.getByRole('log', { name: /^Log of talker-/ });
  const read = async () => (await log.innerText()).trim().split(/\n/).filter((l) => /^line \d+$/.test(l));
  const place = () => log.evaluate((e) => ({ top: e.scrollTop, below: e.scrollHeight - e.clientHeight - e.scrollTop, more: e.scrollHeight - e.clientHeight }));
  await log.getByText('line 3').first().waitFor();
  await page.getByText('Following', { exact: true }).waitFor();
  const before = (await read()).length;
  await until('new lines appear', async () => (await read()).length >= before + 5);
  await until('there is more than the box holds', async () => (await place()).more > 100);
  assert.ok((await place()).below < 24, 'the end is in sight');
  const follow = page.getByRole('checkbox', { name: 'Follow' });
  assert.ok(await follow.isChecked());
  await follow.uncheck();
  const stood = await place();
  const had = (await read()).length;
  await until('lines come while it does not follow', async () => (await read()).length >= had + 10);
  const stands = await place();
  assert.equal(stands.top, stood.top, 'it stays where it was');
  assert.ok(stands.below > 24, 'the end is out of sight');
  await follow.check();
  await eventually(async () => assert.ok((await place()).below < 24, 'it follows again'));
  // Who scrolls up does not follow; back at the end one does.
  await log.evaluate((e) => (e.scrollTop = 0));
  await eventually(async () => assert.ok(!(await follow.isChecked())));
  await log.evaluate((e) => (e.scrollTop = e.scrollHeight));
  await eventually(async () => assert.ok(await follow.isChecked()));
  await axe(page, 'workload-log');
  await page.getByText('The container has ended').waitFor({ timeout: 60_000 });
  await eventually(async () => assert.deepEqual(await read(), kubectl('logs', 'job/talker', '-n', 'red').trim().split('\n')));
  assert.equal((await read()).length, 300);
  await eventually(async () => assert.ok(await page.getByText('succeeded').count()));
  assert.equal(get('job', 'talker', '-n', 'red').status.succeeded, 1);
  await remove('red', 'talker');
});

test('priority: a higher one goes first', async () => {
  apply(job('red', 'wall', 'sleep 600', { gpu: GPU, pods: 8 }));
  await admitted('red', 'wall');
  apply(job('red', 'early', 'sleep 600', { gpu: SLICE }));
  await waits('red', 'early');
  await second();
  apply(job('red', 'late', 'sleep 600', { gpu: SLICE }));
  await waits('red', 'late');
  const position = async (name) => (await why('red', name)).position.clusterQueue;
  assert.deepEqual([await position('early'), await position('late')], [1, 2]);
  const page = await person();
  await signInAsAdmin(page);
  await workloadPage(page, 'red', 'late');
  await eventually(async () => assert.match(await fact(page, 'Position').innerText(), /^2 in default/));
  await page.getByRole('button', { name: 'Change priority' }).click();
  await dialog(page).getByRole('heading', { name: 'Priority of late' }).waitFor();
  assert.ok(!(await page.content()).includes('<img src=x'), 'a description is no markup');
  await axe(page, 'priority');
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await workloadOf('red', 'late')).spec.priority ?? 0, 0, 'nothing was changed');
  await page.getByRole('button', { name: 'Change priority' }).click();
  await dialog(page).getByRole('radio', { name: /^urgent/ }).check();
  await dialog(page).getByRole('button', { name: 'Change', exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await until('kubectl sees it', async () => (await workloadOf('red', 'late')).spec.priority === 1000);
  assert.equal((await workloadOf('red', 'late')).spec.priorityClassRef.name, 'urgent');
  await eventually(async () => assert.equal(await fact(page, 'Priority').innerText(), '1,000 (urgent)'));
  await eventually(async () => assert.match(await fact(page, 'Position').innerText(), /^1 in default/));
  assert.deepEqual([await position('early'), await position('late')], [2, 1]);
  await remove('red', 'wall', 'early', 'late');
});

test('queues: position, reason and estimated start of what waits; cancelling makes room', async () => {
  apply(job('red', 'hold', 'sleep 900', { gpu: GPU, pods: 8, runs: '900s' }));
  await admitted('red', 'hold');
  apply(job('red', 'next', 'sleep 600', { gpu: GPU, runs: '600s' }));
  await waits('red', 'next');
  await second();
  apply(job('blue', 'secret', 'sleep 600', { gpu: GPU, runs: '600s' }));
  await waits('blue', 'secret');
  await second();
  apply(job('red', 'last', 'sleep 600', { gpu: GPU }));
  await waits('red', 'last');
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'queues');
  const table = page.getByRole('table', { name: 'Waiting', exact: true });
  const minutes = (t) => {
    const m = /(?:(\d+) h )?(\d+) min/.exec(t);
    return m ? Number(m[1] ?? 0) * 60 + Number(m[2]) : NaN;
  };
  await eventually(async () => {
    const all = get('why', '-A').items.filter((e) => e.status.state === 'Waiting').sort((a, b) => a.status.position.clusterQueue - b.status.position.clusterQueue);
    assert.deepEqual(all.map((e) => e.status.job), ['next', 'secret', 'last']);
    for (const e of all) {
      const cells = await cellsOf(table, table.getByRole('row', { name: new RegExp(`\\b${e.status.job}\\b`) }));
      assert.equal(cells.Position, `${e.status.position.clusterQueue}`);
      assert.equal(cells.Queue, 'default');
      assert.equal(cells['Waits for'], e.status.summary);
      assert.match(e.status.summary, /nvidia\.com\/gpu missing in flavor nvidia-h200/);
      const start = e.status.estimate.start;
      assert.ok(start, `kubectl has an estimate for ${e.status.job}`);
      const said = cells['Estimated start'];
      assert.match(said, /^in about /);
      assert.ok(Math.abs(minutes(said) - (Date.parse(start) - Date.now()) / 60e3) <= 1.5, `${said} is not ${start}`);
    }
  }, 40_000);
  await axe(page, 'queues');
  // The quota of the queue, and what of it is used, are kubectl's.
  const tree = page.getByRole('table', { name: /^Quota of GPU in nvidia-h200/ });
  await eventually(async () => {
    const usage = get('clusterqueue', 'default').status.flavorsReservation.find((f) => f.name === 'nvidia-h200').resources.find((r) => r.name === GPU);
    const cells = await cellsOf(tree, tree.getByRole('row', { name: /^default/ }));
    assert.deepEqual([cells.Used, cells.Running, cells.Waiting], [`${usage.total}`, '1', '3']);
    assert.equal(usage.total, '8');
  });
  // Who works in a project sees its own; of others only that they are before one.
  const alice = await person();
  await signIn(alice, 'alice');
  await pickProject(alice, 'red');
  await go(alice, 'queues');
  const mine = alice.getByRole('table', { name: 'Waiting', exact: true });
  await mine.getByRole('row', { name: /\blast\b/ }).waitFor();
  assert.equal((await cellsOf(mine, mine.getByRole('row', { name: /\blast\b/ }))).Position, '3');
  assert.ok(!(await alice.content()).includes('secret'), 'the job of another project is not named');
  await workloadPage(alice, 'red', 'last');
  const card = alice.getByRole('heading', { name: 'Why it waits' });
  await card.waitFor();
  await eventually(async () => {
    assert.match(await fact(alice, 'Position').innerText(), /^3 in default \(2 ahead\)/);
    assert.match(await fact(alice, 'Estimated start').innerText(), /^in about \d+ min/);
  });
  await alice.getByText('in the same ClusterQueue, whose withinClusterQueue is Never').waitFor();
  await alice.getByRole('link', { name: /^red\/job-hold-/ }).waitFor();
  assert.ok(!(await alice.content()).includes('secret'));
  await axe(alice, 'workload-waits');
  // Cancelled only when one says so.
  await workloadPage(alice, 'red', 'hold');
  const cancel = alice.getByRole('button', { name: 'Cancel job' });
  await cancel.click();
  await dialog(alice).getByRole('heading', { name: /Cancel hold\?/ }).waitFor();
  await axe(alice, 'cancel-job');
  await dialog(alice).getByRole('button', { name: 'Keep it' }).click();
  await dialog(alice).waitFor({ state: 'detached' });
  assert.ok(isTrue(await workloadOf('red', 'hold'), 'Admitted'), 'it was kept');
  assert.equal(await cancel.evaluate((e) => e === document.activeElement), true, 'the focus is where it was');
  await cancel.click();
  await dialog(alice).getByRole('button', { name: 'Cancel the job' }).click();
  await alice.getByRole('heading', { level: 1, name: 'Workloads' }).waitFor();
  await until('the job is gone', () => /NotFound/.test(tried('get', 'job', 'hold', '-n', 'red').text));
  await until('its pods are gone', () => get('pods', '-n', 'red', '-l', 'batch.kubernetes.io/job-name=hold').items.length === 0, 40_000);
  await admitted('red', 'next');
  const list = alice.getByRole('table', { name: 'workloads' });
  await list.getByRole('row', { name: /next/ }).getByText('running').waitFor();
  assert.equal(await list.getByRole('row', { name: /hold/ }).count(), 0);
  await remove('blue', 'secret');
  await remove('red', 'next', 'last');
});

// A Workload that nobody owns, of all GPUs; one that ran for so many minutes.
function bare(name) {
  const resources = { requests: { cpu: '10m', memory: '8Mi', [GPU]: '8' }, limits: { [GPU]: '8' } };
  apply({ apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'Workload', metadata: { name, namespace: 'red' },
    spec: { queueName: 'default', podSets: [{ name: 'main', count: 1, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox', resources }] } } }] } });
}
function ran(name, minutes) {
  const at = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
  const true_ = (type, reason, ms) => ({ type, status: 'True', reason, message: '', lastTransitionTime: at(ms) });
  const conditions = [true_('Admitted', 'Admitted', Date.now() - minutes * 60e3), true_('Finished', 'Succeeded', Date.now())];
  kubectl('patch', 'workload', name, '-n', 'red', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status: { conditions } }));
}

test('estimates: where run times differ a range is told, and where they are not known nothing', async () => {
  const state = (name) => get('why', name, '-n', 'red').status;
  bare('wide-0');
  await until('wide-0 is admitted', () => state('wide-0').state === 'Admitted');
  bare('wide-next');
  await until('wide-next waits', () => state('wide-next').position);
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'queues');
  const table = page.getByRole('table', { name: 'Waiting', exact: true });
  const cell = async () => (await cellsOf(table, table.getByRole('row', { name: /\bwide-next\b/ })))['Estimated start'];
  await eventually(async () => assert.equal(await cell(), 'unknown'));
  for (const [i, minutes] of [20, 35, 60, 90, 150].entries()) {
    bare(`wide-${i + 1}`);
    ran(`wide-${i + 1}`, minutes);
  }
  await until('kubectl has a range', () => state('wide-next').estimate.latest, 40_000);
  const e = state('wide-next').estimate;
  assert.equal(e.start, undefined, `${JSON.stringify(e)}`);
  assert.match(e.text, /^in \S+ to \S+ \(observed run times\)$/);
  assert.ok(Date.parse(e.earliest) < Date.now() + 40 * 60e3 && Date.parse(e.latest) > Date.now() + 80 * 60e3, `${JSON.stringify(e)}`);
  await eventually(async () => assert.match(await cell(), /^in .*(min|s) to .* h.*from observed run times$/s), 40_000);
  await axe(page, 'queues-range');
  await go(page, 'workloads/red/wide-next');
  await eventually(async () => assert.match(await fact(page, 'Estimated start').innerText(), /^in .*(min|s) to .* h.* – .* · from observed run times$/s));
  await axe(page, 'workload-range');
  kubectl('delete', 'workload', '-n', 'red', 'wide-next', ...[0, 1, 2, 3, 4, 5].map((i) => `wide-${i}`));
});

test('overview: its figures are those of kubectl and of berth top', async () => {
  const now = Date.now();
  const time = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
  apply({ apiVersion: 'berth.dev/v1alpha1', kind: 'Reservation', metadata: { name: 'figures', namespace: 'red' },
    spec: { start: time(now - (now % 900e3)), end: time(now + 7200e3 - (now % 900e3)), lines: [{ resource: 'nvidia.com/mig-3g.71gb', count: 1 }] } });
  await until('the booking is active', () => get('reservation', 'figures', '-n', 'red').status?.phase === 'Active', 40_000);
  apply(job('red', 'pair', 'sleep 600', { gpu: LARGER, pods: 2 }), job('red', 'toobig', 'sleep 600', { gpu: GPU, pods: 8 }));
  await admitted('red', 'pair');
  await waits('red', 'toobig');
  const page = await person();
  await signInAsAdmin(page);
  await go(page, '');
  const table = page.getByRole('table', { name: /whole GPUs and slices$/ });
  await table.waitFor();
  await page.getByRole('button', { name: /more sizes?$/ }).click();
  const keys = { Total: 'total', 'In use': 'used', Reserved: 'reserved', 'Free now': 'free', Waiting: 'waiting' };
  await eventually(async () => {
    const types = get('fleet', 'current').types;
    assert.equal(types.length, 1);
    const top = berth('top', '-o', 'wide').split('\n').filter((l) => l.startsWith(`${types[0].flavor} `)).map((l) => l.trim().split(/ {2,}/));
    assert.equal(top.length, types[0].resources.length);
    assert.equal(await table.getByRole('rowheader').count(), types[0].resources.length);
    for (const r of types[0].resources) {
      const size = r.resource === GPU ? 'Whole GPU' : r.resource.replace('nvidia.com/mig-', '');
      const row = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name: size, exact: true }) });
      const cells = await cellsOf(table, row);
      for (const [column, key] of Object.entries(keys)) {
        assert.equal(cells[column], `${r[key]}`, `${size}: ${column}`);
      }
      const line = top.find((l) => l[1] === (r.resource === GPU ? 'GPU' : size.replace('.me', '+me')));
      assert.deepEqual(line.slice(2, 7).map(Number), [r.total, r.used, r.reserved, r.free, r.waiting], `berth top: ${line}`);
      assert.ok((await row.getByRole('img').getAttribute('aria-label')).includes(`In use ${r.used}, Reserved ${r.reserved}`));
    }
    const of = (key) => types[0].resources.reduce((a, r) => a + r[key], 0);
    assert.ok(of('used') >= 2 && of('reserved') >= 1 && of('waiting') >= 1, 'there is something to count');
    const whole = types[0].resources.find((r) => r.resource === GPU);
    assert.match(await fact(page, 'GPUs free now').innerText(), new RegExp(`^${whole.free} of ${whole.total}`));
    assert.match(await fact(page, 'Waiting in queues').innerText(), new RegExp(`^${of('waiting')} `));
  }, 40_000);
  await shot(page, 'overview-figures');
  kubectl('delete', 'reservation', 'figures', '-n', 'red', '--wait=false');
  await remove('red', 'pair', 'toobig');
  await until('the booking is gone', () => !tried('get', 'reservation', 'figures', '-n', 'red').ok);
});
