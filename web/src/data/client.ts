// Requests to the API, as the user who is signed in. Every failure is an ApiError that says what happened in words a
// person can act on; the Kubernetes Status, with its causes, stays with it.

import { apiVersion, pathOf, type Kind } from './kinds.ts';
import type { KubeObject, Status, StatusCause } from './types.ts';
import { strings } from '../strings.ts';

export class ApiError extends Error {
  readonly code: number; // HTTP status; 0: the server was not reached
  readonly reason: string;
  readonly causes: StatusCause[];
  readonly status: Status | undefined;
  readonly retryAfter: number | undefined; // seconds

  constructor(code: number, message: string, status?: Status) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = status?.reason ?? '';
    this.causes = status?.details?.causes ?? [];
    this.status = status;
    this.retryAfter = status?.details?.retryAfterSeconds;
  }

  get forbidden(): boolean {
    return this.code === 403;
  }
  get notFound(): boolean {
    return this.code === 404;
  }
  get conflict(): boolean {
    return this.code === 409;
  }
  get unreachable(): boolean {
    return this.code === 0;
  }
}

// Called when the server says that nobody is signed in any more.
let onSignedOut: (() => void) | undefined;
export function whenSignedOut(f: (() => void) | undefined): void {
  onSignedOut = f;
}

function isStatus(v: unknown): v is Status {
  return typeof v === 'object' && v !== null && (v as { kind?: unknown }).kind === 'Status';
}

// The words for an answer that is no success.
export async function errorOf(r: Response): Promise<ApiError> {
  let status: Status | undefined;
  let text = '';
  try {
    text = await r.text();
    const v: unknown = JSON.parse(text);
    if (isStatus(v)) {
      status = v;
    }
  } catch {
    status = undefined;
  }
  if (r.status === 401) {
    onSignedOut?.();
  }
  const plain = text.length > 0 && text.length < 300 && !text.trimStart().startsWith('<') ? text : '';
  const message = status?.message || plain || strings.errors.byCode(r.status);
  return new ApiError(r.status, message, status);
}

export interface Ask {
  method?: string;
  body?: unknown;
  type?: string; // content type of the body
  accept?: string;
  signal?: AbortSignal;
}

// One request; the answer is not read yet, but it is a success.
export async function ask(path: string, o: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: o.accept ?? 'application/json' };
  const method = o.method ?? 'GET';
  if (method !== 'GET') {
    headers['X-Berth-Dashboard'] = '1';
  }
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' };
  if (o.body !== undefined) {
    headers['Content-Type'] = o.type ?? 'application/json';
    init.body = JSON.stringify(o.body);
  }
  if (o.signal) {
    init.signal = o.signal;
  }
  let r: Response;
  try {
    r = await fetch(path, init);
  } catch (e) {
    if (o.signal?.aborted) {
      throw e;
    }
    throw new ApiError(0, strings.errors.unreachable);
  }
  if (!r.ok) {
    throw await errorOf(r);
  }
  return r;
}

export async function json<R>(path: string, o: Ask = {}): Promise<R> {
  const r = await ask(path, o);
  try {
    return (await r.json()) as R;
  } catch (e) {
    if (o.signal?.aborted) {
      throw e;
    }
    throw new ApiError(0, strings.errors.cutShort);
  }
}

function query(q?: Record<string, string | undefined>): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(q ?? {})) {
    if (v !== undefined) {
      p.set(k, v);
    }
  }
  const s = p.toString();
  return s ? `?${s}` : '';
}

export function getObject<O>(k: Kind<O>, name: string, ns?: string, signal?: AbortSignal): Promise<O> {
  return json<O>(pathOf(k, ns, name), signal ? { signal } : {});
}

// Makes an object. dryRun: everything is checked, nothing is kept.
export function createObject<O extends KubeObject>(
  k: Kind<O>,
  o: Omit<O, 'apiVersion' | 'kind'>,
  opts: { dryRun?: boolean; signal?: AbortSignal } = {},
): Promise<O> {
  const a: Ask = { method: 'POST', body: { apiVersion: apiVersion(k), kind: k.kind, ...o } };
  if (opts.signal) {
    a.signal = opts.signal;
  }
  const ns = (o as unknown as KubeObject).metadata?.namespace;
  return json<O>(pathOf(k, ns) + query({ dryRun: opts.dryRun ? 'All' : undefined }), a);
}

// Changes some fields: an RFC 7386 merge patch. Give metadata.resourceVersion to refuse what changed meanwhile.
export function patchObject<O>(
  k: Kind<O>,
  name: string,
  ns: string | undefined,
  patch: unknown,
  opts: { dryRun?: boolean; subresource?: string } = {},
): Promise<O> {
  return json<O>(pathOf(k, ns, name, opts.subresource) + query({ dryRun: opts.dryRun ? 'All' : undefined }), {
    method: 'PATCH',
    body: patch,
    type: 'application/merge-patch+json',
  });
}

export async function deleteObject(k: Kind<unknown>, name: string, ns?: string): Promise<void> {
  await ask(pathOf(k, ns, name), {
    method: 'DELETE',
    body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
  });
}
