// A server for the data layer, inside the test: it answers lists and holds watch streams open.

export interface Call {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: unknown;
  end(): void; // ends the stream
  send(...events: unknown[]): void; // a watch
  cut(): void; // as a connection that is lost
}

export class Fake {
  readonly calls: Call[] = [];
  // Answers what is no watch: a Response, or a JSON value.
  answer: (c: Call) => unknown = () => ({ items: [], metadata: { resourceVersion: '1' } });
  private waiting: { want: (c: Call) => boolean; give: (c: Call) => void }[] = [];
  // What a watch is refused with, in turn.
  readonly refuse: (Response | 'unreachable')[] = [];

  install(): void {
    globalThis.fetch = ((input: string, init: RequestInit = {}) => this.take(input, init)) as typeof fetch;
  }

  // The next call that was not waited for yet and is wanted.
  async next(want: (c: Call) => boolean): Promise<Call> {
    const had = this.calls.find((c) => !this.seen.has(c) && want(c));
    if (had) {
      this.seen.add(had);
      return had;
    }
    return new Promise((give) => {
      this.waiting.push({
        want,
        give: (c) => {
          this.seen.add(c);
          give(c);
        },
      });
    });
  }
  private readonly seen = new Set<Call>();

  watch(): Promise<Call> {
    return this.next((c) => c.url.searchParams.get('watch') === 'true');
  }
  list(): Promise<Call> {
    return this.next((c) => c.method === 'GET' && !c.url.searchParams.has('watch'));
  }

  private async take(input: string, init: RequestInit): Promise<Response> {
    const url = new URL(input, 'http://berth');
    const isWatch = url.searchParams.get('watch') === 'true';
    let ctrl: ReadableStreamDefaultController<Uint8Array> | undefined;
    const stream = isWatch ? new ReadableStream<Uint8Array>({ start: (c) => void (ctrl = c) }) : undefined;
    const close = (f: () => void): void => {
      try {
        f();
      } catch {
        // It has ended already.
      }
    };
    const call: Call = {
      url,
      method: init.method ?? 'GET',
      headers: (init.headers ?? {}) as Record<string, string>,
      body: init.body ? JSON.parse(init.body as string) : undefined,
      send: (...events) => {
        for (const e of events) {
          ctrl?.enqueue(new TextEncoder().encode(`${JSON.stringify(e)}\n`));
        }
      },
      end: () => close(() => ctrl?.close()),
      cut: () => close(() => ctrl?.error(new Error('lost'))),
    };
    init.signal?.addEventListener('abort', () => call.cut());
    this.calls.push(call);
    const refused = isWatch ? this.refuse.shift() : undefined;
    const w = this.waiting.findIndex((x) => x.want(call));
    if (w >= 0) {
      this.waiting.splice(w, 1)[0]?.give(call);
    }
    if (refused === 'unreachable') {
      throw new TypeError('failed to fetch');
    }
    if (refused) {
      return refused;
    }
    if (stream) {
      return new Response(stream, { status: 200 });
    }
    const a = this.answer(call);
    return a instanceof Response ? a : Response.json(a);
  }
}

export function status(code: number, reason: string, message: string, causes: unknown[] = []): Response {
  return Response.json({ kind: 'Status', status: 'Failure', code, reason, message, details: { causes } }, { status: code });
}

export function pod(name: string, rv: string, more: object = {}): unknown {
  return { metadata: { name, namespace: 'a', uid: `uid-${name}`, resourceVersion: rv }, ...more };
}

export async function until(f: () => boolean): Promise<void> {
  while (!f()) {
    await new Promise((r) => setTimeout(r, 5));
  }
}
