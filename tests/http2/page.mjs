// The dashboard in Chromium over HTTPS: by which protocol its parts came.   page.mjs URL CODE
import { createRequire } from 'node:module';
const require = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');

const [url, code] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
await page.goto(`${url}/dashboard/signin#code=${code}`);
await page.waitForFunction(() => performance.getEntriesByType('resource').some((e) => e.name.includes('/api')), null, { timeout: 60000 });
const by = await page.evaluate(() =>
  [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((e) => e.nextHopProtocol));
console.log(JSON.stringify([...new Set(by.filter(Boolean))]));
const status = await page.evaluate(async () => (await fetch('/api/v1/namespaces?watch=true&timeoutSeconds=1')).status);
console.log('watch', status);
await browser.close();
