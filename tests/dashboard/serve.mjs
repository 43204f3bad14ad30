// Serving: the catalog with what fits, and the keys of a project.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { apply, axe, QUEUE, dialog, get, go, kubectl, person, pickProject, signIn, signInAsAdmin, test, until } from './lib.mjs';

const TOP = new URL('../../', import.meta.url);
const catalog = () => kubectl('apply', '-f', new URL('examples/serve/catalog.yaml', TOP).pathname);

test('the catalog shows which slices a model fits, for the length of a sequence that is asked for', async () => {
  catalog();
  const page = await person();
  await signIn(page, 'carol');
  await go(page, 'models');
  const llama = page.getByRole('article', { name: 'meta-llama/Llama-3.1-8B-Instruct' });
  await llama.getByText('Fits 3g.71gb of NVIDIA H200 and larger.').waitFor();
  await page.getByLabel('Length of a sequence').selectOption('8192');
  await llama.getByText(/Fits [12]g\.35gb of NVIDIA H200 and larger\./).waitFor();
  await llama.getByText('Numbers and measurements').click();
  const row = llama.getByRole('row', { name: /^1g\.18gb/ });
  await row.getByText('Fits with: --quantization fp8').waitFor();
  await axe(page, 'models-details');
  await page.getByLabel('License').selectOption('apache-2.0');
  await llama.waitFor({ state: 'detached' });
  await page.getByText('Only what fits').click();
  await page.getByRole('article', { name: 'Qwen/Qwen2.5-7B-Instruct' }).waitFor();
});

test('a catalog that is wrong says which key and field, and an empty one who fills it', async () => {
  apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'model-catalog-sources', namespace: 'berth-system' }, data: {
    'sources.yaml': 'catalogs: [{id: a, type: yaml, enabled: true, properties: {yamlCatalogPath: a.yaml}}]', 'a.yaml': 'models: [{name: m, tasks: 3}]' } });
  const page = await person();
  await signInAsAdmin(page);
  await go(page, 'models');
  await page.getByText(/key "a\.yaml": models\[0\]\.tasks/).first().waitFor();
  kubectl('delete', 'configmap', 'model-catalog-sources', '-n', 'berth-system');
  await go(page, 'models');
  await page.getByRole('heading', { name: 'The catalog is empty' }).waitFor();
});

test('a key is made, its secret is shown once, and it is revoked', async () => {
  const page = await person();
  await signInAsAdmin(page);
  await pickProject(page, 'red');
  await go(page, 'keys');
  await page.getByRole('main').getByRole('button', { name: 'New key' }).click();
  await axe(page, 'key-dialog');
  await dialog(page).getByLabel('Purpose').fill('Nightly tests');
  await dialog(page).getByLabel('Models').fill('qwen-*, llama');
  await dialog(page).getByLabel('Valid for').selectOption('7');
  await dialog(page).getByLabel('Requests per minute').fill('60');
  await dialog(page).getByRole('button', { name: 'Create key' }).click();
  const secret = await dialog(page).getByTestId('secret').locator('code').innerText();
  assert.match(secret, /^sk-berth-[\w-]{43}$/);
  const made = await until('the key', () => get('modelkeys', '-n', 'red').items.find((k) => k.spec.purpose === 'Nightly tests'));
  assert.equal(made.spec.sha256, createHash('sha256').update(secret).digest('hex'));
  assert.deepEqual(made.spec.models, ['qwen-*', 'llama']);
  assert.equal(made.spec.limits.requestsPerMinute, 60);
  assert.ok(!JSON.stringify(made).includes(secret), 'the secret is stored');
  const days = (Date.parse(made.spec.expiresAt) - Date.now()) / 86400e3;
  assert.ok(days > 6.9 && days < 7.1, `${days} days`);
  await dialog(page).getByRole('button', { name: 'I have copied it' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(secret), 'the secret is still on the page');
  await page.getByRole('button', { name: `Revoke ${made.spec.prefix}` }).click();
  await dialog(page).getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('row', { name: /Nightly tests/ }).getByText('Revoked').waitFor();
  assert.equal(get('modelkey', made.metadata.name, '-n', 'red').spec.revoked, true);
  kubectl('delete', 'modelkey', made.metadata.name, '-n', 'red');
});

test('the playground: a model at zero is started by a question, and the key of the page is taken back', async () => {
  const code = "import http.server,json,os\n" +
    'class H(http.server.BaseHTTPRequestHandler):\n' +
    " def do_GET(s): s.send_response(200); s.end_headers()\n" +
    ' def do_POST(s):\n' +
    "  n=int(s.headers['Content-Length']); q=json.loads(s.rfile.read(n))['messages'][-1]['content']\n" +
    "  s.send_response(200); s.send_header('Content-Type','text/event-stream'); s.end_headers()\n" +
    "  for w in ('You asked: ', q): s.wfile.write(('data: '+json.dumps({'choices':[{'delta':{'content':w}}]})+'\\n\\n').encode())\n" +
    "  s.wfile.write(b'data: [DONE]\\n\\n')\n" +
    "http.server.ThreadingHTTPServer(('',int(os.environ['PORT'])),H).serve_forever()\n";
  apply({ apiVersion: 'serving.kserve.io/v1beta1', kind: 'InferenceService', metadata: { name: 'parrot', namespace: 'red', labels: { [QUEUE]: 'default' } },
    spec: { predictor: { minReplicas: 0, maxReplicas: 1, model: { modelFormat: { name: 'command' }, command: ['python3', '-c', code],
      resources: { requests: { cpu: '5m', memory: '16Mi' } } } } } });
  const page = await person();
  await signInAsAdmin(page);
  await pickProject(page, 'red');
  await go(page, 'services');
  await page.getByRole('row', { name: /parrot/ }).getByText('At zero').waitFor();
  await axe(page, 'services-one');
  await go(page, 'playground?model=red/parrot');
  await page.getByLabel('Message').fill('Is it <b>me</b>?');
  await page.getByLabel('Message').press('Enter');
  await page.getByText('You asked: Is it <b>me</b>?').first().waitFor({ timeout: 60_000 });
  await axe(page, 'playground-talk');
  const keys = () => get('modelkeys', '-n', 'red').items.filter((k) => k.spec.purpose === 'Playground');
  assert.equal(keys().length, 1);
  await go(page, 'services');
  await until('the key of the page is gone', () => keys().length === 0);
  await page.getByRole('row', { name: /parrot/ }).getByText('Ready', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop parrot' }).click();
  await page.getByRole('row', { name: /parrot/ }).getByText('Stopped', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete parrot' }).click();
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('row', { name: /parrot/ }).waitFor({ state: 'detached' });
});
