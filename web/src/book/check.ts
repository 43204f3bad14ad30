/*
 * What the server would say of a booking, asked while it is being written: a moment after the last change, and again
 * when something happened to other bookings. An answer to an older question is never shown as one to the present.
 */
import * as React from 'react';
import { ApiError, createObject } from '../data/client.ts';
import { reservationChecks } from '../data/kinds.ts';
import type { ReservationCheck } from '../data/types.ts';
import type { ReservationSpec } from './types.ts';

export interface CheckAnswer {
  asking: boolean;
  status: ReservationCheck['status'] | undefined;
  error: ApiError | undefined;
}

const PAUSE_MS = 200;

export function useCheck(project: string | undefined, spec: (ReservationSpec & { name?: string }) | undefined,
  after: readonly unknown[]): CheckAnswer {
  const key = project && spec ? `${project}\n${JSON.stringify(spec)}` : '';
  const [answer, set] = React.useState<{ key: string; value: CheckAnswer }>(
    { key: '', value: { asking: false, status: undefined, error: undefined } });
  React.useEffect(() => {
    if (!key || !spec || !project) {
      return undefined;
    }
    const c = new AbortController();
    const t = setTimeout(() => {
      createObject(reservationChecks, { metadata: { name: spec.name ?? 'check', namespace: project }, spec },
        { signal: c.signal }).then(
        (r) => set({ key, value: { asking: false, status: r.status, error: undefined } }),
        (e: unknown) => {
          if (!c.signal.aborted) {
            set({ key, value: { asking: false, status: undefined, error: e instanceof ApiError ? e : new ApiError(0, String(e)) } });
          }
        });
    }, PAUSE_MS);
    return () => {
      clearTimeout(t);
      c.abort();
    };
    // The key stands for project and spec.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, ...after]);
  if (!key) {
    return { asking: false, status: undefined, error: undefined };
  }
  return answer.key === key ? answer.value : { asking: true, status: undefined, error: undefined };
}
