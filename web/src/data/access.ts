// May the user do this? Asked of the server (SelfSubjectAccessReview), kept for a minute.

import { json } from './client.ts';
import type { SelfSubjectAccessReview } from './types.ts';
import type { Kind } from './kinds.ts';

export interface Deed {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

const KEEP_MS = 60_000;
const known = new Map<string, { at: number; answer: Promise<boolean>; value?: boolean }>();

export function deed(verb: string, k: Kind<unknown>, ns?: string, name?: string, subresource?: string): Deed {
  const d: Deed = { verb, group: k.group, resource: k.plural };
  if (ns && k.namespaced) {
    d.namespace = ns;
  }
  if (name) {
    d.name = name;
  }
  if (subresource) {
    d.subresource = subresource;
  }
  return d;
}

export function keyOfDeed(d: Deed): string {
  return [d.verb, d.group, d.resource, d.subresource ?? '', d.namespace ?? '', d.name ?? ''].join('|');
}

export function knownAnswer(d: Deed): boolean | undefined {
  return known.get(keyOfDeed(d))?.value;
}

export function mayI(d: Deed): Promise<boolean> {
  const key = keyOfDeed(d);
  const had = known.get(key);
  if (had && Date.now() - had.at < KEEP_MS) {
    return had.answer;
  }
  const entry: { at: number; answer: Promise<boolean>; value?: boolean } = {
    at: Date.now(),
    answer: json<SelfSubjectAccessReview>('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      method: 'POST',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: d },
      },
    }).then(
      (r) => {
        entry.value = r.status?.allowed === true;
        return entry.value;
      },
      (e: unknown) => {
        known.delete(key); // not known; the next one asks again
        throw e;
      },
    ),
  };
  if (had?.value !== undefined) {
    entry.value = had.value;
  }
  known.set(key, entry);
  return entry.answer;
}

export function forgetAccess(): void {
  known.clear();
}
