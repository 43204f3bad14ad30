/* Where the server says what is free: from, to and step are part of the address. */
import { MINUTE, rfc3339 } from './zone.ts';

export function availabilityPath(from: number, to: number, step: number): string {
  const q = new URLSearchParams({ from: rfc3339(from), to: rfc3339(to), step: `${Math.round(step / MINUTE)}m` });
  return `/apis/berth.dev/v1alpha1/availabilities?${q.toString()}`;
}
