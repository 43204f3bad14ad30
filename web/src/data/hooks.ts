// What screens use to read: hooks over the shared stores.

import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { deed, keyOfDeed, knownAnswer, mayI, type Deed } from './access.ts';
import type { Kind } from './kinds.ts';
import { liveState, subscribeLive, type LiveState } from './live.ts';
import type { KubeObject } from './types.ts';
import { storeOf, type Selector, type Snapshot } from './watch.ts';

const NOTHING: Snapshot<never> = {
  items: [],
  phase: 'loading',
  loaded: false,
  since: undefined,
  error: undefined,
  revision: 0,
};
const never = (): (() => void) => () => undefined;
const nothing = (): Snapshot<never> => NOTHING;

export interface ListOptions extends Selector {
  enabled?: boolean; // false: nothing is read yet
}

// A collection, kept current. ns undefined: all projects, for a namespaced kind.
export function useList<O extends KubeObject>(k: Kind<O>, ns?: string, o: ListOptions = {}): Snapshot<O> {
  const { labels, fields, query } = o;
  const enabled = o.enabled !== false;
  const store = useMemo(() => {
    const sel: Selector = {};
    if (labels) {
      sel.labels = labels;
    }
    if (fields) {
      sel.fields = fields;
    }
    if (query) {
      sel.query = query;
    }
    return enabled ? storeOf(k, ns, sel) : undefined;
  }, [k, ns, labels, fields, query, enabled]);
  return useSyncExternalStore(store?.subscribe ?? never, store?.get ?? (nothing as () => Snapshot<O>));
}

export interface One<O> extends Omit<Snapshot<O>, 'items'> {
  object: O | undefined;
}

// One object, kept current.
export function useObject<O extends KubeObject>(k: Kind<O>, name: string | undefined, ns?: string): One<O> {
  const l = useList(k, ns, { fields: name ? `metadata.name=${name}` : '', enabled: name !== undefined });
  return { ...l, object: l.items.find((x) => x.metadata.name === name) };
}

export function useLive(): LiveState {
  return useSyncExternalStore(subscribeLive, liveState);
}

// May the user do this? undefined: not known yet (or the server could not be asked).
export function useMay(d: Deed | undefined): boolean | undefined {
  const key = d ? keyOfDeed(d) : '';
  const [answer, setAnswer] = useState<{ key: string; value: boolean | undefined }>({ key: '', value: undefined });
  useEffect(() => {
    let gone = false;
    if (d) {
      mayI(d).then(
        (value) => {
          if (!gone) {
            setAnswer({ key, value });
          }
        },
        () => undefined,
      );
    }
    return () => {
      gone = true;
    };
    // The key stands for the deed.
  }, [key]);
  if (!d) {
    return undefined;
  }
  return answer.key === key ? answer.value : knownAnswer(d);
}

export function useAllowed(
  verb: string,
  k: Kind<unknown>,
  ns?: string,
  name?: string,
  subresource?: string,
): boolean | undefined {
  return useMay(deed(verb, k, ns, name, subresource));
}

// Many such questions at once, for lists; the answers in the order of the questions, which are the same array until
// they change.
export function useMayEach(asks: readonly Deed[]): readonly (boolean | undefined)[] {
  const [answers, setAnswers] = useState<{ of: readonly Deed[]; values: (boolean | undefined)[] }>();
  useEffect(() => {
    let gone = false;
    void Promise.allSettled(asks.map(mayI)).then((all) => {
      if (!gone) {
        setAnswers({ of: asks, values: all.map((a) => (a.status === 'fulfilled' ? a.value : undefined)) });
      }
    });
    return () => {
      gone = true;
    };
  }, [asks]);
  return useMemo(() => (answers?.of === asks ? answers.values : asks.map(knownAnswer)), [asks, answers]);
}

async function firstThatMay(asks: readonly Deed[], stopped: () => boolean): Promise<boolean> {
  for (const d of asks) {
    if (stopped() || (await mayI(d))) {
      return true;
    }
  }
  return false;
}

// May the user do any of these? One after another is asked until the answer is yes. Asked again when `again` changes:
// a right may be given while the page is open.
export function useMayAny(asks: readonly Deed[], again: unknown): boolean | undefined {
  const key = asks.map(keyOfDeed).join('|');
  const [answer, setAnswer] = useState<{ key: string; value: boolean }>();
  useEffect(() => {
    let gone = false;
    firstThatMay(asks, () => gone).then((value) => !gone && setAnswer({ key, value }), () => undefined);
    return () => {
      gone = true;
    };
    // The key stands for what is asked.
  }, [key, again]);
  return answer?.key === key ? answer.value : undefined;
}

// The time, told anew every so often; for ages and countdowns.
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const t = setInterval(() => {
      if (document.visibilityState !== 'hidden') {
        setNow(Date.now());
      }
    }, everyMs);
    return () => clearInterval(t);
  }, [everyMs]);
  return now;
}
