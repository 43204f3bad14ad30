// Whether what is on the page is current: the worst of all stores in use. And whether the page is seen at all.

export type Phase = 'loading' | 'live' | 'stale' | 'failed';

export interface LiveState {
  phase: 'live' | 'stale' | 'loading';
  since: number | undefined; // stale: from when the data are
}

interface Source {
  phase: Phase;
  since: number | undefined;
}

const sources = new Map<object, Source>();
const listeners = new Set<() => void>();
let state: LiveState = { phase: 'loading', since: undefined };

function compute(): LiveState {
  let since: number | undefined;
  let stale = false;
  let loading = sources.size === 0;
  for (const s of sources.values()) {
    if (s.phase === 'stale') {
      stale = true;
      since = since === undefined || (s.since !== undefined && s.since < since) ? s.since : since;
    } else if (s.phase === 'loading') {
      loading = true;
    }
  }
  return { phase: stale ? 'stale' : loading ? 'loading' : 'live', since };
}

export function report(source: object, phase: Phase, since: number | undefined): void {
  sources.set(source, { phase, since });
  settle();
}

export function forget(source: object): void {
  sources.delete(source);
  settle();
}

function settle(): void {
  const next = compute();
  if (next.phase !== state.phase || next.since !== state.since) {
    state = next;
    for (const f of listeners) {
      f();
    }
  }
}

export function subscribeLive(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function liveState(): LiveState {
  return state;
}

// ---- whether anybody looks ----

const seen = typeof document !== 'undefined';

export function visible(): boolean {
  return !seen || document.visibilityState !== 'hidden';
}

// Resolves when the page is seen; at once when it is.
export function untilVisible(signal: AbortSignal): Promise<void> {
  if (visible()) {
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const done = (): void => {
      if (visible()) {
        document.removeEventListener('visibilitychange', done);
        signal.removeEventListener('abort', gone);
        resolve();
      }
    };
    const gone = (): void => {
      document.removeEventListener('visibilitychange', done);
      reject(signal.reason as Error);
    };
    document.addEventListener('visibilitychange', done);
    signal.addEventListener('abort', gone, { once: true });
  });
}

// Calls f when the page has been out of sight for a while. Returns what undoes it.
export function whenHidden(f: () => void, afterMs = 500): () => void {
  if (!seen) {
    return () => undefined;
  }
  let timer: ReturnType<typeof setTimeout> | undefined;
  const change = (): void => {
    clearTimeout(timer);
    if (!visible()) {
      timer = setTimeout(f, afterMs);
    }
  };
  document.addEventListener('visibilitychange', change);
  change();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', change);
  };
}

// Calls f when the browser says that there is no network: a stream may not notice for minutes.
export function whenOffline(f: () => void): () => void {
  if (!seen) {
    return () => undefined;
  }
  window.addEventListener('offline', f);
  return () => window.removeEventListener('offline', f);
}

// A pause that ends early when the network comes back or the page is looked at again.
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
      if (seen) {
        window.removeEventListener('online', end);
      }
      resolve();
    };
    const gone = (): void => {
      clearTimeout(timer);
      if (seen) {
        window.removeEventListener('online', end);
      }
      reject(signal.reason as Error);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', gone, { once: true });
    if (seen) {
      window.addEventListener('online', end);
    }
  });
}

// How long to wait before try n (from 0): doubling to half a minute, spread so that pages do not come back as one.
export function backoff(n: number, random: () => number = Math.random): number {
  const base = Math.min(30_000, 1000 * 2 ** Math.min(n, 5));
  return base / 2 + random() * (base / 2);
}
