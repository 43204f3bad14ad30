// A chart of values over time: areas and lines over one axis, drawn as SVG. It has a cursor for mouse and arrow keys,
// whose values are told in words, and a table of the same values.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';
import { strings } from '../strings.ts';
import { num } from './names.ts';
import { clock, moment, offsetAt } from './time.ts';

export interface Series {
  key: string;
  label: string;
  look: 'area' | 'stripes' | 'line' | 'dashes';
  colour: 'used' | 'reserved' | 'total' | 'busy';
  unit?: string;
  values: (number | undefined)[];
}

const MINUTE = 60_000;
const GAPS = [5, 15, 30, 60, 120, 240, 480, 1440]; // minutes between marks
const LEFT = 34;
const BOTTOM = 22;
const TOP = 8;
const RIGHT = 8;

// Joins neighbours so that no more than `most` points are drawn.
export function thin(at: number[], series: Series[], most: number): { at: number[]; series: Series[] } {
  const step = Math.ceil(at.length / most);
  if (step <= 1) {
    return { at, series };
  }
  const n = Math.ceil(at.length / step);
  const mean = (v: (number | undefined)[], from: number): number | undefined => {
    const known = v.slice(from, from + step).filter((x): x is number => x !== undefined);
    return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : undefined;
  };
  const starts = Array.from({ length: n }, (_, i) => i * step);
  return {
    at: starts.map((i) => at[i] as number),
    series: series.map((s) => ({ ...s, values: starts.map((i) => mean(s.values, i)) })),
  };
}

function niceTop(v: number): number {
  if (v <= 0) {
    return 1;
  }
  const p = 10 ** Math.floor(Math.log10(v));
  const m = [1, 2, 4, 5, 8, 10].find((x) => x * p >= v) ?? 10;
  return m * p;
}

// Pieces of a line, broken where nothing is known.
function pieces(values: (number | undefined)[]): [number, number][] {
  const out: [number, number][] = [];
  let from = -1;
  for (let i = 0; i <= values.length; i++) {
    const known = i < values.length && values[i] !== undefined;
    if (known && from < 0) {
      from = i;
    } else if (!known && from >= 0) {
      out.push([from, i - 1]);
      from = -1;
    }
  }
  return out;
}

export function TimeChart(p: {
  label: string;
  at: number[];
  series: Series[];
  zone: string;
  top?: number;
  span?: number; // ms of the axis; what is before the first value stays empty
}): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [cursor, setCursor] = useState<number | undefined>();
  const [table, setTable] = useState(false);
  const id = useId();
  const height = 200;

  useEffect(() => {
    const el = box.current;
    if (!el) {
      return;
    }
    const o = new ResizeObserver(() => setWidth(Math.max(220, Math.floor(el.clientWidth))));
    o.observe(el);
    return () => o.disconnect();
  }, [table]);

  const { at, series } = useMemo(
    () => thin(p.at, p.series, Math.max(60, Math.floor(width / 3))),
    [p.at, p.series, width],
  );
  const end = at[at.length - 1] ?? 0;
  const begin = p.span ? end - p.span : (at[0] ?? 0);
  const top = niceTop(
    Math.max(p.top ?? 0, ...series.flatMap((s) => s.values.map((v) => v ?? 0))),
  );
  const x = (t: number): number => LEFT + ((t - begin) / Math.max(1, end - begin)) * (width - LEFT - RIGHT);
  const y = (v: number): number => TOP + (1 - v / top) * (height - TOP - BOTTOM);
  const line = (s: Series, [a, b]: [number, number]): string =>
    Array.from({ length: b - a + 1 }, (_, i) => {
      const k = a + i;
      return `${i === 0 ? 'M' : 'L'}${x(at[k] as number).toFixed(1)} ${y(s.values[k] as number).toFixed(1)}`;
    }).join('');

  // Round times of the zone, as many as there is room for. Zones are whole quarters of an hour off from UTC.
  const most = Math.max(2, Math.floor(width / 90));
  const gap = GAPS.find((g) => (end - begin) / (g * MINUTE) <= most) ?? 1440;
  const step = Math.min(gap, 15) * MINUTE;
  const ticks: number[] = [];
  for (let t = Math.ceil(begin / step) * step; t <= end && ticks.length < 64; t += step) {
    if ((t / MINUTE + offsetAt(p.zone, t)) % gap === 0) {
      ticks.push(t);
    }
  }

  const say = (k: number): string =>
    `${moment(at[k] as number, p.zone)}: ${series
      .map((s) => {
        const v = s.values[k];
        return `${s.label} ${v === undefined ? strings.states.unknown : num(v) + (s.unit ?? '')}`;
      })
      .join(', ')}`;
  const move = (k: number): void => setCursor(Math.min(at.length - 1, Math.max(0, k)));
  const key = (e: KeyboardEvent): void => {
    const k = cursor ?? at.length - 1;
    const far = Math.max(1, Math.round(at.length / 24));
    const to: Record<string, number> = {
      ArrowLeft: k - 1,
      ArrowRight: k + 1,
      PageUp: k - far,
      PageDown: k + far,
      Home: 0,
      End: at.length - 1,
    };
    if (e.key in to) {
      e.preventDefault();
      move(to[e.key] as number);
    } else if (e.key === 'Escape') {
      setCursor(undefined);
    }
  };
  const point = (e: PointerEvent<SVGSVGElement>): void => {
    const r = e.currentTarget.getBoundingClientRect();
    const t = begin + ((e.clientX - r.left - LEFT) / (width - LEFT - RIGHT)) * (end - begin);
    let best = 0;
    for (let i = 1; i < at.length; i++) {
      if (Math.abs((at[i] as number) - t) < Math.abs((at[best] as number) - t)) {
        best = i;
      }
    }
    setCursor(best);
  };
  const shown = cursor !== undefined && cursor < at.length ? cursor : at.length - 1;

  return (
    <div className="b-chart" ref={box}>
      <div className="b-chart-head">
        <ul className="b-legend">
          {series.map((s) => {
            const v = s.values[shown];
            return (
              <li key={s.key}>
                <svg width="18" height="12" aria-hidden="true" className={`b-c-${s.colour} b-l-${s.look}`}>
                  {(s.look === 'area' || s.look === 'stripes') && <rect width="18" height="12" rx="2" />}
                  {s.look === 'stripes' && <rect width="18" height="12" rx="2" fill={`url(#${id}s)`} />}
                  <path d={s.look === 'area' || s.look === 'stripes' ? 'M0 1H18' : 'M0 6H18'} />
                </svg>
                {s.label} <b>{v === undefined ? '–' : num(v) + (s.unit ?? '')}</b>
              </li>
            );
          })}
          {cursor !== undefined && <li className="b-quiet">{moment(at[shown] as number, p.zone)}</li>}
        </ul>
        <Button variant="link" size="sm" onClick={() => setTable(!table)} aria-expanded={table}>
          {table ? strings.common.chart : strings.common.table}
        </Button>
      </div>
      {table ? (
        <div className="b-scroll" tabIndex={0} role="region" aria-label={p.label}>
          <table className="b-table">
            <caption className="b-hidden">{p.label}</caption>
            <thead>
              <tr>
                <th scope="col">{p.zone}</th>
                {series.map((s) => (
                  <th scope="col" key={s.key} className="b-num">
                    {s.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {thin(p.at, p.series, 96)
                .at.map((t, k) => ({ t, k }))
                .reverse()
                .map(({ t, k }) => (
                  <tr key={t}>
                    <th scope="row">{moment(t, p.zone)}</th>
                    {thin(p.at, p.series, 96).series.map((s) => (
                      <td key={s.key} className="b-num">
                        {s.values[k] === undefined ? '–' : num(s.values[k] as number) + (s.unit ?? '')}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div
          className="b-chart-focus"
          tabIndex={0}
          role="slider"
          aria-orientation="horizontal"
          aria-label={p.label}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, at.length - 1)}
          aria-valuenow={Math.max(0, shown)}
          aria-valuetext={at.length > 0 ? say(shown) : strings.states.none}
          onKeyDown={key}
        >
          <svg
            width={width}
            height={height}
            aria-hidden="true"
            onPointerMove={point}
            onPointerLeave={() => setCursor(undefined)}
          >
            <defs>
              <pattern id={`${id}s`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="2.4" height="6" className="b-c-reserved b-stripe" />
              </pattern>
            </defs>
            {[0, 0.25, 0.5, 0.75, 1].map((f) => (
              <g key={f}>
                <line x1={LEFT} x2={width - RIGHT} y1={y(f * top)} y2={y(f * top)} className="b-grid" />
                {(f === 0 || f === 0.5 || f === 1) && (
                  <text x={LEFT - 6} y={y(f * top) + 4} textAnchor="end" className="b-tick">
                    {num(f * top)}
                  </text>
                )}
              </g>
            ))}
            {ticks.map((t) => (
              <text key={t} x={x(t)} y={height - 5} textAnchor="middle" className="b-tick">
                {clock(t, p.zone)}
              </text>
            ))}
            {series.map((s) => (
              <g key={s.key} className={`b-c-${s.colour} b-l-${s.look}`}>
                {pieces(s.values).map(([a, b]) => {
                  const d = line(s, [a, b]);
                  const area = `${d}L${x(at[b] as number).toFixed(1)} ${y(0)}L${x(at[a] as number).toFixed(1)} ${y(0)}Z`;
                  return (
                    <g key={a}>
                      {(s.look === 'area' || s.look === 'stripes') && <path d={area} className="b-fill" />}
                      {s.look === 'stripes' && <path d={area} fill={`url(#${id}s)`} stroke="none" />}
                      <path d={d} className="b-line" />
                      {a === b && <circle cx={x(at[a] as number)} cy={y(s.values[a] as number)} r="2" />}
                    </g>
                  );
                })}
              </g>
            ))}
            {cursor !== undefined && at.length > 0 && (
              <g>
                <line
                  x1={x(at[shown] as number)}
                  x2={x(at[shown] as number)}
                  y1={TOP}
                  y2={height - BOTTOM}
                  className="b-cursor"
                />
                {series.map((s) => {
                  const v = s.values[shown];
                  return (
                    v !== undefined && (
                      <circle
                        key={s.key}
                        cx={x(at[shown] as number)}
                        cy={y(v)}
                        r="3.5"
                        className={`b-c-${s.colour} b-dot`}
                      />
                    )
                  );
                })}
              </g>
            )}
          </svg>
        </div>
      )}
    </div>
  );
}
