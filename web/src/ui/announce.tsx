// What is told to a screen reader: a polite region, at most one sentence in five seconds, the last one wins.

import { useSyncExternalStore, type ReactNode } from 'react';

const LEAST_MS = 5000;
let text = '';
let waiting: string | undefined;
let last = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function say(): void {
  timer = undefined;
  if (waiting === undefined) {
    return;
  }
  text = waiting;
  waiting = undefined;
  last = Date.now();
  for (const f of listeners) {
    f();
  }
}

export function announce(s: string): void {
  waiting = s;
  timer ??= setTimeout(say, Math.max(100, last + LEAST_MS - Date.now()));
}

export function Announcer(): ReactNode {
  const t = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => text,
  );
  return (
    <div className="b-hidden" role="status" aria-live="polite">
      {t}
    </div>
  );
}
