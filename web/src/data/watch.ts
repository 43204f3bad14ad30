// A list of objects kept current by a watch. There is one store for a collection, shared by every screen that shows
// it; it starts with the first reader and ends a while after the last. It lists, then watches from the revision of
// the list, resumes where it was when a stream ends, and lists anew only when the server no longer knows that
// revision (410). While it cannot read, what it has stays, marked stale.
//
// What the server computes has no revisions: its watch tells at first what there is, up to a bookmark, and then what
// changes. It is the same each time the stream is opened, so nothing is drawn anew when nothing has changed.

import { ApiError, ask, errorOf, json } from './client.ts';
import { pathOf, type Kind } from './kinds.ts';
import { backoff, forget, pause, report, untilVisible, whenHidden, whenOffline, type Phase } from './live.ts';
import { streams, type Slot } from './slots.ts';
import type { KubeList, KubeObject, Status } from './types.ts';

export interface Snapshot<O> {
  items: O[];
  phase: Phase;
  loaded: boolean; // a whole list has been read
  since: number | undefined; // stale: from when the items are
  error: ApiError | undefined; // failed, or why it is stale
  revision: number; // counts the changes
}

export interface Selector {
  labels?: string;
  fields?: string;
  query?: string; // further parameters, of what is computed
}

const PAGE = 500;
const LINGER_MS = 30_000;
const NOTIFY_MS = 200;
const STREAM_S = 290;
const RETRY_REFUSED_MS = 60_000;
const STORES_MOST = 200;

type Event = { type: string; object: KubeObject & Partial<Status> };

class Gone extends Error {}
class Turn extends Error {}

function keyOf(o: KubeObject): string {
  return o.metadata.uid ?? `${o.metadata.namespace ?? ''}/${o.metadata.name}`;
}

// All but when it was worked out.
function said(o: KubeObject): string {
  return JSON.stringify(o, (k, v: unknown) => (k === 'computed' ? undefined : v));
}

export class WatchStore<O extends KubeObject> {
  private readonly path: string;
  private readonly computed: boolean;
  private readonly name: string | undefined; // of the one object that is asked for
  private readonly trimOne: ((o: O) => void) | undefined;
  private readonly params: Record<string, string>;
  private objects = new Map<string, O>();
  private named: Map<string, O> | undefined; // what a watch of what is computed has told so far of what there is
  private readonly listeners = new Set<() => void>();
  private snap: Snapshot<O> = {
    items: [],
    phase: 'loading',
    loaded: false,
    since: undefined,
    error: undefined,
    revision: 0,
  };
  private rv: string | undefined;
  private running: AbortController | undefined;
  private linger: ReturnType<typeof setTimeout> | undefined;
  private notify: ReturnType<typeof setTimeout> | undefined;
  private lastNotify = 0;
  private dirty = false;
  private freshAt = 0; // when what is here was last known to be current

  constructor(path: string, sel: Selector = {}, trim?: (o: O) => void, computed = false) {
    this.path = path;
    this.computed = computed;
    this.name = /^metadata\.name=(.+)$/.exec(sel.fields ?? '')?.[1];
    this.trimOne = trim;
    this.params = Object.fromEntries(new URLSearchParams(sel.query ?? ''));
    if (sel.labels) {
      this.params['labelSelector'] = sel.labels;
    }
    if (sel.fields) {
      this.params['fieldSelector'] = sel.fields;
    }
  }

  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    clearTimeout(this.linger);
    if (!this.running) {
      this.start();
    }
    return () => {
      this.listeners.delete(f);
      if (this.listeners.size === 0) {
        clearTimeout(this.linger);
        // A question is cheaply asked again, and its stream is wanted by the next one.
        this.linger = setTimeout(() => this.stop(), this.computed ? 0 : LINGER_MS);
      }
    };
  };

  readonly get = (): Snapshot<O> => this.snap;

  get idle(): boolean {
    return this.running === undefined && this.listeners.size === 0;
  }

  stop(): void {
    this.running?.abort();
    this.running = undefined;
    clearTimeout(this.linger);
    clearTimeout(this.notify);
    this.notify = undefined;
    forget(this);
  }

  private start(): void {
    const c = new AbortController();
    this.running = c;
    this.run(c.signal).catch(() => undefined);
  }

  // What nobody looks at and is big.
  private trim(o: O): O {
    delete (o.metadata as unknown as Record<string, unknown>)['managedFields'];
    this.trimOne?.(o);
    return o;
  }

  private say(phase: Phase, error?: ApiError): void {
    if (phase === 'live') {
      this.freshAt = Date.now();
    }
    const since = phase === 'stale' ? this.freshAt || Date.now() : undefined;
    if (this.snap.phase === phase && this.snap.error === error && !this.dirty) {
      return;
    }
    this.snap = { ...this.snap, phase, since, error };
    report(this, phase, since);
    this.flush();
  }

  private change(): void {
    this.dirty = true;
    if (this.notify !== undefined) {
      return;
    }
    const wait = Math.max(0, this.lastNotify + NOTIFY_MS - Date.now());
    this.notify = setTimeout(() => this.flush(), wait);
  }

  private flush(): void {
    clearTimeout(this.notify);
    this.notify = undefined;
    this.lastNotify = Date.now();
    if (this.dirty) {
      this.dirty = false;
      this.snap = { ...this.snap, items: [...this.objects.values()], revision: this.snap.revision + 1 };
    }
    for (const f of this.listeners) {
      f();
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await untilVisible(signal);
        if (this.computed) {
          if (!this.snap.loaded && streams.full) {
            await this.glance(signal); // its turn to watch may be some seconds away
          }
        } else if (this.rv === undefined) {
          await this.list(signal);
        }
        const began = Date.now();
        await this.watch(signal, () => {
          failures = 0;
        });
        if (Date.now() - began < 500) {
          await pause(500, signal); // a server that ends every stream at once is not to be hammered
        }
      } catch (e) {
        if (signal.aborted) {
          return;
        }
        if (e instanceof Turn) {
          continue;
        }
        if (e instanceof Gone) {
          this.rv = undefined;
          continue;
        }
        const err = e instanceof ApiError ? e : new ApiError(0, String(e));
        if (err.forbidden || err.notFound || err.code === 401) {
          this.objects.clear();
          this.rv = undefined;
          this.dirty = true;
          this.snap = { ...this.snap, loaded: false };
          this.say('failed', err);
          await pause(RETRY_REFUSED_MS, signal).catch(() => undefined);
          continue;
        }
        this.say(this.snap.loaded ? 'stale' : 'failed', err);
        const wait = err.retryAfter !== undefined ? err.retryAfter * 1000 : backoff(failures);
        failures++;
        await pause(wait, signal).catch(() => undefined);
      }
    }
  }

  private url(q: Record<string, string>): string {
    return `${this.path}?${new URLSearchParams({ ...this.params, ...q }).toString()}`;
  }

  private async list(signal: AbortSignal): Promise<void> {
    const found = new Map<string, O>();
    let next: string | undefined;
    let rv: string | undefined;
    do {
      const q: Record<string, string> = { limit: String(PAGE) };
      if (next) {
        q['continue'] = next;
      }
      const l: KubeList<O> = await json<KubeList<O>>(this.url(q), { signal });
      for (const o of l.items ?? []) {
        found.set(keyOf(o), this.trim(o));
      }
      rv = rv ?? l.metadata.resourceVersion;
      next = l.metadata.continue || undefined;
      if (next && !this.snap.loaded) {
        // Of a long list the first pages are shown while the others come.
        for (const o of l.items ?? []) {
          this.objects.set(keyOf(o), o);
        }
        this.change();
      }
    } while (next);
    this.objects.clear();
    for (const [k, o] of found) {
      this.objects.set(k, o);
    }
    this.rv = rv ?? '0';
    this.dirty = true;
    this.snap = { ...this.snap, loaded: true };
    this.say('live');
  }

  // What is computed, asked for once.
  private async glance(signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams(this.params);
    query.delete('fieldSelector');
    const path = `${this.path}${this.name ? `/${encodeURIComponent(this.name)}` : ''}`;
    const a = await json<O & Partial<KubeList<O>>>(query.size > 0 ? `${path}?${query.toString()}` : path, { signal });
    this.replace(new Map((this.name ? [a as O] : (a.items ?? [])).map((o) => [keyOf(o), this.trim(o)])));
  }

  // These are all there are. One that says the same as before stays what it was.
  private replace(found: Map<string, O>): void {
    let other = found.size !== this.objects.size || !this.snap.loaded;
    for (const [k, o] of found) {
      const had = this.objects.get(k);
      if (had && said(had) === said(o)) {
        found.set(k, had);
      } else {
        other = true;
      }
    }
    this.objects = found;
    if (other) {
      this.dirty = true;
      this.snap = { ...this.snap, loaded: true };
    }
    this.say('live');
  }

  // Reads one stream to its end.
  private async watch(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const stop = new AbortController();
    const end = (why: Error): void => stop.abort(why);
    const outer = (): void => end(new Error('stopped'));
    signal.addEventListener('abort', outer, { once: true });
    const unhide = whenHidden(() => end(new Turn()));
    const online = whenOffline(() => end(new Turn())); // a server on this machine is there all the same
    let slot: Slot | undefined;
    let dog: ReturnType<typeof setTimeout> | undefined;
    try {
      slot = await streams.take(() => end(new Turn()), stop.signal, this.snap.phase === 'stale');
      const from: Record<string, string> = this.computed
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: this.rv ?? '0' };
      const url = this.url({ watch: 'true', allowWatchBookmarks: 'true', ...from, timeoutSeconds: String(STREAM_S) });
      // A connection can die without a word; no stream lasts longer than was asked for.
      dog = setTimeout(() => end(new Turn()), (STREAM_S + 15) * 1000);
      const r = await ask(url, { signal: stop.signal });
      onOpen();
      this.named = this.computed ? new Map<string, O>() : undefined;
      if (!this.computed) {
        this.say('live');
      }
      await this.read(r);
    } catch (e) {
      if (stop.signal.aborted) {
        throw stop.signal.reason as Error;
      }
      if (e instanceof ApiError && e.code === 410) {
        throw new Gone();
      }
      throw e;
    } finally {
      clearTimeout(dog);
      slot?.release();
      unhide();
      online();
      signal.removeEventListener('abort', outer);
      stop.abort(new Turn());
    }
  }

  private async read(r: Response): Promise<void> {
    const reader = r.body?.getReader();
    if (!reader) {
      throw await errorOf(r);
    }
    const text = new TextDecoder();
    let rest = '';
    for (;;) {
      let part: ReadableStreamReadResult<Uint8Array>;
      try {
        part = await reader.read();
      } catch {
        part = { done: true, value: undefined }; // cut off: resumed from there; if the server is gone, that says so
      }
      if (part.done) {
        this.freshAt = this.named ? this.freshAt : Date.now(); // until now it would have told
        return;
      }
      rest += text.decode(part.value, { stream: true });
      let from = 0;
      for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n', from)) {
        if (at > from) {
          this.apply(JSON.parse(rest.slice(from, at)) as Event);
        }
        from = at + 1;
      }
      rest = rest.slice(from);
    }
  }

  private apply(e: Event): void {
    const o = e.object;
    this.freshAt = Date.now();
    if (e.type === 'ERROR') {
      if (o.code === 410 || o.reason === 'Expired' || o.reason === 'Gone') {
        throw new Gone();
      }
      throw new ApiError(o.code ?? 500, o.message ?? '', o as Status);
    }
    if (o.metadata.resourceVersion) {
      this.rv = o.metadata.resourceVersion;
    }
    if (e.type === 'BOOKMARK') {
      if (this.named) {
        const all = this.named;
        this.named = undefined;
        this.replace(all);
      }
      return;
    }
    if (this.named) {
      this.named.set(keyOf(o), this.trim(o as unknown as O));
      return;
    }
    if (e.type === 'DELETED') {
      this.objects.delete(keyOf(o));
    } else {
      this.objects.set(keyOf(o), this.trim(o as unknown as O));
    }
    this.change();
  }
}

const stores = new Map<string, WatchStore<KubeObject>>();

// Questions with times in them come and go.
function prune(): void {
  if (stores.size <= STORES_MOST) {
    return;
  }
  for (const [key, s] of stores) {
    if (s.idle) {
      stores.delete(key);
      return;
    }
  }
}

// The one store of a collection. ns empty: all namespaces.
export function storeOf<O extends KubeObject>(k: Kind<O>, ns?: string, sel: Selector = {}): WatchStore<O> {
  const path = pathOf(k, ns);
  const key = `${path}|${sel.labels ?? ''}|${sel.fields ?? ''}|${sel.query ?? ''}`;
  let s = stores.get(key);
  if (!s) {
    s = new WatchStore<KubeObject>(path, sel, k.trim as ((o: KubeObject) => void) | undefined, k.computed);
    stores.set(key, s);
    prune();
  }
  return s as unknown as WatchStore<O>;
}

// Forgets everything that was read: another user signs in.
export function forgetAll(): void {
  for (const s of stores.values()) {
    s.stop();
  }
  stores.clear();
}
