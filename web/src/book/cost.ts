/*
 * GPU-hours and shares of a GPU, as people say them.
 */
import type { Availability, Line } from './types.ts';

interface Flat {
  quoted?: string;
  committed?: string;
  charged?: string;
}

export function hoursOf(status: { cost?: unknown } | undefined, which: keyof Flat): string | undefined {
  const c = status?.cost as (Flat & { gpuHours?: Flat }) | undefined;
  return c?.[which] ?? c?.gpuHours?.[which];
}

const FRACTIONS: [number, string][] = [[1 / 8, '⅛'], [1 / 7, '⅐'], [1 / 4, '¼'], [3 / 8, '⅜'], [1 / 2, '½']];

export function shareText(share: number): string {
  const f = FRACTIONS.find(([x]) => Math.abs(x - share) < 0.012);
  return f ? f[1] : `${Math.round(share * 100)} %`;
}

/* What the lines are worth while the server has not said it yet. */
export function unitsOf(lines: Line[], items: Availability[]): number {
  let sum = 0;
  for (const l of lines) {
    const item = items.find((i) => i.resource === l.resource && (!l.flavor || i.flavor === l.flavor));
    sum += l.count * Number(item?.gpuShare ?? 1);
  }
  return sum;
}

export const hoursText = (h: string | number): string => {
  const n = Number(h);
  return Number.isFinite(n) ? new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(n) : String(h);
};
