// A table of very many rows: only those in sight are in the page. Rows are of one height; on a small screen each is a
// card of a few lines. Arrow keys move between the links of rows.

import { memo, useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useMedia } from '../app/theme.ts';
import { strings } from '../strings.ts';

export interface Column<T> {
  key: string;
  label: string;
  width: string; // of a table column: "12%", "8rem"
  num?: boolean;
  sort?: (a: T, b: T) => number;
  cell: (row: T) => ReactNode; // the first column has the link
}

export interface Sorting {
  key: string;
  down: boolean;
}

const ROW = 44;
const CARD = 92;
const SPARE = 6;

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
    <tr aria-rowindex={p.index} style={{ height: p.height }}>
      {p.card ? (
        <td colSpan={p.columns.length}>
          <div className="b-vcard">{p.card(p.row)}</div>
        </td>
      ) : (
        p.columns.map((c, n) =>
          n === 0 ? (
            <th key={c.key} scope="row">
              <div className="b-cut">{c.cell(p.row)}</div>
            </th>
          ) : (
            <td key={c.key} className={c.num ? 'b-num' : ''}>
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

  const first = Math.max(0, Math.min(at, p.rows.length - 1) - SPARE);
  const last = Math.min(p.rows.length, at + Math.ceil(height / row) + 1 + SPARE);
  const shown = p.rows.slice(first, last);

  // The list became shorter than where we stood.
  useEffect(() => {
    setAt(Math.floor((box.current?.scrollTop ?? 0) / row));
  }, [p.rows.length, row]);

  const key = (e: KeyboardEvent<HTMLDivElement>): void => {
    if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp') {
      return;
    }
    const at = (e.target as HTMLElement).closest('tr')?.getAttribute('aria-rowindex');
    if (!at) {
      return;
    }
    e.preventDefault();
    const next = Number(at) - 2 + (e.key === 'ArrowDown' ? 1 : -1);
    if (next < 0 || next >= p.rows.length || !box.current) {
      return;
    }
    const el = box.current;
    const y = next * row;
    if (y < el.scrollTop) {
      el.scrollTop = y;
    } else if (y + row * 2 > el.scrollTop + el.clientHeight) {
      el.scrollTop = y + row * 2 - el.clientHeight;
    }
    requestAnimationFrame(() => {
      el.querySelector<HTMLElement>(`tr[aria-rowindex="${next + 2}"] a`)?.focus({ preventScroll: true });
    });
  };

  return (
    <div
      ref={box}
      className="b-vtable b-panel"
      style={{ maxHeight: height }}
      tabIndex={0}
      role="region"
      aria-label={p.label}
      onScroll={(e) => setAt(Math.floor(e.currentTarget.scrollTop / row))}
      onKeyDown={key}
    >
      <table className="b-table" aria-rowcount={p.rows.length + 1}>
        <caption className="b-hidden">{p.label}</caption>
        {!narrow && (
          <colgroup>
            {p.columns.map((c) => (
              <col key={c.key} style={{ width: c.width }} />
            ))}
          </colgroup>
        )}
        <thead className={narrow ? 'b-hidden' : ''}>
          <tr aria-rowindex={1}>
            {p.columns.map((c) => {
              const here = p.sorting.key === c.key;
              return (
                <th
                  key={c.key}
                  scope="col"
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
        <tbody>
          {first > 0 && (
            <tr aria-hidden="true" className="b-gap">
              <td colSpan={p.columns.length} style={{ height: first * row }} />
            </tr>
          )}
          {shown.map((r, k) => (
            <Row
              key={p.idOf(r)}
              row={r}
              index={first + k + 2}
              height={row}
              columns={p.columns}
              card={narrow ? p.card : undefined}
            />
          ))}
          {last < p.rows.length && (
            <tr aria-hidden="true" className="b-gap">
              <td colSpan={p.columns.length} style={{ height: (p.rows.length - last) * row }} />
            </tr>
          )}
        </tbody>
      </table>
      {p.rows.length === 0 && <p className="b-quiet b-pad">{strings.states.none}</p>}
    </div>
  );
}
