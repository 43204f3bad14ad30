// Addresses: everything is below /dashboard/, moved by the history API.

import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent, type ReactNode } from 'react';

export const BASE = '/dashboard';

const listeners = new Set<() => void>();
let here = read();

export interface Place {
  path: string; // below the base, without slashes at its ends: "workloads/team-a/job-x"
  parts: string[];
  query: URLSearchParams;
}

function read(): Place {
  if (typeof location === 'undefined') {
    return { path: '', parts: [], query: new URLSearchParams() };
  }
  const path = location.pathname.replace(/^\/dashboard\/?/, '').replace(/\/+$/, '');
  const parts = path
    .split('/')
    .filter(Boolean)
    .map((p) => {
      try {
        return decodeURIComponent(p);
      } catch {
        return p;
      }
    });
  return { path, parts, query: new URLSearchParams(location.search) };
}

function moved(): void {
  here = read();
  for (const f of listeners) {
    f();
  }
}

if (typeof window !== 'undefined') {
  window.addEventListener('popstate', moved);
}

// The address of a screen: href('workloads', ns, name).
export function href(...parts: string[]): string {
  return `${BASE}/${parts.map(encodeURIComponent).join('/')}`;
}

export function navigate(to: string, o: { replace?: boolean } = {}): void {
  if (o.replace) {
    history.replaceState(null, '', to);
  } else {
    history.pushState(null, '', to);
  }
  moved();
}

// Changes parameters of the present address; undefined or '' takes one away.
export function setQuery(q: Record<string, string | undefined>): void {
  const p = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(q)) {
    if (v) {
      p.set(k, v);
    } else {
      p.delete(k);
    }
  }
  const s = p.toString();
  navigate(location.pathname + (s ? `?${s}` : ''), { replace: true });
}

export function usePlace(): Place {
  return useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => here,
  );
}

// What a click on an inner link does; others (new tab, other button) are the browser's.
export function onInnerClick(e: MouseEvent<HTMLAnchorElement>): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) {
    return;
  }
  e.preventDefault();
  navigate(e.currentTarget.pathname + e.currentTarget.search);
}

export function Link(p: AnchorHTMLAttributes<HTMLAnchorElement> & { to: string; children: ReactNode }): ReactNode {
  const { to, children, ...rest } = p;
  return (
    <a {...rest} href={to} onClick={onInnerClick}>
      {children}
    </a>
  );
}
