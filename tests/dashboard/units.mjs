// The parts of the dashboard that decide without a page: zones, the calendar's scale and rows, drafts, YAML.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const esbuild = createRequire(join(web, 'package.json'))('esbuild');
const folder = mkdtempSync(join(tmpdir(), 'berth-units.'));

async function load(path) {
  const outfile = join(folder, `${path.replace(/\W/g, '_')}.mjs`);
  await esbuild.build({ entryPoints: [join(web, 'src', path)], bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error', jsx: 'automatic', loader: { '.css': 'empty' } });
  return import(pathToFileURL(outfile).href);
}

const HOUR = 3600e3;
const utc = (s) => Date.parse(`${s}Z`);
const cases = {
  async 'estimated starts: a time, a range, and none'() {
    const e = await load('ui/estimate.ts');
    const now = utc('2026-11-23T14:00');
    const range = { earliest: '2026-11-23T14:20:00Z', latest: '2026-11-23T15:10:00Z' };
    assert.equal(e.startWords({ ...range, start: '2026-11-23T14:40:00Z' }, now), 'in about 40 min');
    assert.equal(e.startWords(range, now), 'in 20 min to 1 h 10 min');
    assert.equal(e.startWords({ ...range, earliest: '2026-11-23T14:00:10Z' }, now), 'within 1 h 10 min');
    assert.equal(e.startWords({ earliest: range.earliest }, now), '');
    assert.equal(e.startWords(undefined, now), '');
    assert.match(e.startClock(range, 'UTC'), /^Mon.*23.*(14:20|02:20 PM) – (15:10|03:10 PM)$/);
    assert.match(e.startClock({ ...range, latest: '2026-11-24T02:10:00Z' }, 'UTC'), /^Mon.*23.*(14|02):20.* – Tue.*24.*02:10( AM)?$/);
    assert.match(e.startClock({ ...range, start: '2026-11-23T14:40:00Z' }, 'UTC'), /(14:40|02:40 PM)$/);
    assert.equal(e.startClock({}, 'UTC'), '');
    assert.match(e.startExact(range, 'UTC'), /:20:00.* – .*:10:00/);
    assert.equal(e.startExact(undefined, 'UTC'), '');
  },
  async 'zones: offsets, gaps, times that are twice, days of other lengths'() {
    const z = await load('calendar/zone.ts');
    assert.equal(z.offsetText(utc('2026-01-15T12:00'), 'Europe/Warsaw'), '+01:00');
    assert.equal(z.offsetText(utc('2026-07-15T12:00'), 'America/St_Johns'), '−02:30');
    assert.equal(z.offsetText(utc('2026-07-15T12:00'), 'Asia/Kathmandu'), '+05:45');
    // 02:30 does not exist on 29 March 2026 in Warsaw: it is 03:30, by the offset before.
    assert.equal(z.fromInput('2026-03-29T02:30', 'Europe/Warsaw'), utc('2026-03-29T01:30'));
    assert.ok(z.isSkipped('2026-03-29T02:30', 'Europe/Warsaw'));
    assert.ok(!z.isSkipped('2026-03-29T03:30', 'Europe/Warsaw'));
    // 02:30 is twice on 25 October: the first.
    assert.equal(z.fromInput('2026-10-25T02:30', 'Europe/Warsaw'), utc('2026-10-25T00:30'));
    assert.equal(z.dayHours(utc('2026-10-25T12:00'), 'Europe/Warsaw'), 25);
    assert.equal(z.dayHours(utc('2026-03-29T12:00'), 'Europe/Warsaw'), 23);
    assert.equal(z.dayHours(utc('2026-04-05T02:00'), 'Australia/Lord_Howe'), 24.5);
    assert.deepEqual(z.changesIn(utc('2026-10-24T22:00'), utc('2026-10-25T23:00'), 'Europe/Warsaw'), [utc('2026-10-25T01:00')]);
    assert.equal(z.rangeText(NaN, 5, 'UTC'), '');
    // Samoa had no 30 December 2011.
    const day = z.startOfDay(utc('2011-12-30T09:00'), 'Pacific/Apia');
    assert.equal(z.toInput(z.addDays(day, 1, 'Pacific/Apia'), 'Pacific/Apia').slice(0, 10), '2011-12-31');
    for (const zone of ['UTC', 'Europe/Warsaw', 'Asia/Kathmandu', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca']) {
      for (let t = utc('2026-01-01T00:00'); t < utc('2027-01-01T00:00'); t += 5 * HOUR) {
        const back = z.instantOf(z.wallOf(t, zone), zone);
        assert.ok(back === t || back === t - HOUR || back === t - HOUR / 2, `${zone} ${new Date(t).toISOString()}`);
      }
    }
  },
  async 'the scale: cells of a day are its hours, whatever their number; months and weeks'() {
    const s = await load('calendar/scale.ts');
    const day = (d) => s.makeScale('day', utc(`${d}T12:00`), 'Europe/Warsaw', 0);
    assert.equal(day('2026-10-25').columns.length, 50);
    assert.equal(day('2026-03-29').columns.length, 46);
    assert.equal(day('2026-11-21').columns.length, 48);
    assert.equal(day('2026-10-25').headings[0].sub, '25 h');
    const week = s.makeScale('week', utc('2026-10-22T12:00'), 'Europe/Warsaw', 0);
    assert.equal(week.headings.length, 7);
    assert.equal(week.to - week.from, (7 * 24 + 1) * HOUR);
    assert.equal(s.offsetsText(week), 'UTC+02:00 → +01:00');
    const month = s.makeScale('month', utc('2028-02-10T12:00'), 'Asia/Kathmandu', 0);
    assert.equal(month.columns.length, 29);
    // In the month a selection of days is office hours.
    const [from, to] = s.selectionRange(month, 3, 4);
    assert.equal(new Date(from).toISOString(), '2028-02-04T03:15:00.000Z');
    assert.equal(to - from, 32 * HOUR);
    for (const c of week.columns) {
      assert.equal(week.columns[s.cellAt(week, c.from)], c);
      assert.equal(week.columns[s.cellAt(week, c.to - 1)], c);
    }
  },
  async 'rows: no bar covers another, and a cell says the least that is free in it'() {
    const r = await load('calendar/rows.ts');
    const bars = [];
    for (let i = 0; i < 300; i++) {
      const from = (i * 7919) % 1000;
      bars.push({ key: `${i}`, from, to: from + 1 + ((i * 104729) % 90), lane: 0, count: 1, phase: '', mine: false, visible: false });
    }
    const lanes = r.pack(bars);
    for (const a of bars) {
      assert.ok(a.lane < lanes);
      for (const b of bars) {
        assert.ok(a === b || a.lane !== b.lane || a.to <= b.from || b.to <= a.from, 'two bars of a lane overlap');
      }
    }
    const peak = Math.max(...bars.map((a) => bars.filter((b) => b.from <= a.from && b.to > a.from).length));
    assert.equal(lanes, peak, 'as many lanes as bars at once, and no more');
    const at = (h) => new Date(h * HOUR).toISOString();
    const item = {
      flavor: 'f', resource: 'nvidia.com/mig-2g.35gb', total: 4, slots: [0, 1, 2, 3].map((h) => ({ start: at(h), end: at(h + 1), free: 4 - h, total: 4 })),
      busy: [{ start: at(1), end: at(3), count: 2, phase: 'Active', namespace: 'a', name: 'b', owner: 'me' }, { start: at(0), end: at(2), count: 1 }],
    };
    const windows = [{ metadata: { name: 'w' }, spec: { type: 'Maintenance', start: at(2), end: at(4), flavor: 'f' } },
      { metadata: { name: 'x' }, spec: { type: 'Added', start: at(0), end: at(4), flavor: 'f' } }];
    const [g] = r.makeGroups([item], windows, 0, 4 * HOUR, (b) => b.owner === 'me');
    const row = g.rows[0];
    assert.equal(row.lanes, 2);
    assert.equal(row.closures.length, 1);
    const s = r.cellState(row, HOUR, 3 * HOUR);
    assert.equal(s.free, 2);
    assert.equal(s.mine.length, 1);
    assert.equal(s.others[0].name, undefined);
    assert.equal(s.closed.name, 'w');
  },
  async 'keys lead where they should'() {
    const g = await load('calendar/gantt.tsx');
    const s = { row: 1, col: 4, anchor: 4 };
    assert.deepEqual(g.moved('ArrowRight', false, true, s, 3, 6), { row: 1, col: 5, anchor: 4 });
    assert.deepEqual(g.moved('ArrowRight', false, false, s, 3, 5), { row: 1, col: 4, anchor: 4 });
    assert.deepEqual(g.moved('ArrowUp', false, true, { ...s, anchor: 1 }, 3, 6), { row: 0, col: 4, anchor: 4 });
    assert.deepEqual(g.moved('Home', true, false, s, 3, 6), { row: 0, col: 0, anchor: 0 });
    assert.deepEqual(g.moved('End', false, true, s, 3, 6), { row: 1, col: 5, anchor: 4 });
    assert.equal(g.moved('x', false, false, s, 3, 6), undefined);
  },
  async 'drafts: presets, the grid of a zone of 45 minutes, what is missing, what is made'() {
    const d = await load('book/draft.ts');
    const now = utc('2026-11-21T15:07');
    assert.deepEqual(d.presetRange('now', now, 'Europe/Warsaw', 15 * 60e3), [utc('2026-11-21T15:00'), utc('2026-11-21T17:00')]);
    assert.deepEqual(d.presetRange('tomorrow', now, 'Europe/Warsaw', 15 * 60e3), [utc('2026-11-22T08:00'), utc('2026-11-22T16:00')]);
    assert.deepEqual(d.presetRange('afternoon', now, 'Europe/Warsaw', 15 * 60e3), [utc('2026-11-21T15:00'), utc('2026-11-21T17:00')]);
    assert.equal(d.presetRange('afternoon', utc('2026-11-21T17:00'), 'Europe/Warsaw', 15 * 60e3), undefined);
    assert.equal(d.alignDown(utc('2026-11-21T15:20'), HOUR, 'Asia/Kathmandu'), utc('2026-11-21T15:15'));
    assert.equal(d.alignUp(utc('2026-11-21T15:15'), HOUR, 'Asia/Kathmandu'), utc('2026-11-21T15:15'));
    const draft = {
      name: 'x', project: 'p', start: now, end: now + 2 * HOUR, zone: 'Europe/Warsaw', lines: [{ resource: 'nvidia.com/gpu', count: 2 }], purpose: ' go ',
      class: 'standard', exclusive: false, endPolicy: 'demote', waitlist: true, autoExtend: '', group: '', repeat: { freq: 'none', count: 1, conflictPolicy: 'Skip' },
    };
    assert.deepEqual(d.faultsOf(draft, now), []);
    assert.deepEqual(d.faultsOf({ ...draft, end: now }, now), ['order']);
    assert.deepEqual(d.faultsOf({ ...draft, lines: [], name: 'A b', purpose: 'x'.repeat(161) }, now), ['noLines', 'name', 'purpose']);
    assert.deepEqual(d.objectOf(draft).spec, {
      start: '2026-11-21T15:07:00Z', end: '2026-11-21T17:07:00Z', timeZone: 'Europe/Warsaw', lines: [{ resource: 'nvidia.com/gpu', count: 2 }], purpose: 'go', waitlist: true,
    });
    const series = d.objectOf({ ...draft, repeat: { freq: 'WEEKDAYS', count: 5, conflictPolicy: 'Skip' } });
    assert.equal(series.kind, 'ReservationSeries');
    assert.equal(series.spec.start, '2026-11-21T16:07:00');
    assert.equal(series.spec.duration, '2h');
    assert.equal(series.spec.rrule, 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=5');
    for (const purpose of ['', '<img onerror>', 'Łódź 1', '9 lives', '-'.repeat(200)]) {
      const name = d.proposeName({ ...draft, purpose }, 'abcd');
      assert.match(name, /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/, name);
    }
    const items = [['nvidia.com/gpu', 141, 1], ['nvidia.com/mig-2g.35gb', 35, 0.25], ['nvidia.com/mig-1g.18gb', 18, 0.125]].map(([resource, memoryGiB, gpuShare]) => ({ flavor: 'f', resource, memoryGiB, gpuShare, total: 2, slots: [{ start: '2026-11-21T00:00:00Z', end: '2026-11-23T00:00:00Z', free: 1, total: 2 }] }));
    assert.equal(d.byMemory(items, 20, now, now + HOUR).resource, 'nvidia.com/mig-2g.35gb');
    assert.equal(d.byMemory(items, 200, now, now + HOUR), undefined);
    // GB as NVIDIA names them, of what such a card really has.
    const real = items.map((i) => ({ ...i, memoryGiB: { 1: 143771 / 1024, 0.25: 33024 / 1024, 0.125: 16 }[i.gpuShare] }));
    const chosen = (gb) => d.byMemory(real, gb, now, now + HOUR)?.resource;
    assert.deepEqual([18, 19, 35, 36, 141, 160].map(chosen), ['nvidia.com/mig-1g.18gb', 'nvidia.com/mig-2g.35gb', 'nvidia.com/mig-2g.35gb', 'nvidia.com/gpu', 'nvidia.com/gpu', undefined]);
    assert.deepEqual(real.map((await load('ui/names.ts')).namedGb), [141, 35, 18]);
  },
  async 'YAML: what could be taken for something else is quoted'() {
    const y = await load('book/yaml.ts');
    assert.equal(y.toYaml({ a: 'yes', b: 'x y', c: '1', d: 1, e: [], f: { g: [{ h: 1, i: 'a: b' }] }, j: '2g.35gb', k: 'a\nb' }),
      'a: "yes"\nb: x y\nc: "1"\nd: 1\ne: []\nf:\n  g:\n  - h: 1\n    i: "a: b"\nj: "2g.35gb"\nk: "a\\nb"\n');
  },
  async 'measurements: what was not measured is within no limit'() {
    const f = await load('serve/fit.ts');
    const records = [{ config: 'fast', ttftP90: 90 }, { config: 'slow', ttftP90: 300 }, { config: 'unknown' }, { config: 'beaten', ttftP90: 95, beaten: true }];
    const named = (limit) => f.within(records, limit).map((r) => r.config);
    assert.deepEqual(named(undefined), ['fast', 'slow', 'unknown']);
    assert.deepEqual(named(100), ['fast']);
  },
  async 'why a service is not ready: what its replicas wait for, not what its fields are'() {
    const v = await load('serve/service.ts');
    const service = (status, message, ...more) => ({ metadata: { name: 'm' }, spec: { predictor: {} }, status: { conditions: [
      { type: 'FieldsHonored', status: 'False', message: 'kept, and nothing acts on them: spec.predictor.timeout' },
      { type: 'PredictorReady', status, message }, ...more] } });
    assert.equal(v.whyOf(service('Unknown', 'no image')), 'no image');
    assert.equal(v.whyOf(service('False', 'no image')), 'no image');
    assert.equal(v.whyOf(service('True', '', { type: 'IngressReady', status: 'Unknown', message: 'no route' })), 'no route');
    assert.equal(v.whyOf(service('True', '')), '');
  },
  async 'an edit sends what was changed, and takes away what is empty'() {
    const p = await load('admin/policy.tsx');
    assert.deepEqual(p.mergePatch({ a: 1, b: { c: 2, d: 3 }, e: [1] }, { a: 1, b: { c: '', d: 4 }, e: [2] }), { b: { c: null, d: 4 }, e: [2] });
    assert.deepEqual(p.mergePatch({ a: 1 }, { a: 1 }), {});
  },
};

let failed = 0;
for (const [name, f] of Object.entries(cases)) {
  try {
    await f();
    console.log(`ok - ${name}`);
  } catch (e) {
    failed++;
    console.log(`NOT OK - ${name}\n${e.stack}`);
  }
}
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);
