// What administrators decide: quotas, with a look at what an edit would do, and what became of it.

import assert from 'node:assert/strict';
import {
  admitted, apply, axe, cellsOf, conditionOf, dialog, eventually, get, go, isTrue, job, kubectl, person, remove, second, signIn, signInAsAdmin,
  test, tried, until, waits, workloadOf,
} from './lib.mjs';

const KUEUE = 'kueue.x-k8s.io/v1beta2';
const field = (page) => dialog(page).getByRole('textbox', { name: 'Nominal, cpu, plain' });
const effects = (page) => dialog(page).getByRole('region', { name: 'What it would do' });
const nominal = (name) => get('clusterqueue', name).spec.resourceGroups[0].flavors[0].resources[0].nominalQuota;

async function edit(page, name) {
  await go(page, 'admin/quotas');
  await page.getByRole('table', { name: 'Cluster queues' }).getByRole('button', { name: `Edit ${name}`, exact: true }).click();
  await dialog(page).getByRole('heading', { name: `ClusterQueue ${name}` }).waitFor();
}

// Two queues of a tenth of a CPU each, which lend to one another; the second takes back what is its own.
function tide() {
  const queue = (name, preemption) => ({
    apiVersion: KUEUE, kind: 'ClusterQueue', metadata: { name },
    spec: { cohortName: 'tide', namespaceSelector: {}, preemption, resourceGroups: [{ coveredResources: ['cpu', 'memory'], flavors: [
      { name: 'plain', resources: [{ name: 'cpu', nominalQuota: '100m' }, { name: 'memory', nominalQuota: '1Gi' }] }] }] },
  });
  const local = (namespace, name) => ({ apiVersion: KUEUE, kind: 'LocalQueue', metadata: { name, namespace }, spec: { clusterQueue: name } });
  apply({ apiVersion: KUEUE, kind: 'ResourceFlavor', metadata: { name: 'plain' }, spec: {} },
    queue('ebb', {}), queue('flow', { reclaimWithinCohort: 'Any' }), local('red', 'ebb'), local('blue', 'flow'));
}

test('an edit of quota that takes it from running work: seen before, saved, and who preempted whom', async () => {
  tide();
  apply(job('red', 'first', 'sleep 900', { queue: 'ebb', cpu: '100m' }));
  await admitted('red', 'first');
  await second();
  apply(job('red', 'borrower', 'sleep 900', { queue: 'ebb', cpu: '100m' }));
  await admitted('red', 'borrower');
  // It is more than its queue has of its own, so it may not take back what was lent.
  apply(job('blue', 'owner', 'sleep 900', { queue: 'flow', cpu: '200m' }));
  await waits('blue', 'owner');
  const page = await person();
  await signInAsAdmin(page);
  await edit(page, 'flow');
  await axe(page, 'admin-edit');
  await dialog(page).getByText('Nothing is changed yet.').waitFor();
  await field(page).fill('lots');
  await dialog(page).getByText('No quantity').waitFor();
  assert.ok(await dialog(page).getByRole('button', { name: 'Save' }).isDisabled(), 'no quantity can be saved that is none');
  await field(page).fill('200m');
  const loser = (await workloadOf('red', 'borrower')).metadata.name;
  const winner = (await workloadOf('blue', 'owner')).metadata.name;
  await effects(page).getByText('1 workload would be evicted').waitFor();
  await effects(page).getByText('1 workload would start').waitFor();
  const told = await effects(page).getByRole('listitem').allInnerTexts();
  assert.ok(told.some((t) => t.includes(loser)) && told.some((t) => t.includes(winner)) && told.length === 2, `${told}`);
  await axe(page, 'admin-preview');
  assert.equal(nominal('flow'), '100m', 'looking writes nothing');
  assert.ok(isTrue(await workloadOf('red', 'borrower'), 'Admitted'));
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByText('flow was saved').waitFor();
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal(nominal('flow'), '200m');
  await page.getByRole('table', { name: 'Cluster queues' }).getByRole('row', { name: /^flow/ }).getByText('/ 200m').waitFor();
  // What was foreseen comes true.
  await admitted('blue', 'owner');
  assert.equal(conditionOf(await workloadOf('red', 'borrower'), 'Preempted')?.reason, 'InCohortReclamation');
  assert.ok(isTrue(await workloadOf('red', 'first'), 'Admitted'));
  await go(page, 'queues');
  const table = page.getByRole('table', { name: 'Who preempted whom' });
  const row = table.getByRole('row', { name: /borrower/ });
  await row.waitFor();
  const cells = await cellsOf(table, row);
  assert.match(cells.Preempted, /borrower[^]*red · ebb/);
  assert.match(cells.By, /owner[^]*blue · flow/);
  assert.match(cells.Why, /reclamation within the cohort/i);
  assert.equal(get('events', '-A', '--field-selector=reason=Preempted').items.filter((e) => e.involvedObject.name === loser).length, 1);
  await axe(page, 'preemptions');
  await row.getByRole('link', { name: /borrower/ }).click();
  await page.getByRole('heading', { level: 1, name: 'borrower' }).waitFor();
  await page.getByText(/1 eviction \(Preempted\)/).waitFor();
});

test('what somebody else has changed meanwhile is not overwritten', async () => {
  tide();
  const page = await person();
  await signInAsAdmin(page);
  await edit(page, 'ebb');
  await field(page).fill('300m');
  kubectl('patch', 'clusterqueue', 'ebb', '--type=json', '-p',
    '[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"150m"}]');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText(/has been modified|was changed meanwhile/).waitFor();
  assert.equal(nominal('ebb'), '150m');
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await remove('red', 'first', 'borrower');
  await remove('blue', 'owner');
  kubectl('delete', 'localqueue', 'ebb', '-n', 'red', '--wait=false');
  kubectl('delete', 'localqueue', 'flow', '-n', 'blue', '--wait=false');
  kubectl('delete', 'clusterqueue', 'ebb', 'flow', '--wait=false');
  await until('the queues are gone', () => !tried('get', 'clusterqueue', 'ebb').ok && !tried('get', 'clusterqueue', 'flow').ok);
});

test('who may look at quotas and not change them is offered no change, and the server would refuse it', async () => {
  const page = await person();
  await signIn(page, 'vera');
  await go(page, 'admin/quotas');
  await page.getByRole('table', { name: 'Cluster queues' }).getByRole('row', { name: /^default/ }).waitFor();
  await page.getByText('You may look at this, not change it.').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Edit / }).count(), 0);
  await axe(page, 'admin-looking');
  await go(page, 'workloads');
  await page.getByRole('heading', { level: 1, name: 'Workloads' }).waitFor();
  await eventually(async () => assert.equal(await page.getByRole('button', { name: 'Book GPUs' }).count(), 0));
  const before = get('clusterqueue', 'default').spec;
  const status = await page.evaluate(async () => {
    const r = await fetch('/apis/kueue.x-k8s.io/v1beta2/clusterqueues/default', { method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json', 'X-Berth-Dashboard': '1' }, body: '{"spec":{"stopPolicy":"Hold"}}' });
    return r.status;
  });
  assert.equal(status, 403);
  assert.match(tried('auth', 'can-i', 'patch', 'clusterqueues.kueue.x-k8s.io', '--as', 'vera', '--as-group', 'lookers').text, /^no/m);
  assert.deepEqual(get('clusterqueue', 'default').spec, before);
});

test('maintenance is planned, seen in the calendar, and called off', async () => {
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'admin/windows');
  await page.getByRole('button', { name: 'Plan a window' }).first().click();
  await dialog(page).waitFor();
  await axe(page, 'admin-window');
  await dialog(page).getByLabel('Reason').fill('New firmware');
  const resource = dialog(page).getByLabel('Resource');
  await resource.locator('option', { hasText: /^nvidia\.com\/gpu,/ }).waitFor({ state: 'attached' });
  await resource.selectOption('nvidia-h200|nvidia.com/gpu');
  await dialog(page).getByLabel('Count').fill('2');
  await dialog(page).getByRole('button', { name: 'Plan it' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  const made = await until('the window', () => get('capacitywindows').items.find((w) => w.spec.reason === 'New firmware'));
  assert.deepEqual([made.spec.type, made.spec.resource, made.spec.count], ['Maintenance', 'nvidia.com/gpu', 2]);
  const row = page.getByRole('row', { name: /New firmware/ });
  await row.waitFor();
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Warsaw' }).format(Date.parse(made.spec.start));
  await go(page, `calendar?view=day&day=${day}`);
  await page.getByRole('gridcell', { name: /Closed: [^.]*New firmware/ }).first().waitFor();
  await go(page, 'admin/windows');
  await row.getByRole('button', { name: /^Delete / }).click();
  await dialog(page).waitFor();
  await axe(page, 'admin-window-delete');
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await until('the window is gone', () => !get('capacitywindows').items.some((w) => w.spec.reason === 'New firmware'));
  await row.waitFor({ state: 'detached' });
});

test('flavors are made, changed and deleted', async () => {
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'admin/flavors');
  await page.getByRole('button', { name: 'Add a flavor' }).click();
  await dialog(page).getByLabel(/^Name/).fill('spot');
  await dialog(page).getByRole('button', { name: 'Add a label' }).click();
  await dialog(page).getByRole('textbox', { name: 'Node labels, 1: Key' }).fill('pool name');
  assert.ok(await dialog(page).getByRole('button', { name: 'Save' }).isDisabled(), 'a key with a blank is none');
  await dialog(page).getByRole('textbox', { name: 'Node labels, 1: Key' }).fill('pool');
  await dialog(page).getByRole('textbox', { name: 'Node labels, 1: Value' }).fill('spot');
  await dialog(page).getByText('0 nodes have these labels.').waitFor();
  await axe(page, 'flavor-new');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  const spec = () => get('resourceflavor', 'spot').spec;
  assert.deepEqual(spec(), { nodeLabels: { pool: 'spot' } });
  const row = page.getByRole('row', { name: /^spot/ });
  await row.getByText('pool=spot').waitFor();
  await row.getByRole('button', { name: 'Edit spot' }).click();
  await dialog(page).getByRole('button', { name: 'Add a taint' }).click();
  await dialog(page).getByRole('textbox', { name: 'Taints, 1: Key' }).fill('spot');
  await dialog(page).getByRole('combobox', { name: 'Taints, 1: Effect' }).selectOption('NoSchedule');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.deepEqual(spec().nodeTaints.map((t) => [t.key, t.effect]), [['spot', 'NoSchedule']]);
  assert.deepEqual(spec().nodeLabels, { pool: 'spot' });
  await row.getByRole('button', { name: 'Delete spot' }).click();
  await dialog(page).getByRole('heading', { name: /Delete flavor spot\?/ }).waitFor();
  await axe(page, 'flavor-delete');
  await dialog(page).getByRole('button', { name: 'Delete', exact: true }).click();
  await until('the flavor is gone', () => !tried('get', 'resourceflavor', 'spot').ok);
  await row.waitFor({ state: 'detached' });
});
