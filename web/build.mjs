// Builds the dashboard: node build.mjs OUTDIR.
//
// OUTDIR gets index.html and assets/, whose names carry a hash of their contents, so that they may be cached for
// ever. Nothing is inline, so that a policy without 'unsafe-inline' is enough. Screens are chunks of their own,
// loaded when they are opened; the styles of all of them are one file, pruned of what no script can name. The first
// view (page, styles, text font, scripts of the shell and of the overview) has a budget, and a build above it fails.

import * as esbuild from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { prune, shorten } from './prune.mjs';

const BUDGET = 300 * 1000;
const FIRST = ['src/screens/overview.tsx'];
const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUTDIR');
  process.exit(2);
}
const outdir = resolve(out);
const assets = join(outdir, 'assets');

const common = {
  absWorkingDir: here,
  bundle: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  logLevel: 'warning',
  loader: { '.woff2': 'file', '.svg': 'file', '.jpg': 'empty', '.png': 'empty' },
};

const noStyles = {
  name: 'no-styles',
  setup(b) {
    b.onLoad({ filter: /\.css$/ }, () => ({ contents: '', loader: 'js' }));
  },
};

function hashed(name, text) {
  const h = createHash('sha256').update(text).digest('hex').slice(0, 10);
  const dot = name.lastIndexOf('.');
  return `${name.slice(0, dot)}-${h}${name.slice(dot)}`;
}

function put(name, text) {
  const file = hashed(name, text);
  writeFileSync(join(assets, file), text);
  return file;
}

// Scripts, split by screen.
async function scripts() {
  const r = await esbuild.build({
    ...common,
    entryPoints: ['src/main.tsx'],
    outdir: assets,
    splitting: true,
    minify: true,
    metafile: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    plugins: [noStyles],
  });
  return r.metafile.outputs;
}

// All styles in one sheet: a second bundle without splitting, of which only the sheet is kept.
async function styles(js) {
  const r = await esbuild.build({
    ...common,
    entryPoints: ['src/main.tsx'],
    outdir: assets,
    write: false,
    assetNames: '[name]-[hash]',
  });
  const sheet = r.outputFiles.find((f) => f.path.endsWith('.css'));
  const css = shorten(prune(sheet.text, js), js);
  const min = await esbuild.transform(css, { loader: 'css', minify: true, target: ['es2022'] });
  const fonts = [];
  for (const f of r.outputFiles) {
    const name = basename(f.path);
    if (!/\.(js|css)$/.test(name) && min.code.includes(name)) {
      writeFileSync(join(assets, name), f.contents);
      fonts.push(name);
    }
  }
  return { css: put('main.css', min.code), fonts };
}

// The scripts the first view needs: the entry, what it imports, and the first screens.
function firstScripts(outputs) {
  const main = Object.keys(outputs).find((k) => outputs[k].entryPoint === 'src/main.tsx');
  const seen = new Set();
  const visit = (k) => {
    if (seen.has(k)) {
      return;
    }
    seen.add(k);
    for (const i of outputs[k].imports) {
      if (i.kind === 'import-statement') {
        visit(i.path);
      }
    }
  };
  visit(main);
  for (const k of Object.keys(outputs)) {
    if (FIRST.includes(outputs[k].entryPoint)) {
      visit(k);
    }
  }
  return { main: basename(main), all: [...seen].map((k) => basename(k)) };
}

rmSync(assets, { recursive: true, force: true });
mkdirSync(assets, { recursive: true });
const outputs = await scripts();
const js = Object.keys(outputs)
  .map((k) => readFileSync(resolve(here, k), 'utf8'))
  .join('\n');
const { css, fonts } = await styles(js);
const theme = put('theme.js', readFileSync(join(here, 'src/theme.js'), 'utf8'));
const icon = put('icon.svg', readFileSync(join(here, 'src/icon.svg'), 'utf8'));
const font = fonts.find((f) => f.startsWith('RedHatTextVF'));
const first = firstScripts(outputs);
const preload = first.all
  .filter((f) => f !== first.main)
  .map((f) => `<link rel="modulepreload" href="/dashboard/assets/${f}">`)
  .join('\n');
const html = readFileSync(join(here, 'index.html'), 'utf8')
  .replace('%ICON%', icon)
  .replace('%THEME%', theme)
  .replace('%CSS%', css)
  .replace('%FONT%', font)
  .replace('%PRELOAD%', preload)
  .replace('%MAIN%', first.main);
writeFileSync(join(outdir, 'index.html'), html);

const sizeOf = (f) => {
  const b = readFileSync(join(assets, f));
  return f.endsWith('.woff2') ? b.length : gzipSync(b, { level: 9 }).length;
};
const parts = [theme, icon, css, ...fonts.filter((f) => !f.includes('Mono')), ...first.all];
let total = gzipSync(html, { level: 9 }).length;
for (const f of parts) {
  total += sizeOf(f);
}
for (const f of parts.sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, 8)) {
  console.log(`  ${String(Math.round(sizeOf(f) / 100) / 10).padStart(6)} KB  ${f}`);
}
console.log(`first view: ${Math.round(total / 100) / 10} KB gzip of ${BUDGET / 1000} KB`);
if (total > BUDGET) {
  console.error('the first view is above its budget');
  process.exit(1);
}
