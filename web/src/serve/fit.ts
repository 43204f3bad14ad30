// Of the answers where a model fits: the order in which they are shown, and the best.

import type { CatalogModel, Fit, Measurement, Verdict } from './types.ts';

const RANK: Record<Verdict, number> = { fits: 0, tight: 1, unknown: 2, no: 3 };

// Small slices first; whole GPUs last.
export function bySize(a: Fit, b: Fit): number {
  return (a.memoryGiB ?? 0) - (b.memoryGiB ?? 0) || (a.slice ?? '').localeCompare(b.slice ?? '', undefined, { numeric: true });
}

// The least memory on which it runs; without such the nearest answer. undefined: no GPU is known.
export function best(m: CatalogModel): Fit | undefined {
  return [...(m.fits ?? [])].sort((a, b) => RANK[a.verdict] - RANK[b.verdict] || bySize(a, b))[0];
}

export function runs(f: Fit | undefined): boolean {
  return f?.verdict === 'fits' || f?.verdict === 'tight';
}

// Those to look at: none that another one beats, and with a limit (ms) for the first token none that is over it, or of
// which it was not measured.
export function within(records: Measurement[], limit: number | undefined): Measurement[] {
  return records.filter((r) => !r.beaten && (limit === undefined || (r.ttftP90 ?? Infinity) <= limit));
}

// GPUs that a rate of requests needs by a measurement; undefined: it was not measured.
export function gpusFor(r: Measurement, rate: number): number | undefined {
  return r.requestsPerSecond ? Math.ceil(rate / r.requestsPerSecond) * (r.hardwareCount ?? 1) : undefined;
}
