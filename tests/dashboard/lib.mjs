// What the stories share: the list of them, the browser, people, kubectl, axe, screenshots.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const require = createRequire(join(web, 'package.json'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const SHOTS = process.env.SHOTS;
const PAGES = process.env.PAGES;
const SHORT = process.env.SHORT;
export const WAIT = 20_000;

// ---- stories ----

export const tests = [];
export const test = (name, f) => tests.push({ name, f });

// ---- who started this: its first line is the configuration, then it answers what it is asked ----

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const heard = async () => JSON.parse((await lines.next()).value);
export const config = await heard();

// The second Berth, which stories may stop: ask('up', 'sim:8xh200'), ask('stop').
export async function ask(...words) {
  process.stdout.write(`@${words.join(' ')}\n`);
  return heard();
}

// ---- kubectl ----

export function run(program, args, input, env = {}) {
  const r = spawnSync(program, args, { input, encoding: 'utf8', timeout: 60_000, env: { ...process.env, ...env } });
  assert.equal(r.status, 0, `${program} ${args.join(' ')}: ${r.stdout}${r.stderr}`);
  return r.stdout;
}

// kubectl and berth, of the Berth that `c` says how to reach.
export function cluster(c) {
  const env = { KUBECONFIG: c.kubeconfig };
  const kubectl = (...args) => run(config.kubectl, args, undefined, env);
  return {
    kubectl,
    berth: (...args) => run(config.berth, args, undefined, env),
    get: (...args) => JSON.parse(kubectl('get', ...args, '-o', 'json')),
    apply: (...objects) =>
      run(config.kubectl, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }), env),
    // The same as somebody of a group.
    applyAs: (who, group, ...objects) => run(config.kubectl, ['apply', '--as', who, '--as-group', group, '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }), env),
    // Exit status and words of a kubectl that may fail.
    tried: (...args) => {
      const r = spawnSync(config.kubectl, args, { encoding: 'utf8', timeout: 60_000, env: { ...process.env, ...env } });
      return { ok: r.status === 0, text: `${r.stdout}${r.stderr}` };
    },
  };
}

export const { kubectl, berth, get, apply, applyAs, tried } = cluster(config);

export const phaseOf = (ns, name) => {
  const r = tried('get', 'reservation', name, '-n', ns, '-o', 'jsonpath={.status.phase}');
  return r.ok ? r.text : '';
};

export const QUEUE = 'kueue.x-k8s.io/queue-name';

// A Job of one container that runs a shell script.
export function job(ns, name, script, o = {}) {
  const meta = { name, namespace: ns, labels: { [QUEUE]: o.queue ?? 'default' } };
  if (o.runs) {
    meta.annotations = { 'berth.dev/expected-runtime': o.runs };
  }
  const resources = { requests: { cpu: o.cpu ?? '10m', memory: '8Mi' } };
  if (o.gpu) {
    resources.limits = { [o.gpu]: '1' };
  }
  const pod = { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', script], resources }] };
  const n = o.pods ?? 1;
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: meta, spec: { parallelism: n, completions: n, backoffLimit: 0, template: { spec: pod } } };
}

// The Workload of a Job, once it is there; and whether a condition of it is true.
export const workloadOf = (ns, name, k = { get }) =>
  until(`the workload of ${name}`, () => k.get('workloads', '-n', ns).items.find((w) => w.metadata.ownerReferences?.[0]?.name === name));
export const conditionOf = (o, type) => o.status?.conditions?.find((c) => c.type === type);
export const isTrue = (o, type) => conditionOf(o, type)?.status === 'True';
export const admitted = (ns, name, k) =>
  until(`${name} is admitted`, async () => isTrue(await workloadOf(ns, name, k), 'Admitted'), 60_000);
export const why = async (ns, name, k = { get }) => k.get('why', (await workloadOf(ns, name, k)).metadata.name, '-n', ns).status;
export const waits = (ns, name) =>
  until(`${name} waits`, async () => {
    const e = await why(ns, name);
    return e.state === 'Waiting' && e.position && e.summary;
  }, 60_000);

export function remove(ns, ...names) {
  kubectl('delete', 'job', ...names, '-n', ns, '--ignore-not-found', '--wait=false');
  return until(`${names} are gone`, () => {
    const left = [...get('pods', '-n', ns).items, ...get('workloads', '-n', ns).items];
    return !left.some((o) => names.includes(o.metadata.ownerReferences?.[0]?.name));
  }, 60_000);
}

export const second = () => new Promise((r) => setTimeout(r, 1100)); // times of creation are whole seconds, and order a queue

export async function until(what, f, ms = WAIT) {
  const end = Date.now() + ms;
  for (;;) {
    const v = await f();
    if (v) {
      return v;
    }
    assert.ok(Date.now() < end, `waited ${ms / 1000} s for: ${what}`);
    await new Promise((r) => setTimeout(r, 150));
  }
}

// Tries until what is asserted holds, and fails as it does at last.
export async function eventually(f, ms = WAIT) {
  const end = Date.now() + ms;
  for (;;) {
    try {
      return await f();
    } catch (e) {
      if (Date.now() > end) {
        throw e;
      }
      await new Promise((r) => setTimeout(r, 250));
    }
  }
}

// ---- the browser ----

let browser;

export async function open() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'],
  });
  if (SHOTS) {
    mkdirSync(SHOTS, { recursive: true });
  }
}

export const close = () => browser?.close();

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' };

// PAGES=FOLDER: pages that were built elsewhere, in place of the program's own.
async function otherPages(context) {
  await context.route('**/dashboard/**', async (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^\/dashboard\//, '');
    if (path.startsWith('session')) {
      return route.continue();
    }
    const file = path && existsSync(join(PAGES, path)) && extname(path) ? path : 'index.html';
    const r = await route.fetch().catch(() => undefined);
    if (!r) {
      return route.abort();
    }
    const headers = { ...r.headers(), 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' };
    delete headers['content-encoding'];
    delete headers['content-length'];
    return route.fulfill({ status: 200, headers, body: readFileSync(join(PAGES, file)) });
  });
}

// A browser of one's own; what goes wrong in its pages is remembered and fails the story. `base`: of another Berth.
const people = new Set();
export async function person(o = {}) {
  const context = await browser.newContext({
    viewport: { width: o.width ?? 1280, height: o.height ?? 900 },
    colorScheme: o.dark ? 'dark' : 'light',
    locale: 'en-GB',
    timezoneId: o.zone ?? 'Europe/Warsaw',
    reducedMotion: 'reduce',
  });
  if (PAGES) {
    await otherPages(context);
  }
  const page = await context.newPage();
  people.add(page);
  page.setDefaultTimeout(WAIT);
  page.base = o.base ?? config.address;
  page.wrong = [];
  page.on('pageerror', (e) => page.wrong.push(`page: ${e.message}`));
  page.on('console', (m) => {
    if (m.type() === 'error' && /Content Security Policy|Refused to/.test(m.text())) {
      page.wrong.push(m.text());
    }
  });
  return page;
}

// A story ended: nothing was wrong in its pages, and they are closed.
export async function leave(failed, name) {
  for (const page of people) {
    people.delete(page);
    if (failed && SHOTS) {
      await page.screenshot({ path: join(SHOTS, `FAILED-${name.replace(/\W+/g, '-').slice(0, 60)}-${people.size}.png`) }).catch(() => undefined);
    }
    await page.context().close();
    if (!failed) {
      assert.deepEqual(page.wrong, [], page.wrong.join('\n'));
    }
  }
  if (failed) {
    for (const ns of ['red', 'blue']) {
      kubectl('delete', 'jobs', '--all', '-n', ns); // the next story begins with nothing
    }
  }
}

// A way to the server that can be cut, and mended again.
export async function cable() {
  const to = new URL(config.address);
  const ends = new Set();
  let whole = true;
  const way = createServer((a) => {
    const b = whole ? connect(Number(to.port), to.hostname) : undefined;
    for (const [x, y] of [[a, b], [b, a]]) {
      if (x) {
        ends.add(x);
        x.on('error', () => undefined);
        x.on('close', () => {
          ends.delete(x);
          y?.destroy();
        });
      }
    }
    if (b) {
      a.pipe(b).pipe(a);
    } else {
      a.destroy();
    }
  });
  await new Promise((r) => way.listen(0, '127.0.0.1', r));
  return {
    address: `http://127.0.0.1:${way.address().port}`,
    cut() {
      whole = false;
      ends.forEach((e) => e.destroy());
    },
    mend() {
      whole = true;
    },
  };
}

export const at = (page, path) => `${page.base}/dashboard/${path}`;

export async function signIn(page, who, token = config.tokens[who]) {
  await page.goto(at(page, ''));
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').first().waitFor();
}

// The administrator has no token: a link of the program itself.
export async function signInAsAdmin(page, c = config) {
  const r = run(config.berth, ['dashboard', '--data', c.data]);
  const link = r.split(/\s+/).find((w) => w.includes('#code='));
  await page.goto(link);
  await page.getByRole('navigation').first().waitFor();
}

export async function go(page, path) {
  await page.goto(at(page, path));
  await page.getByRole('heading', { level: 1 }).waitFor();
}

export const dialog = (page) => page.getByRole('dialog');
export const isLive = (page) => page.getByRole('banner').getByText('Live', { exact: true }).waitFor({ timeout: 45_000 });
export const isStale = (page) => page.getByRole('banner').getByText(/^Stale since \d\d:\d\d:\d\d/).waitFor({ timeout: 45_000 });

// Who may not list projects types the name.
export async function pickProject(page, name) {
  await page.getByRole('button', { name: /^Project:/ }).click();
  const field = page.getByRole('textbox', { name: 'Project' });
  const option = page.getByRole('option', { name, exact: true });
  await field.or(option).first().waitFor();
  if (await option.count()) {
    await option.click();
  } else {
    await field.fill(name);
    await field.press('Enter');
  }
  await page.getByRole('button', { name: new RegExp(`^Project: ${name}`) }).waitFor();
}

export async function pickZone(page, name) {
  await page.getByRole('button', { name: /^Time zone:/ }).click();
  await page.getByRole('textbox', { name: 'Find a time zone' }).fill(name);
  await page.getByRole('option', { name: new RegExp(name) }).first().click();
}

// The cells of a table's row, by the names of their columns. Columns without a name are left out.
export async function cellsOf(table, row) {
  const heads = await table.getByRole('columnheader').allInnerTexts();
  const cells = await row.locator(':scope > th, :scope > td').allInnerTexts();
  return Object.fromEntries(heads.map((h, i) => [h.replace(/[↑↓]/g, '').trim(), (cells[i] ?? '').trim()]).filter(([h]) => h));
}

// ---- what a page is like ----

export async function shot(page, name) {
  if (SHOTS) {
    await page.screenshot({ path: join(SHOTS, `${name}.png`) });
  }
}

// Colours fade from one theme to the other, and what is inside fades after; what is looked at is where they end.
const settle = (page) =>
  page.evaluate(() => {
    // What is out of sight would keep the colours it had until one scrolls there.
    for (const e of document.querySelectorAll('article, li, tr, section')) {
      if (getComputedStyle(e).contentVisibility === 'auto') {
        e.style.contentVisibility = 'visible';
      }
    }
    for (let i = 0; i < 20; i++) {
      const moving = document.getAnimations().filter((a) => a.playState !== 'finished' && a.effect?.getComputedTiming().iterations !== Infinity);
      if (moving.length === 0) {
        return;
      }
      moving.forEach((a) => a.finish());
    }
  });

export const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 780 };
export const WALL = { width: 3840, height: 900 }; // wide is what matters; a browser without a GPU paints every pixel

async function broken(page) {
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(AXE);
  }
  return page.evaluate(async () => {
    const r = await window.axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
    return r.violations.map((v) =>
      `${v.id} (${v.impact}): ${v.help}\n    ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}: ${n.failureSummary?.replace(/\s+/g, ' ')}`).join('\n    ')}`);
  });
}

// Nothing is wider than the page: there is nothing to scroll sideways to.
export async function fits(page, name) {
  const over = await page.evaluate(() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth);
  assert.ok(over <= 1, `${name}: ${over} px wider than the page`);
}

// Every rule that axe has but for those of WCAG's level AAA and its experiments, on what is open now: once light, at a
// desk, and once dark, on a phone (in the one size there is, where only one is asked for); and that the page fits there
// and on a wall of 3840 pixels. Colours do not change with the size nor the structure with the theme, so that more runs of
// axe a page take minutes and find nothing else.
// SHORT=1 leaves it out.
export async function axe(page, name, sizes = [DESK, PHONE, WALL]) {
  if (SHORT) {
    return;
  }
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const dark of sizes.length === 1 ? [false, true] : size === DESK ? [false] : size === PHONE ? [true] : []) {
      await page.evaluate((d) => document.documentElement.classList.toggle('pf-v6-theme-dark', d), dark);
      await settle(page);
      const how = `${name} at ${size.width} px, ${dark ? 'dark' : 'light'}`;
      if (size === (dark ? PHONE : DESK)) {
        await shot(page, how.replace(/\W+/g, '-'));
      }
      const found = await broken(page);
      assert.deepEqual(found, [], `${how}:\n${found.join('\n')}`);
    }
    await fits(page, `${name} at ${size.width}`);
  }
  await page.evaluate(() => document.documentElement.classList.remove('pf-v6-theme-dark'));
  await page.setViewportSize(DESK);
  await settle(page);
}
