/* What the server is asked of what is free: from, to and step. */
import { MINUTE, rfc3339 } from './zone.ts';

export function availabilityQuery(from: number, to: number, step: number): string {
  return new URLSearchParams({ from: rfc3339(from), to: rfc3339(to), step: `${Math.round(step / MINUTE)}m` }).toString();
}
