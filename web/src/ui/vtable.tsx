// A table of very many rows: only those in sight are in the page, and the one that has the focus, so that scrolling
// takes it from nobody. Rows are of one height, each laid out by itself at its place, since a browser lays out a table
// anew as a whole; roles say what its elements are no more. On a small screen a row is a card. Arrow keys, Page up,
// Page down, Home and End move between the links of rows; how many there are, and which one this is, is told by
// aria-rowcount and aria-rowindex.

import { memo, useEffect, useLayoutEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { useMedia } from '../app/theme.ts';
import { strings } from '../strings.ts';

export interface Column<T> {
  key: string;
  label: string;
  width: string; // "8rem", or "12%": a part of what the others leave
  num?: boolean;
  sort?: (a: T, b: T) => number;
  cell: (row: T) => ReactNode; // the first column has the link
}

export interface Sorting {
  key: string;
  down: boolean;
}

const HEAD = 40;
const ROW = 44;
const CARD = 92;
const SPARE = 10; // rows above and below those in sight
const STEP = 4; // rows that are scrolled before others are drawn

// The rows in the page: those in sight, and the one with the focus.
export function segments(first: number, last: number, focused: number | undefined, all: number): [number, number][] {
  const out: [number, number][] = first < last ? [[first, last]] : [];
  if (focused !== undefined && focused < all && (focused < first || focused >= last)) {
    out.push([focused, focused + 1]);
  }
  return out.sort((a, b) => a[0] - b[0]);
}

// Where a key leads from row i; undefined where it is not ours.
export function rowAfter(key: string, i: number, page: number, all: number): number | undefined {
  const to = { ArrowDown: i + 1, ArrowUp: i - 1, PageDown: i + page, PageUp: i - page, Home: 0, End: all - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(all - 1, to));
}

interface RowProps<T> {
  row: T;
  index: number;
  height: number;
  columns: Column<T>[];
  card: ((row: T) => ReactNode) | undefined;
}

// A row is drawn anew only when it, or how it is shown, has changed; scrolling moves the others.
const Row = memo(function Row<T>(p: RowProps<T>): ReactNode {
  return (
    <tr role="row" aria-rowindex={p.index} style={{ height: p.height, insetBlockStart: (p.index - 2) * p.height }}>
      {p.card ? (
        <td role="cell" aria-colspan={p.columns.length}>
          <div className="b-vcard">{p.card(p.row)}</div>
        </td>
      ) : (
        p.columns.map((c, n) =>
          n === 0 ? (
            <th key={c.key} scope="row" role="rowheader">
              <div className="b-cut">{c.cell(p.row)}</div>
            </th>
          ) : (
            <td key={c.key} role="cell" className={c.num ? 'b-num' : ''}>
              <div className="b-cut">{c.cell(p.row)}</div>
            </td>
          ),
        )
      )}
    </tr>
  );
}) as <T>(p: RowProps<T>) => ReactNode;

export function VTable<T>(p: {
  label: string;
  rows: T[];
  idOf: (row: T) => string;
  columns: Column<T>[];
  card: (row: T) => ReactNode;
  sorting: Sorting;
  onSort: (s: Sorting) => void;
}): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const narrow = useMedia('(max-width: 47.99rem)');
  const [at, setAt] = useState(0); // the first row in sight
  const [height, setHeight] = useState(480);
  const [scale, setScale] = useState(1);
  const row = (narrow ? CARD : ROW) * scale;

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) {
      return;
    }
    const fit = (): void => {
      setScale(parseFloat(getComputedStyle(document.documentElement).fontSize) / 16);
      setHeight(Math.max(320, window.innerHeight - el.getBoundingClientRect().top - 48));
    };
    fit();
    window.addEventListener('resize', fit);
    return () => window.removeEventListener('resize', fit);
  }, []);

  const many = p.rows.length;
  const first = Math.max(0, Math.min(at, many - 1) - SPARE);
  const last = Math.min(many, at + STEP + Math.ceil(height / row) + SPARE);
  const [focused, setFocused] = useState<string>();
  const held = focused === undefined ? -1 : p.rows.findIndex((r) => p.idOf(r) === focused);

  const head = narrow ? 0 : HEAD * scale;
  const topOf = (el: HTMLElement): number => Math.floor(el.scrollTop / row / STEP) * STEP;
  const scrolled = (el: HTMLElement): void => {
    const next = topOf(el);
    if (Math.abs(next - at) > SPARE) {
      flushSync(() => setAt(next)); // a jump: nothing of what is in the page is in sight
    } else {
      setAt(next);
    }
  };

  // The list became shorter than where we stood.
  useEffect(() => {
    setAt(Math.floor((box.current?.scrollTop ?? 0) / row / STEP) * STEP);
  }, [many, row]);

  const key = (e: KeyboardEvent<HTMLDivElement>): void => {
    const here = (e.target as HTMLElement).closest('tbody tr')?.getAttribute('aria-rowindex');
    const el = box.current;
    const to = here && el ? rowAfter(e.key, Number(here) - 2, Math.max(1, Math.floor((el.clientHeight - head) / row) - 1), many) : undefined;
    if (to === undefined || !el || e.ctrlKey || e.altKey || e.metaKey) {
      return;
    }
    e.preventDefault();
    const y = to * row;
    if (y < el.scrollTop) {
      el.scrollTop = y;
    } else if (y + row + head > el.scrollTop + el.clientHeight) {
      el.scrollTop = y + row + head - el.clientHeight;
    }
    flushSync(() => setAt(topOf(el)));
    el.querySelector<HTMLElement>(`tr[aria-rowindex="${to + 2}"] a`)?.focus({ preventScroll: true });
  };

  // Which row has the focus is remembered by what it is: a list that is sorted anew takes it along.
  const focus = (target: EventTarget): void => {
    const here = (target as HTMLElement).closest?.('tbody tr')?.getAttribute('aria-rowindex');
    const r = here ? p.rows[Number(here) - 2] : undefined;
    setFocused(r && p.idOf(r));
  };

  const columns = narrow ? 'minmax(0, 1fr)' : p.columns.map((c) => c.width.replace(/^(\d+)%$/, 'minmax(0, $1fr)')).join(' ');
  const body: ReactNode[] = [];
  for (const [from, to] of segments(first, last, held >= 0 ? held : undefined, many)) {
    for (let i = from; i < to; i++) {
      const r = p.rows[i] as T;
      body.push(<Row key={p.idOf(r)} row={r} index={i + 2} height={row} columns={p.columns} card={narrow ? p.card : undefined} />);
    }
  }

  return (
    <div
      ref={box}
      className="b-vtable b-panel"
      style={{ maxHeight: height }}
      tabIndex={0}
      role="region"
      aria-label={p.label}
      onScroll={(e) => scrolled(e.currentTarget)}
      onKeyDown={key}
      onFocus={(e) => focus(e.target)}
      onBlur={(e) => !e.currentTarget.contains(e.relatedTarget) && document.hasFocus() && setFocused(undefined)}
    >
      <table className="b-table" role="table" aria-label={p.label} aria-rowcount={many + 1} style={{ '--b-columns': columns } as CSSProperties}>
        <thead role="rowgroup" className={narrow ? 'b-hidden' : ''}>
          <tr role="row" aria-rowindex={1}>
            {p.columns.map((c) => {
              const here = p.sorting.key === c.key;
              return (
                <th
                  key={c.key}
                  scope="col"
                  role="columnheader"
                  className={c.num ? 'b-num' : ''}
                  aria-sort={here ? (p.sorting.down ? 'descending' : 'ascending') : undefined}
                >
                  {c.sort ? (
                    <button
                      type="button"
                      className="b-sort"
                      onClick={() => p.onSort({ key: c.key, down: here ? !p.sorting.down : false })}
                    >
                      {c.label}
                      <span aria-hidden="true" className={here ? '' : 'b-faint'}>
                        {here && p.sorting.down ? ' ↓' : ' ↑'}
                      </span>
                    </button>
                  ) : (
                    c.label
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody role="rowgroup" style={{ height: many * row }}>
          {body}
        </tbody>
      </table>
      {p.rows.length === 0 && <p className="b-quiet b-pad">{strings.states.none}</p>}
    </div>
  );
}
