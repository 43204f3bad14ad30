// Which rows of a long table are in the page, and where keys lead.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowAfter, segments } from '../../web/src/ui/vtable.tsx';

test('the rows in sight are in the page, and the one with the focus wherever it is', () => {
  assert.deepEqual(segments(90, 120, undefined, 10_000), [[90, 120]]);
  assert.deepEqual(segments(90, 120, 100, 10_000), [[90, 120]]);
  assert.deepEqual(segments(90, 120, 3, 10_000), [[3, 4], [90, 120]]);
  assert.deepEqual(segments(90, 120, 120, 10_000), [[90, 120], [120, 121]]);
  assert.deepEqual(segments(0, 5, 7, 5), [[0, 5]], 'a row that is no more');
  assert.deepEqual(segments(0, 0, undefined, 0), []);
});

test('keys stay in the list', () => {
  assert.equal(rowAfter('ArrowDown', 4, 10, 6), 5);
  assert.equal(rowAfter('ArrowDown', 5, 10, 6), 5);
  assert.equal(rowAfter('ArrowUp', 0, 10, 6), 0);
  assert.equal(rowAfter('PageDown', 1, 10, 10_000), 11);
  assert.equal(rowAfter('PageUp', 4, 10, 10_000), 0);
  assert.equal(rowAfter('End', 4, 10, 10_000), 9999);
  assert.equal(rowAfter('Home', 4, 10, 10_000), 0);
  assert.equal(rowAfter('Enter', 4, 10, 10_000), undefined);
});
