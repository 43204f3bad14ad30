// What the browser tests share: the browser, people, kubectl, axe, screenshots.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const require = createRequire(join(web, 'package.json'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const config = JSON.parse(readFileSync(0, 'utf8'));
export const SHOTS = process.env.SHOTS;
export const WAIT = 20_000;

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

// A browser of one's own; what goes wrong in its pages is remembered and fails the test.
export async function person(o = {}) {
  const context = await browser.newContext({
    viewport: { width: o.width ?? 1280, height: o.height ?? 900 },
    colorScheme: o.dark ? 'dark' : 'light',
    locale: 'en-GB',
    timezoneId: o.zone ?? 'Europe/Warsaw',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT);
  page.wrong = [];
  page.on('pageerror', (e) => page.wrong.push(`page: ${e.message}`));
  page.on('console', (m) => {
    if (m.type() === 'error' && /Content Security Policy|Refused to/.test(m.text())) {
      page.wrong.push(m.text());
    }
  });
  return page;
}

export const at = (path) => `${config.address}/dashboard/${path}`;

export async function signIn(page, who) {
  await page.goto(at(''));
  await page.locator('#token').fill(config.tokens[who]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').first().waitFor();
}

// The administrator has no token: a link of the program itself.
export async function signInAsAdmin(page) {
  const r = run(config.berth, ['dashboard', '--data', config.data]);
  const link = r.split(/\s+/).find((w) => w.includes('#code='));
  await page.goto(link);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

export async function go(page, path) {
  await page.goto(at(path));
  await page.getByRole('heading', { level: 1 }).waitFor();
}

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

export function run(program, args, input) {
  const r = spawnSync(program, args, { input, encoding: 'utf8', timeout: 60_000 });
  assert.equal(r.status, 0, `${program} ${args.join(' ')}: ${r.stdout}${r.stderr}`);
  return r.stdout;
}

export const kubectl = (...args) => run(config.kubectl, args);
export const get = (...args) => JSON.parse(kubectl('get', ...args, '-o', 'json'));
export const apply = (o) => run(config.kubectl, ['apply', '-f', '-'], JSON.stringify(o));

export async function until(what, test, ms = WAIT) {
  const end = Date.now() + ms;
  for (;;) {
    const v = await test();
    if (v) {
      return v;
    }
    assert.ok(Date.now() < end, `waited ${ms / 1000} s for: ${what}`);
    await new Promise((r) => setTimeout(r, 150));
  }
}

export const phaseOf = (ns, name) => {
  const r = spawnSync(config.kubectl, ['get', 'reservation', name, '-n', ns, '-o', 'jsonpath={.status.phase}'], { encoding: 'utf8' });
  return r.status === 0 ? r.stdout : '';
};

export async function shot(page, name) {
  if (SHOTS) {
    await page.screenshot({ path: join(SHOTS, `${name}.png`) });
  }
}

// Colours fade from one theme to the other; what is looked at is where they end.
const settle = (page) =>
  page.evaluate(() => document.getAnimations().forEach((a) => a.effect?.getComputedTiming().iterations !== Infinity && a.finish()));

// Every rule that axe has but for those of WCAG's level AAA and its experiments; light, then dark.
export async function axe(page, name, themes = [false, true]) {
  for (const dark of themes) {
    await page.evaluate((d) => document.documentElement.classList.toggle('pf-v6-theme-dark', d), dark);
    await page.waitForTimeout(150);
    await settle(page);
    await shot(page, `${name}-${dark ? 'dark' : 'light'}`);
    if (!(await page.evaluate(() => 'axe' in window))) {
      await page.evaluate(AXE);
    }
    const found = await page.evaluate(async () => {
      const r = await window.axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
      return r.violations.map((v) =>
        `${v.id} (${v.impact}): ${v.help}\n    ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}: ${n.failureSummary?.replace(/\s+/g, ' ')}`).join('\n    ')}`);
    });
    assert.deepEqual(found, [], `${name}, ${dark ? 'dark' : 'light'}:\n${found.join('\n')}`);
  }
  await page.evaluate(() => document.documentElement.classList.remove('pf-v6-theme-dark'));
  await settle(page);
}

// Nothing is wider than the page: there is nothing to scroll sideways to.
export async function fits(page, name) {
  const over = await page.evaluate(() => {
    const main = document.scrollingElement;
    return main.scrollWidth - main.clientWidth;
  });
  assert.ok(over <= 1, `${name}: ${over} px wider than the page`);
}

export function quiet(page) {
  assert.deepEqual(page.wrong, [], page.wrong.join('\n'));
}
