// The dashboard in a browser, against the real program: runs the stories, or those whose names have one of the words given.

import { close, config, leave, open, tests } from './lib.mjs';
import './work.mjs';
import './rule.mjs';
import './booking.mjs';
import './keys.mjs';
import './serve.mjs';
import './zones.mjs';
import './screens.mjs';
import './states.mjs';

await open();
let failed = 0;
const chosen = tests.filter((t) => config.names.length === 0 || config.names.some((n) => t.name.includes(n)));
for (const t of chosen) {
  const began = Date.now();
  let error;
  try {
    await t.f();
  } catch (e) {
    error = e;
  }
  await leave(error !== undefined, t.name).catch((e) => (error ??= e));
  if (error) {
    failed++;
    console.log(`NOT OK - ${t.name}\n${error.stack ?? error}`);
    if (process.env.STOP) {
      break;
    }
  } else {
    console.log(`ok - ${t.name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  }
}
await close();
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exit(failed || chosen.length === 0 ? 1 : 0);
