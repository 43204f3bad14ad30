/*
 * What an edit of queues and quotas would do to running and pending work: asked a moment after the last change.
 */
import * as React from 'react';
import { ApiError, json } from '../data/client.ts';
import type { ExplainedWorkload, KubeObject } from '../data/types.ts';

export interface PreviewStatus {
  admitted?: ExplainedWorkload[];
  evicted?: ExplainedWorkload[];
  waiting?: ExplainedWorkload[];
  admittedCount?: number;
  evictedCount?: number;
  waitingCount?: number;
  suggestions?: { clusterQueue?: string; field?: string; nominalQuota?: string; message?: string }[];
  notes?: string[];
}

export interface PreviewAnswer {
  asking: boolean;
  status: PreviewStatus | undefined;
  error: ApiError | undefined;
}

const NONE: PreviewAnswer = { asking: false, status: undefined, error: undefined };

/* What is edited: objects as they would be, or what would be deleted. */
export interface Edit {
  objects?: KubeObject[];
  deletions?: { kind: string; name: string; namespace?: string }[];
}

export function usePreview(edit: Edit | undefined): PreviewAnswer {
  const key = edit ? JSON.stringify(edit) : '';
  const [answer, set] = React.useState({ key: '', value: NONE });
  React.useEffect(() => {
    if (!key) {
      return undefined;
    }
    const c = new AbortController();
    const timer = setTimeout(() => {
      json<{ status?: PreviewStatus }>('/apis/berth.dev/v1alpha1/queuepreviews', {
        method: 'POST', signal: c.signal,
        body: { apiVersion: 'berth.dev/v1alpha1', kind: 'QueuePreview', metadata: { name: 'preview' }, spec: JSON.parse(key) as Edit },
      }).then(
        (r) => set({ key, value: { asking: false, status: r.status, error: undefined } }),
        (e: unknown) => {
          if (!c.signal.aborted) {
            set({ key, value: { asking: false, status: undefined, error: e instanceof ApiError ? e : new ApiError(0, String(e)) } });
          }
        });
    }, 400);
    return () => {
      clearTimeout(timer);
      c.abort();
    };
  }, [key]);
  return !key ? NONE : answer.key === key ? answer.value : { ...NONE, asking: true };
}
