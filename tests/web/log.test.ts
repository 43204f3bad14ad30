// The log's box: whether it follows, and whose scroll it was.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scrolls } from '../../web/src/ui/log.tsx';

// A box of 100 pixels with `lines` of 10 that keeps its place within bounds, as a browser does.
function boxOf(lines: number): { scrollTop: number; scrollHeight: number; clientHeight: number } {
  let top = 0;
  return {
    clientHeight: 100,
    scrollHeight: lines * 10,
    get scrollTop() {
      return top;
    },
    set scrollTop(v: number) {
      top = Math.max(0, Math.min(v, this.scrollHeight - this.clientHeight));
    },
  };
}

test("the log's own last scroll, told of late, does not take back that a person stopped following", () => {
  const scrolls = new Scrolls();
  const box = boxOf(30);
  scrolls.toEnd(box);
  box.scrollHeight = 310;
  scrolls.toEnd(box);
  assert.equal(scrolls.told(box, false), false, 'two scrolls, told of once');
});

test("a person's scrolls decide: away, and back to the very place", () => {
  const scrolls = new Scrolls();
  const box = boxOf(30);
  scrolls.toEnd(box);
  assert.equal(scrolls.told(box, true), true);
  box.scrollTop = 0;
  assert.equal(scrolls.told(box, true), false);
  box.scrollTop = 1000;
  assert.equal(scrolls.told(box, false), true);
  // A scroll of the log's that nobody has been told of yet, and then a person's.
  box.scrollHeight = 400;
  scrolls.toEnd(box);
  box.scrollTop = 50;
  assert.equal(scrolls.told(box, true), false);
  // The log was at its end: nothing moves, nothing will be told, the next word is a person's.
  box.scrollTop = 1000;
  assert.equal(scrolls.told(box, false), true);
  scrolls.toEnd(box);
  box.scrollTop = 290;
  assert.equal(scrolls.told(box, true), true, 'within sight of the end');
  box.scrollTop = 1000;
  assert.equal(scrolls.told(box, false), true);
});

test('a box that holds all says nothing', () => {
  const scrolls = new Scrolls();
  assert.equal(scrolls.told(boxOf(5), false), false);
});
