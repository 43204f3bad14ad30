// The pictures of docs/dashboard.md.   shoot.mjs BERTH DATA FOLDER

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { small } from './png.mjs';

const [berth, data, folder] = process.argv.slice(2);
const require = createRequire(join(fileURLToPath(new URL('../../web/', import.meta.url)), 'package.json'));
const { chromium } = require('playwright-core');
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--lang=en-GB'] });

async function visit(who, o = {}) {
  const out = execFileSync(berth, ['dashboard', '--data', data, ...(who ? ['--as', who[0], '--group', who[1]] : [])], { encoding: 'utf8' });
  const link = out.split(/\s+/).find((w) => w.includes('#code='));
  const context = await browser.newContext({
    viewport: { width: o.width ?? 1280, height: o.height ?? 800 }, colorScheme: o.dark ? 'dark' : 'light',
    locale: 'en-GB', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole('heading', { level: 1 }).waitFor();
  page.base = new URL(page.url()).origin + '/dashboard/';
  return page;
}

async function shot(page, name) {
  await page.waitForTimeout(1500);
  const png = small(await page.screenshot());
  writeFileSync(join(folder, `${name}.png`), png);
  console.log(`${name}.png ${Math.round(png.length / 1000)} KB`);
}

async function go(page, path) {
  await page.goto(page.base + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

const admin = await visit(undefined);
for (const [name, path] of [['overview', ''], ['calendar', 'calendar'], ['queues', 'queues'], ['gpus', 'gpus'], ['workloads', 'workloads']]) {
  await go(admin, path);
  await shot(admin, name);
}
await go(admin, 'admin/quotas');
await admin.getByRole('button', { name: 'Edit vision' }).first().click();
await admin.getByLabel(/^Nominal, nvidia.com\/gpu/).fill('0');
await admin.getByLabel('Admits').selectOption('HoldAndDrain');
await admin.getByText(/workloads? would be evicted/).waitFor();
await shot(admin, 'admin');

const ana = await visit(['ana', 'vision']);
await go(ana, 'calendar?view=day');
await ana.getByRole('gridcell').first().waitFor();
await ana.getByTestId('book').first().click();
const dialog = ana.getByRole('dialog');
await dialog.getByRole('button', { name: 'Tomorrow, 9 to 17' }).click();
await dialog.getByRole('button', { name: 'One 2g.35gb more', exact: true }).click();
await dialog.getByLabel('Project').selectOption('vision').catch(() => undefined);
await dialog.getByLabel('Purpose').fill('Fine-tuning');
await shot(ana, 'book');
await dialog.getByRole('button', { name: 'One 2g.35gb less', exact: true }).click();
for (let i = 0; i < 2; i++) {
  await dialog.getByRole('button', { name: 'One Whole GPU more', exact: true }).click();
}
await dialog.getByTestId('verdict-no').waitFor();
await shot(ana, 'book-conflict');
await go(ana, 'bookings');
await shot(ana, 'bookings');
await ana.getByRole('row').getByRole('link').first().click();
await ana.getByTestId('booking-detail').waitFor();
await shot(ana, 'booking');

const dark = await visit(['ben', 'language'], { dark: true });
await go(dark, 'calendar?view=day');
await dark.getByRole('gridcell').first().waitFor();
await shot(dark, 'calendar-dark');
const phone = await visit(['ben', 'language'], { width: 360, height: 740 });
await go(phone, 'calendar?view=day');
await phone.getByRole('gridcell').first().waitFor();
await shot(phone, 'calendar-phone');
await browser.close();
