// The log of a container, followed as it grows. A stream is read while the page is seen; when it is cut, it goes on
// from the last line read.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Checkbox } from '@patternfly/react-core/dist/esm/components/Checkbox';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { ApiError, ask } from '../data/client.ts';
import { pathOf, pods } from '../data/kinds.ts';
import { backoff, pause, untilVisible } from '../data/live.ts';
import { strings } from '../strings.ts';

const s = strings.workloads;
const MOST = 5000; // lines kept in the page
const FIRST = 1000; // lines asked for at first

// Cuts a line with a time stamp in front into the two.
export function cutStamp(line: string): { at: string; text: string } {
  const space = line.indexOf(' ');
  const at = space > 0 ? line.slice(0, space) : '';
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(at) ? { at, text: line.slice(space + 1) } : { at: '', text: line };
}

export interface LogSink {
  add(lines: string[]): void;
  state(s: 'reading' | 'following' | 'ended' | 'cut', error?: ApiError): void;
}

// Reads until the container has ended or `signal` says stop.
export async function followLog(path: string, query: Record<string, string>, sink: LogSink, signal: AbortSignal): Promise<void> {
  let last = '';
  let failures = 0;
  while (!signal.aborted) {
    const q = new URLSearchParams({ ...query, follow: 'true', timestamps: 'true' });
    if (last) {
      q.set('sinceTime', last);
    } else {
      q.set('tailLines', String(FIRST));
    }
    try {
      await untilVisible(signal);
      sink.state('reading');
      const r = await ask(`${path}?${q.toString()}`, { signal, accept: '*/*' });
      sink.state('following');
      failures = 0;
      const seen = last;
      const reader = r.body?.getReader();
      const text = new TextDecoder();
      let rest = '';
      for (;;) {
        const part = (await reader?.read()) ?? { done: true, value: undefined };
        rest += part.value ? text.decode(part.value, { stream: true }) : '';
        const lines = rest.split('\n');
        rest = part.done ? '' : (lines.pop() ?? '');
        const out: string[] = [];
        for (const l of lines) {
          const { at, text: t } = cutStamp(l);
          // sinceTime is of whole seconds: what was read already comes again.
          if (at && seen && at <= seen) {
            continue;
          }
          last = at || last;
          if (l || !part.done) {
            out.push(t);
          }
        }
        if (out.length > 0) {
          sink.add(out);
        }
        if (part.done) {
          sink.state('ended');
          return;
        }
      }
    } catch (e) {
      if (signal.aborted) {
        return;
      }
      const err = e instanceof ApiError ? e : new ApiError(0, strings.errors.cutShort);
      sink.state('cut', err);
      if (err.forbidden || err.notFound) {
        return;
      }
      await pause(backoff(failures++), signal).catch(() => undefined);
    }
  }
}

type Box = Pick<HTMLElement, 'scrollTop' | 'scrollHeight' | 'clientHeight'>;

// Tells the log's own scrolls from a person's. A browser tells of a scroll a frame after it happened: the log's last one may
// be told of when a person has stopped following already, and must not be taken for theirs.
export class Scrolls {
  #own: number | undefined; // where the log itself put the box, until the browser has told of it

  toEnd(el: Box): void {
    const was = el.scrollTop;
    el.scrollTop = el.scrollHeight;
    if (el.scrollTop !== was) { // or nothing will be told
      this.#own = el.scrollTop;
    }
  }

  // What an event says: whether to follow from now on.
  told(el: Box, follow: boolean): boolean {
    const own = this.#own === el.scrollTop;
    this.#own = undefined;
    if (own || el.scrollHeight <= el.clientHeight) {
      return follow;
    }
    return el.scrollHeight - el.scrollTop - el.clientHeight < 24;
  }
}

export function Log(p: { ns: string; pod: string; container: string; label: string }): ReactNode {
  const [lines, setLines] = useState<string[]>([]);
  const [state, setState] = useState<'reading' | 'following' | 'ended' | 'cut'>('reading');
  const [error, setError] = useState<ApiError | undefined>();
  const [follow, setFollow] = useState(true);
  const [wrap, setWrap] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const [scrolls] = useState(() => new Scrolls());

  useEffect(() => {
    const c = new AbortController();
    let waiting: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLines([]);
    setError(undefined);
    const flush = (): void => {
      timer = undefined;
      const add = waiting;
      waiting = [];
      setLines((had) => [...had, ...add].slice(-MOST));
    };
    const sink: LogSink = {
      add: (l) => {
        waiting.push(...l);
        if (waiting.length > MOST) {
          waiting = waiting.slice(-MOST);
        }
        timer ??= setTimeout(flush, 100);
      },
      state: (x, e) => {
        setState(x);
        setError(e);
      },
    };
    void followLog(pathOf(pods, p.ns, p.pod, 'log'), p.container ? { container: p.container } : {}, sink, c.signal).catch(
      () => undefined,
    );
    return () => {
      c.abort();
      clearTimeout(timer);
    };
  }, [p.ns, p.pod, p.container]);

  useEffect(() => {
    if (follow && box.current) {
      scrolls.toEnd(box.current);
    }
  }, [lines, follow, wrap, scrolls]);

  const save = (): void => {
    const url = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/plain' }));
    const a = document.createElement('a');
    a.href = url;
    a.download = `${p.pod}.log`;
    a.click();
    URL.revokeObjectURL(url);
  };

  return (
    <div className="b-log">
      <div className="b-log-bar">
        <span role="status" className={error ? 'b-bad' : 'b-quiet'}>
          {error ? `${s.logState.cut} ${error.message}` : s.logState[state]}
        </span>
        <span className="b-grow" />
        <Checkbox id="log-follow" label={s.follow} isChecked={follow} onChange={(_e, v) => setFollow(v)} />
        <Checkbox id="log-wrap" label={s.wrap} isChecked={wrap} onChange={(_e, v) => setWrap(v)} />
        <Button variant="link" size="sm" isDisabled={lines.length === 0} onClick={save}>
          {s.download}
        </Button>
      </div>
      <div
        ref={box}
        className={`b-log-text b-code${wrap ? ' b-wrap' : ''}`}
        role="log"
        aria-live="off"
        aria-label={p.label}
        tabIndex={0}
        data-testid="log"
        onScroll={(e) => setFollow(scrolls.told(e.currentTarget, follow))}
      >
        {lines.length === 0 ? (
          <span className="b-quiet">{state === 'reading' ? s.logState.reading : s.logEmpty}</span>
        ) : (
          chunks(lines).map((c) => (
            <pre key={c.key}>{c.text}</pre>
          ))
        )}
      </div>
    </div>
  );
}

// Lines by the hundred, so that a new line renews one block.
function chunks(lines: string[]): { key: number; text: string }[] {
  const out: { key: number; text: string }[] = [];
  for (let i = 0; i < lines.length; i += 100) {
    out.push({ key: i, text: lines.slice(i, i + 100).join('\n') });
  }
  return out;
}
