// A conversation with a served model, by way of the gateway: a key for this page, and answers as they come.

import { createObject } from '../data/client.ts';
import { modelKeys, pathOf } from '../data/kinds.ts';
import { strings } from '../strings.ts';
import { secretNew } from './secret.ts';
import type { ModelKey } from './types.ts';

const KEY_MS = 3600_000;

export interface Turn {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface PageKey {
  secret: string;
  name: string;
  ns: string;
  until: number;
}

// A key of the project that ends within the hour. It is taken back when the page is left.
export async function keyForPage(ns: string, purpose: string): Promise<PageKey> {
  const made = await secretNew();
  const until = Date.now() + KEY_MS;
  const k = await createObject(modelKeys, {
    metadata: { generateName: 'page-', namespace: ns } as ModelKey['metadata'],
    spec: { sha256: made.sha256, prefix: made.prefix, purpose, expiresAt: new Date(until).toISOString().replace(/\.\d+/, '') },
  });
  return { secret: made.text, name: k.metadata.name, ns, until };
}

// Also while the page is going: the request outlives it. Where it fails, the key ends by itself.
export function takeBack(k: PageKey | undefined): void {
  if (k) {
    fetch(pathOf(modelKeys, k.ns, k.name), { method: 'DELETE', keepalive: true, credentials: 'same-origin', headers: { 'X-Berth-Dashboard': '1' } }).catch(
      () => undefined,
    );
  }
}

export interface Ears {
  text(piece: string): void;
  waiting(): void; // the model is being started
}

interface Chunk {
  error?: { message?: string };
  choices?: { delta?: { content?: string } }[];
}

// One event of the stream.
function take(line: string, ears: Ears): void {
  if (line.startsWith(':')) {
    ears.waiting();
    return;
  }
  const data = line.startsWith('data:') ? line.slice(5).trim() : '';
  if (!data || data === '[DONE]') {
    return;
  }
  const c = JSON.parse(data) as Chunk;
  if (c.error) {
    throw new Error(c.error.message ?? strings.serve.play.cut);
  }
  const piece = c.choices?.[0]?.delta?.content;
  if (piece) {
    ears.text(piece);
  }
}

async function refusal(r: Response): Promise<Error> {
  const text = await r.text();
  try {
    return new Error((JSON.parse(text) as Chunk).error?.message || strings.errors.byCode(r.status));
  } catch {
    return new Error(strings.errors.byCode(r.status));
  }
}

// A key that was made a moment ago may not have reached the gateway: for two seconds it is tried again.
async function send(url: string, key: string, body: unknown, signal: AbortSignal): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const r = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      signal,
      credentials: 'omit',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (r.status !== 401 || tries === 8) {
      return r;
    }
    await new Promise((done) => setTimeout(done, 250));
  }
}

export async function askModel(url: string, key: string, model: string, turns: Turn[], ears: Ears, signal: AbortSignal): Promise<void> {
  const r = await send(url, key, { model, stream: true, messages: turns }, signal);
  if (!r.ok || !r.body) {
    throw await refusal(r);
  }
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      take(line.replace(/\r$/, ''), ears);
    }
  }
}
