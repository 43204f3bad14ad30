// Who may hold a stream open. Over plain HTTP, as on the machine itself, browsers speak HTTP/1.1 only: they open six
// connections to a host, for all their pages together, and a watch keeps one for as long as it lasts; without a bound,
// a few watches would leave none for requests. Over HTTPS they speak HTTP/2, where one connection carries a hundred
// streams. When more want one than there are, they take turns: whoever has held its stream for a while gives it up and
// resumes later where it was. Pages that are seen at once share the places among them.

export interface Slot {
  release(): void;
}

interface Holder {
  since: number;
  yield: () => void;
  timer?: ReturnType<typeof setTimeout>;
}

export class Slots {
  private most: number;
  private readonly turn: number;
  private readonly waiting: (() => void)[] = [];
  private readonly holders = new Set<Holder>();

  constructor(n: number, turnMs: number) {
    this.most = n;
    this.turn = turnMs;
  }

  get full(): boolean {
    return this.holders.size >= this.most;
  }

  // From now on there are n; holders above that are asked to yield.
  limit(n: number): void {
    this.most = n;
    let over = this.holders.size - n;
    for (const h of this.holders) {
      if (over-- <= 0) {
        break;
      }
      clearTimeout(h.timer);
      h.timer = setTimeout(h.yield, 0);
    }
    this.serve();
  }

  // A slot, when there is one. `onYield` is called once when its turn is over and others wait. Who is urgent comes
  // before others that wait, and the longest holder's turn is a short one.
  async take(onYield: () => void, signal: AbortSignal, urgent = false): Promise<Slot> {
    signal.throwIfAborted();
    if (this.holders.size < this.most) {
      return this.hold(onYield);
    }
    return new Promise<Slot>((resolve, reject) => {
      const gone = (): void => {
        const i = this.waiting.indexOf(give);
        if (i >= 0) {
          this.waiting.splice(i, 1);
        }
        reject(signal.reason as Error);
      };
      const give = (): void => {
        signal.removeEventListener('abort', gone);
        resolve(this.hold(onYield));
      };
      signal.addEventListener('abort', gone, { once: true });
      if (urgent) {
        this.waiting.unshift(give);
        const oldest = this.holders.values().next().value;
        if (oldest) {
          // A third of a turn it has in any case: two in a hurry must not throw each other out for ever.
          clearTimeout(oldest.timer);
          oldest.timer = setTimeout(oldest.yield, Math.max(0, oldest.since + this.turn / 3 - Date.now()));
        }
      } else {
        this.waiting.push(give);
      }
      this.press();
    });
  }

  private hold(onYield: () => void): Slot {
    const h: Holder = { since: Date.now(), yield: onYield };
    this.holders.add(h);
    this.press();
    return {
      release: () => {
        if (this.holders.delete(h)) {
          clearTimeout(h.timer);
          this.serve();
        }
      },
    };
  }

  private serve(): void {
    while (this.holders.size < this.most && this.waiting.length > 0) {
      this.waiting.shift()?.();
    }
  }

  // Sets the ends of turns, for as many holders as others wait; the longest holders go first.
  private press(): void {
    let n = this.waiting.length;
    for (const h of this.holders) {
      if (n-- <= 0) {
        break;
      }
      h.timer ??= setTimeout(
        () => {
          if (this.waiting.length > 0) {
            h.yield();
          } else {
            delete h.timer;
          }
        },
        Math.max(0, h.since + this.turn - Date.now()),
      );
    }
  }
}

// Of what a browser and the server allow for all pages together (LIMIT_H2_STREAMS), a part is left for requests.
export function placesOver(protocol: string | undefined): number {
  return protocol === 'h2' ? 80 : 4;
}

function protocol(): string | undefined {
  const page = performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming | undefined;
  return page?.nextHopProtocol;
}

const PLACES = placesOver(protocol());
const TELL_MS = 4000;

export const streams = new Slots(PLACES, 3000);

// Tells other pages of this browser that this one is seen, hears the same of them, and takes its part of the places.
export function sharePlaces(visible: () => boolean): void {
  if (typeof BroadcastChannel === 'undefined') {
    return;
  }
  const me = Math.random().toString(36).slice(2);
  const others = new Map<string, number>();
  const channel = new BroadcastChannel('berth.pages');
  let part = PLACES;
  const settle = (): void => {
    for (const [id, at] of others) {
      if (Date.now() - at > 3 * TELL_MS) {
        others.delete(id);
      }
    }
    const n = Math.max(1, Math.floor(PLACES / (1 + others.size)));
    if (n !== part) {
      part = n;
      streams.limit(n);
    }
  };
  const tell = (): void => {
    channel.postMessage({ id: me, seen: visible() });
    settle();
  };
  channel.onmessage = (e: MessageEvent<{ id: string; seen: boolean }>) => {
    const fresh = !others.has(e.data.id);
    if (e.data.seen) {
      others.set(e.data.id, Date.now());
      if (fresh) {
        tell(); // who just came does not wait to hear of us
      }
    } else {
      others.delete(e.data.id);
    }
    settle();
  };
  document.addEventListener('visibilitychange', tell);
  window.addEventListener('pagehide', () => channel.postMessage({ id: me, seen: false }));
  setInterval(() => {
    if (visible()) {
      tell();
    }
  }, TELL_MS);
  tell();
}
