/*
 * The timeline: resources as rows, time as columns. For the eye bars lie on tracks; for the keyboard and for screen
 * readers it is a grid of cells with one tab stop, each of which says what it holds. Both are the same element tree:
 * cells carry the roles, bars are drawn over them and hidden from the tree.
 */
import * as React from 'react';
import { B } from '../strings.ts';
import { bookingTone } from '../book/phase.ts';
import type { Bar, CellState, Group, Row } from './rows.ts';
import { LANES_MAX, cellState } from './rows.ts';
import type { Scale } from './scale.ts';
import { cellAt, cellText, placeOf, selectionRange } from './scale.ts';
import { changesIn, offsetAt, rangeText, timeText } from './zone.ts';

export interface GanttProps {
  scale: Scale;
  groups: Group[];
  now: number;
  describedBy: string;
  onOpen: (bar: Bar) => void;
  onBook: ((from: number, to: number, row: Row) => void) | undefined; /* undefined: who looks may not book */
  onMove: (by: number) => void;
}

interface Spot {
  row: number;
  col: number;
  anchor: number;
}

const percent = (x: number): string => `${(x * 100).toFixed(4)}%`;

function span(scale: Scale, from: number, to: number): React.CSSProperties {
  const a = placeOf(scale, from), b = placeOf(scale, to);
  return { insetInlineStart: percent(a), inlineSize: percent(b - a) };
}

export function barLabel(b: Bar): string {
  if (!b.visible) return B.cal.busy(b.count);
  const who = b.purpose || b.name || '';
  return b.count > 1 ? B.cal.barMany(b.count, who) : who;
}

function cellLabel(scale: Scale, row: Row, col: number, s: CellState): string {
  const c = scale.columns[col];
  if (!c) return '';
  const parts = [cellText(scale, c), row.label];
  if (s.closed) parts.push(B.cal.closed(s.closed.text));
  if (s.free !== undefined) parts.push(B.cal.freeOf(s.free, s.total ?? row.total));
  for (const b of s.mine) parts.push(B.cal.yours(barLabel(b), rangeText(b.from, b.to, scale.zone)));
  const n = s.others.reduce((sum, b) => sum + b.count, 0);
  if (n > 0) parts.push(B.cal.taken(n));
  return parts.join('. ');
}

/* ---- one row ---- */

interface RowProps {
  scale: Scale;
  row: Row;
  index: number;
  now: number;
  spot: Spot | undefined; /* where this row has the tab stop */
  range: [number, number] | undefined; /* selected cells */
  onOpen: (bar: Bar) => void;
}

function freeClass(free: number, total: number): string {
  return free <= 0 ? 'none' : free < total ? 'some' : 'all';
}

/* What was free is of no use to anybody: the strip begins now. */
function FreeStrip({ scale, row, now }: { scale: Scale; row: Row; now: number }) {
  const runs: typeof row.free = [];
  for (const f of row.free) {
    if (f.to <= now) {
      continue;
    }
    const last = runs[runs.length - 1];
    if (last && last.free === f.free && last.total === f.total && last.to >= f.from) last.to = f.to;
    else runs.push({ ...f, from: Math.max(f.from, now) });
  }
  return (
    <div className="bk-free">
      {runs.filter((r) => r.to > scale.from && r.from < scale.to).map((r) => (
        <div key={r.from} className="bk-free-run" data-free={freeClass(r.free, r.total - row.kept)} style={span(scale, r.from, r.to)}>
          <span className="bk-long">{B.cal.freeLong(r.free, r.total)}</span>
          <span className="bk-short">{r.free}</span>
        </div>
      ))}
    </div>
  );
}

function BarView({ scale, bar, onOpen }: { scale: Scale; bar: Bar; onOpen: (bar: Bar) => void }) {
  const tone = bar.visible ? bookingTone(bar.phase) : 'busy';
  const title = `${barLabel(bar)}\n${rangeText(bar.from, bar.to, scale.zone)}` +
    (bar.visible ? `\n${bar.owner ?? ''} · ${bar.namespace ?? ''}` : '');
  return (
    <div
      className={`bk-bar${bar.mine ? ' bk-mine' : ''}${bar.visible ? ' bk-known' : ''}`} data-tone={tone}
      data-testid={bar.visible ? `bar-${bar.name}` : 'bar-busy'}
      style={{ ...span(scale, bar.from, bar.to), insetBlockStart: `calc(var(--bk-lane) * ${bar.lane})` }}
      title={title}
      onPointerDown={(e) => bar.visible && e.stopPropagation()}
      onClick={() => bar.visible && onOpen(bar)}
    >
      <span className="bk-bar-text">{barLabel(bar)}</span>
    </div>
  );
}

function RowView({ scale, row, index, now, spot, range, onOpen }: RowProps) {
  const lanes = Math.min(row.lanes, LANES_MAX);
  const states = React.useMemo(() => scale.columns.map((c) => cellState(row, c.from, c.to)), [scale, row]);
  return (
    <div role="row" aria-rowindex={index + 3} className="bk-row" style={{ '--bk-lanes': Math.max(lanes, 1) } as React.CSSProperties}>
      <div role="rowheader" className="bk-label" aria-colindex={1}>
        <span className="bk-label-name">{row.label === 'gpu' ? B.cal.wholeGpu : row.label}</span>
        <span className="bk-label-sub">{B.cal.rowSub(row.namedGb, row.total)}</span>
        {row.kept > 0 && <span className="bk-label-sub">{B.cal.kept(row.kept)}</span>}
      </div>
      <div role="presentation" className="bk-track" data-row={index}>
        {scale.columns.map((c, i) => {
          const selected = !!range && i >= range[0] && i <= range[1];
          const s = states[i] ?? { mine: [], others: [] };
          return (
            <div
              key={c.from} role="gridcell" aria-colindex={i + 2} aria-selected={selected} data-col={i}
              aria-label={cellLabel(scale, row, i, s)}
              tabIndex={spot?.col === i ? 0 : -1}
              className={`bk-cell${selected ? ' bk-selected' : ''}${c.to <= now ? ' bk-past' : ''}`}
              style={span(scale, c.from, c.to)}
            />
          );
        })}
        <div className="bk-layers" aria-hidden="true">
          {row.closures.map((c) => (
            <div key={`${c.name}${c.from}`} className="bk-closed" style={span(scale, c.from, c.to)} title={c.text}>
              <span>{c.text}</span>
            </div>
          ))}
          <FreeStrip scale={scale} row={row} now={now} />
          <div className="bk-bars">
            {row.bars.filter((b) => b.lane < LANES_MAX).map((b) => (
              <BarView key={b.key} scale={scale} bar={b} onOpen={onOpen} />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

/* ---- the head: days, hours, where clocks change ---- */

function Head({ scale }: { scale: Scale }) {
  const cellsIn = (from: number, to: number) => scale.columns.filter((c) => c.from >= from && c.to <= to).length;
  return (
    <div role="presentation" className="bk-header">
      <div role="row" className="bk-head" aria-rowindex={1}>
        <div role="columnheader" className="bk-corner" aria-colindex={1}>{B.cal.resource}</div>
        <div role="presentation" className="bk-head-track">
          {scale.headings.map((h) => (
            <div
              key={h.from} role="columnheader" aria-colspan={cellsIn(h.from, h.to)}
              aria-colindex={cellAt(scale, h.from) + 2}
              className={`bk-heading${h.today ? ' bk-today' : ''}${h.weekend ? ' bk-weekend' : ''}`}
              style={span(scale, h.from, h.to)}
            >
              <span className="bk-heading-text">{h.text}</span>
              {h.sub && <span className="bk-odd-day">{h.sub}</span>}
            </div>
          ))}
        </div>
      </div>
      {scale.ticks.length > 0 && (
        <div className="bk-ticks" aria-hidden="true">
          <div className="bk-corner" />
          <div className="bk-head-track">
            {scale.ticks.map((t) => (
              <span key={t.at} className={t.major ? 'bk-tick bk-major' : 'bk-tick'}
                style={{ insetInlineStart: percent(placeOf(scale, t.at)) }}>{t.text}</span>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

function Overlay({ scale, now }: { scale: Scale; now: number }) {
  const at = (x: number): React.CSSProperties => ({ insetInlineStart: percent(placeOf(scale, x)) });
  return (
    <div className="bk-overlay" aria-hidden="true">
      <div className="bk-corner" />
      <div className="bk-overlay-track">
        {scale.headings.map((h) => (
          <div key={h.from} className={`bk-day${h.weekend ? ' bk-weekend' : ''}`} style={span(scale, h.from, h.to)} />
        ))}
        {scale.view === 'day' && scale.ticks.map((t) => <div key={t.at} className="bk-hour" style={at(t.at)} />)}
        {changesIn(scale.from, scale.to, scale.zone).map((c) => {
          const by = (offsetAt(c, scale.zone) - offsetAt(c - 60_000, scale.zone)) / 60_000;
          return (
            <div key={c} className="bk-change" style={at(c)}><span>{B.cal.clocks(by)}</span></div>
          );
        })}
        {now >= scale.from && now < scale.to && (
          <div className="bk-now" style={at(now)}><span>{timeText(now, scale.zone)}</span></div>
        )}
      </div>
    </div>
  );
}

/* ---- keyboard ---- */

const clamp = (x: number, max: number) => Math.max(0, Math.min(max, x));

/* Where a key leads; undefined where it is not ours. */
export function moved(key: string, ctrl: boolean, shift: boolean, s: Spot, rows: number, cols: number): Spot | undefined {
  let { row, col } = s;
  if (key === 'ArrowRight') col = clamp(col + 1, cols - 1);
  else if (key === 'ArrowLeft') col = clamp(col - 1, cols - 1);
  else if (key === 'ArrowDown') row = clamp(row + 1, rows - 1);
  else if (key === 'ArrowUp') row = clamp(row - 1, rows - 1);
  else if (key === 'Home') { col = 0; if (ctrl) row = 0; }
  else if (key === 'End') { col = cols - 1; if (ctrl) row = rows - 1; }
  else return undefined;
  const keeps = shift && row === s.row;
  return { row, col, anchor: keeps ? s.anchor : col };
}

export function Gantt({ scale, groups, now, describedBy, onOpen, onBook, onMove }: GanttProps) {
  const rows = React.useMemo(() => groups.flatMap((g) => g.rows), [groups]);
  const box = React.useRef<HTMLDivElement>(null);
  const first = clamp(cellAt(scale, now), scale.columns.length - 1);
  const [spot, setSpot] = React.useState<Spot>({ row: 0, col: first, anchor: first });
  const [shown, setShown] = React.useState(false); /* the selection, once somebody selects */
  const drag = React.useRef<{ row: number; col: number } | undefined>(undefined);

  /* Another period: the same row, the cell of now or the first. */
  React.useEffect(() => {
    setSpot((s) => ({ row: clamp(s.row, rows.length - 1), col: first, anchor: first }));
    setShown(false);
    const el = box.current;
    if (el) {
      const x = placeOf(scale, now > scale.from && now < scale.to ? now - (scale.to - scale.from) / 12 : scale.from);
      el.scrollLeft = x * (el.scrollWidth - (el.querySelector<HTMLElement>('.bk-corner')?.offsetWidth ?? 0));
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [scale.from, scale.to, scale.view]);

  const ours = React.useRef(false);
  const focus = (s: Spot) => {
    ours.current = true;
    box.current?.querySelector<HTMLElement>(`[data-row="${s.row}"] [data-col="${s.col}"]`)?.focus();
    ours.current = false;
  };
  const open = (s: Spot, selected: boolean) => {
    const row = rows[s.row];
    const cell = scale.columns[s.col];
    if (!row || !cell) return;
    const state = cellState(row, cell.from, cell.to);
    const own = state.mine[0];
    if (own && !selected) onOpen(own);
    else onBook?.(...selectionRange(scale, s.anchor, s.col), row);
  };

  const onKey = (e: React.KeyboardEvent) => {
    if (!(e.target instanceof HTMLElement) || e.target.dataset['col'] === undefined || e.altKey || e.metaKey) return;
    if (e.key === 'PageUp' || e.key === 'PageDown') {
      e.preventDefault();
      onMove(e.key === 'PageUp' ? -1 : 1);
      return;
    }
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      open(spot, spot.anchor !== spot.col);
      return;
    }
    if (e.key === 'Escape') {
      setSpot({ ...spot, anchor: spot.col });
      setShown(false);
      return;
    }
    const rtl = getComputedStyle(e.currentTarget).direction === 'rtl';
    const key = rtl && e.key === 'ArrowLeft' ? 'ArrowRight' : rtl && e.key === 'ArrowRight' ? 'ArrowLeft' : e.key;
    const next = moved(key, e.ctrlKey, e.shiftKey, spot, rows.length, scale.columns.length);
    if (!next) return;
    e.preventDefault();
    setSpot(next);
    setShown(!!onBook && next.anchor !== next.col);
    focus(next);
  };

  /* Wherever the focus comes from, the tab stop is there. */
  const onFocus = (e: React.FocusEvent) => {
    const cell = (e.target as HTMLElement).closest<HTMLElement>('[data-col]');
    const row = Number(cell?.closest<HTMLElement>('[data-row]')?.dataset['row']), col = Number(cell?.dataset['col']);
    if (cell && !ours.current && !drag.current && (row !== spot.row || col !== spot.col)) {
      setSpot({ row, col, anchor: col });
      setShown(false);
    }
  };

  /* The mouse drags over cells; fingers scroll, and tap. */
  const cellUnder = (e: React.PointerEvent): Spot | undefined => {
    const track = (e.target as HTMLElement).closest<HTMLElement>('.bk-track') ??
      box.current?.querySelector<HTMLElement>(`[data-row="${drag.current?.row}"]`);
    if (!track) return undefined;
    const r = track.getBoundingClientRect();
    let x = (e.clientX - r.left) / r.width;
    if (getComputedStyle(track).direction === 'rtl') x = 1 - x;
    const col = cellAt(scale, scale.from + Math.min(0.999999, Math.max(0, x)) * (scale.to - scale.from));
    const row = drag.current?.row ?? Number(track.dataset['row']);
    return { row, col, anchor: drag.current?.col ?? col };
  };
  const onPointerDown = (e: React.PointerEvent) => {
    if (!onBook || e.button !== 0 || e.pointerType === 'touch' || !(e.target as HTMLElement).closest('.bk-track')) return;
    const s = cellUnder(e);
    if (!s) return;
    drag.current = { row: s.row, col: s.col };
    setSpot(s);
    setShown(true);
    e.currentTarget.setPointerCapture(e.pointerId);
  };
  const onPointerMove = (e: React.PointerEvent) => {
    if (!drag.current) return;
    const s = cellUnder(e);
    if (s && s.col !== spot.col) setSpot(s);
  };
  const onPointerUp = (e: React.PointerEvent) => {
    if (!drag.current) return;
    const s = cellUnder(e) ?? spot;
    drag.current = undefined;
    setSpot(s);
    focus(s);
    open(s, true);
  };
  const onTap = (e: React.MouseEvent) => {
    const native = e.nativeEvent as PointerEvent;
    if (native.pointerType !== 'touch' || !(e.target as HTMLElement).closest('.bk-track')) return;
    const s = cellUnder(e as unknown as React.PointerEvent);
    if (s) { setSpot(s); open(s, false); }
  };

  const range: [number, number] | undefined = shown
    ? [Math.min(spot.anchor, spot.col), Math.max(spot.anchor, spot.col)] : undefined;
  let index = -1;
  return (
    <div className="bk-gantt bk-colors" data-view={scale.view} ref={box}>
      <div
        role="grid" aria-label={B.cal.gridLabel(scale.title)} aria-describedby={describedBy} aria-multiselectable={!!onBook}
        aria-colcount={scale.columns.length + 1} aria-rowcount={rows.length + groups.length + 1} className="bk-grid"
        style={{ '--bk-cols': scale.columns.length } as React.CSSProperties}
        onKeyDown={onKey} onFocus={onFocus} onPointerDown={onPointerDown} onPointerMove={onPointerMove} onPointerUp={onPointerUp}
        onPointerCancel={() => { drag.current = undefined; setShown(false); }} onClick={onTap}
      >
        <Head scale={scale} />
        <div role="presentation" className="bk-body">
          <Overlay scale={scale} now={now} />
          {groups.map((g) => (
            <React.Fragment key={g.flavor}>
              <div role="row" className="bk-group">
                <div role="rowheader" className="bk-group-name" aria-colspan={scale.columns.length + 1}>{g.title}</div>
              </div>
              {g.rows.map((row) => {
                index += 1;
                const here = spot.row === index;
                return (
                  <RowView key={row.key} scale={scale} row={row} index={index} now={now} onOpen={onOpen}
                    spot={here ? spot : undefined} range={here ? range : undefined} />
                );
              })}
            </React.Fragment>
          ))}
        </div>
      </div>
    </div>
  );
}
