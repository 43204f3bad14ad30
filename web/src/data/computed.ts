// Answers the server computes when read and that cannot be watched (Fleet, FleetHistory, Availability, what waits in
// a queue). They are read again when something they depend on changed, at most once a second, and otherwise every
// ten seconds; not at all while nobody looks.

import { ApiError, json } from './client.ts';
import { backoff, forget, report, visible, type Phase } from './live.ts';

export interface Answer<T> {
  data: T | undefined;
  phase: Phase;
  error: ApiError | undefined;
  since: number | undefined;
}

const LEAST_MS = 1000;
const LINGER_MS = 30_000;

export class ComputedStore<T> {
  private readonly path: string;
  private readonly every: number;
  private readonly listeners = new Set<() => void>();
  private snap: Answer<T> = { data: undefined, phase: 'loading', error: undefined, since: undefined };
  private timer: ReturnType<typeof setTimeout> | undefined;
  private linger: ReturnType<typeof setTimeout> | undefined;
  private due = 0;
  private last = 0; // when it was last asked
  private freshAt = 0;
  private failures = 0;
  private asking: AbortController | undefined;
  private again = false;
  private text = '';

  constructor(path: string, everyMs = 10_000) {
    this.path = path;
    this.every = everyMs;
  }

  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    clearTimeout(this.linger);
    if (this.listeners.size === 1) {
      if (typeof document !== 'undefined') {
        document.addEventListener('visibilitychange', this.seen);
        window.addEventListener('online', this.online);
      }
      this.at(Math.max(0, this.last + LEAST_MS - Date.now()));
    }
    return () => {
      this.listeners.delete(f);
      if (this.listeners.size === 0) {
        clearTimeout(this.linger);
        this.linger = setTimeout(() => this.stop(), this.last ? Math.min(LINGER_MS, this.every) : 0);
      }
    };
  };

  readonly get = (): Answer<T> => this.snap;

  // Something changed that the answer depends on.
  poke(): void {
    if (this.listeners.size === 0) {
      return;
    }
    if (this.asking) {
      this.again = true;
      return;
    }
    if (this.failures > 0) {
      return;
    }
    const wait = Math.max(0, this.last + LEAST_MS - Date.now());
    if (this.timer === undefined || Date.now() + wait < this.due) {
      this.at(wait);
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.linger);
    this.timer = undefined;
    this.asking?.abort();
    this.asking = undefined;
    if (typeof document !== 'undefined') {
      document.removeEventListener('visibilitychange', this.seen);
      window.removeEventListener('online', this.online);
    }
    forget(this);
  }

  private readonly seen = (): void => {
    if (visible() && this.listeners.size > 0 && !this.asking && this.due <= Date.now()) {
      this.at(0);
    }
  };

  private readonly online = (): void => {
    if (this.listeners.size > 0 && !this.asking) {
      this.at(0);
    }
  };

  private at(ms: number): void {
    clearTimeout(this.timer);
    this.due = Date.now() + ms;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (visible()) {
        void this.read();
      }
    }, ms);
  }

  private async read(): Promise<void> {
    const c = new AbortController();
    this.asking = c;
    this.last = Date.now();
    this.again = false;
    let wait = this.every;
    try {
      const data = await json<T>(this.path, { signal: c.signal });
      this.failures = 0;
      this.freshAt = Date.now();
      const text = JSON.stringify(data);
      const same = text === this.text && this.snap.phase === 'live';
      this.text = text;
      if (!same) {
        this.set({ data, phase: 'live', error: undefined, since: undefined });
      }
    } catch (e) {
      if (c.signal.aborted) {
        return;
      }
      const err = e instanceof ApiError ? e : new ApiError(0, String(e));
      const refused = err.forbidden || err.notFound || err.code === 401;
      const keep = this.snap.data !== undefined && !refused;
      this.set({
        data: keep ? this.snap.data : undefined,
        phase: keep ? 'stale' : 'failed',
        error: err,
        since: keep ? this.freshAt : undefined,
      });
      wait = refused ? 60_000 : backoff(this.failures++);
      this.text = '';
    }
    this.asking = undefined;
    if (this.listeners.size > 0) {
      this.at(this.again && this.failures === 0 ? LEAST_MS : wait);
    }
  }

  private set(a: Answer<T>): void {
    this.snap = a;
    report(this, a.phase, a.since);
    for (const f of this.listeners) {
      f();
    }
  }
}

const answers = new Map<string, ComputedStore<unknown>>();

export function answerOf<T>(path: string, everyMs?: number): ComputedStore<T> {
  let s = answers.get(path);
  if (!s) {
    s = new ComputedStore<unknown>(path, everyMs);
    answers.set(path, s);
    if (answers.size > 200) {
      // Paths with times in them come and go.
      const oldest = answers.keys().next().value as string;
      answers.get(oldest)?.stop();
      answers.delete(oldest);
    }
  }
  return s as ComputedStore<T>;
}

export function forgetAnswers(): void {
  for (const s of answers.values()) {
    s.stop();
  }
  answers.clear();
}
