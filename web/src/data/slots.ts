// Who may hold a stream open. A browser opens six connections to a host that speaks HTTP/1.1, and a watch keeps one
// for as long as it lasts; without a bound, a few watches would leave none for requests. When more want one than
// there are, they take turns: whoever has held its stream for a while gives it up and resumes later where it was.

export interface Slot {
  release(): void;
}

interface Waiter {
  give(): void;
}

export class Slots {
  private free: number;
  private readonly turn: number;
  private readonly waiting: Waiter[] = [];
  private readonly holders = new Set<{ since: number; yield: () => void; timer?: ReturnType<typeof setTimeout> }>();

  constructor(n: number, turnMs: number) {
    this.free = n;
    this.turn = turnMs;
  }

  // A slot, when there is one. `onYield` is called once when its turn is over and others wait. Who is urgent comes
  // before others that wait, and the longest holder's turn is a short one.
  async take(onYield: () => void, signal: AbortSignal, urgent = false): Promise<Slot> {
    signal.throwIfAborted();
    if (this.free > 0) {
      this.free--;
      return this.hold(onYield);
    }
    return new Promise<Slot>((resolve, reject) => {
      const gone = (): void => {
        const i = this.waiting.indexOf(w);
        if (i >= 0) {
          this.waiting.splice(i, 1);
        }
        reject(signal.reason as Error);
      };
      const w: Waiter = {
        give: () => {
          signal.removeEventListener('abort', gone);
          resolve(this.hold(onYield));
        },
      };
      signal.addEventListener('abort', gone, { once: true });
      if (urgent) {
        this.waiting.unshift(w);
        const oldest = this.holders.values().next().value;
        if (oldest) {
          // A third of a turn it has in any case: two in a hurry must not throw each other out for ever.
          clearTimeout(oldest.timer);
          oldest.timer = setTimeout(oldest.yield, Math.max(0, oldest.since + this.turn / 3 - Date.now()));
        }
      } else {
        this.waiting.push(w);
      }
      this.press();
    });
  }

  private hold(onYield: () => void): Slot {
    const h: { since: number; yield: () => void; timer?: ReturnType<typeof setTimeout> } = {
      since: Date.now(),
      yield: onYield,
    };
    this.holders.add(h);
    this.press();
    return {
      release: () => {
        if (!this.holders.delete(h)) {
          return;
        }
        clearTimeout(h.timer);
        const next = this.waiting.shift();
        if (next) {
          next.give();
        } else {
          this.free++;
        }
      },
    };
  }

  // Sets the ends of turns, for as many holders as others wait; the longest holders go first.
  private press(): void {
    let n = this.waiting.length;
    for (const h of this.holders) {
      if (n-- <= 0) {
        break;
      }
      if (h.timer === undefined) {
        const left = Math.max(0, h.since + this.turn - Date.now());
        h.timer = setTimeout(() => {
          if (this.waiting.length > 0) {
            h.yield();
          } else {
            delete h.timer;
          }
        }, left);
      }
    }
  }
}

export const streams = new Slots(4, 3000);
