// Signing in to the dashboard at the provider, in Chromium: signin.mjs SITE CHROMIUM [FOLDER for screenshots].
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');
const [site, executablePath, shots] = process.argv.slice(2);

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--ignore-certificate-errors'] });

async function shoot(name, colorScheme, width) {
  if (!shots) return;
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
  await page.goto(`${site}/dashboard/${name === 'failed' ? '?signin=old' : ''}`);
  await page.getByTestId('signin-issuer').waitFor();
  await page.screenshot({ path: join(shots, `signin-${name}-${colorScheme}-${width}.png`) });
  await page.close();
}
for (const name of ['plain', 'failed']) {
  for (const scheme of ['light', 'dark']) {
    for (const width of [1280, 360]) await shoot(name, scheme, width);
  }
}

const context = await browser.newContext({ ignoreHTTPSErrors: true });
const page = await context.newPage();
const addresses = [];
page.on('framenavigated', (f) => addresses.push(f.url()));
await page.goto(`${site}/dashboard/`);
const button = page.getByTestId('signin-issuer');
await button.waitFor();
assert.equal(await button.innerText(), 'Sign in with Example');
await button.click();
await page.locator('input[name=login]').fill('ann');
await page.locator('input[name=password]').fill('x');
await page.locator('button[type=submit]').click();
await page.locator('form input[value=consent]').waitFor({ state: 'attached' });
await page.locator('button[type=submit]').click();
await page.waitForURL(`${site}/dashboard/**`);
await page.getByTestId('signin-issuer').waitFor({ state: 'detached' });
const session = async () => page.evaluate(async () => {
  const r = await fetch('/dashboard/session');
  return { status: r.status, body: await r.json() };
});
const who = await session();
assert.equal(who.status, 200);
assert.equal(who.body.user, 'idp:ann');
assert.ok(who.body.groups.includes('idp:dev'));
const pods = await page.evaluate(async () => (await fetch('/api/v1/pods')).status);
assert.equal(pods, 200);
const cookies = await context.cookies(site);
const ours = cookies.filter((c) => c.name.startsWith('berth-'));
assert.equal(ours.length, 1, 'the cookie of the way is gone');
assert.ok(ours[0].httpOnly && ours[0].sameSite === 'Strict');
for (const a of addresses) assert.ok(!/id_token|access_token|eyJ/.test(a), a);
assert.ok(!/code=|state=/.test(page.url()), page.url());
const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
assert.ok(!stored.includes('eyJ'));

// Out again; a way that nobody began says so.
await page.evaluate(() => fetch('/dashboard/session', { method: 'DELETE', headers: { 'X-Berth-Dashboard': '1' } }));
assert.equal((await session()).status, 401);
await page.goto(`${site}/dashboard/session/callback?code=x&state=y`);
await page.getByTestId('signin-error').waitFor();
assert.match(await page.getByTestId('signin-error').innerText(), /took too long/);
assert.equal(page.url(), `${site}/dashboard/`);
await browser.close();
