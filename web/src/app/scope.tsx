// What the page is about: the project (a namespace, or all of them) and the time zone times are shown in.

import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react';
import { useList } from '../data/hooks.ts';
import { namespaces } from '../data/kinds.ts';

export interface Scope {
  project: string | undefined; // undefined: all
  setProject(p: string | undefined): void;
  projects: string[]; // sorted; empty while not known
  mayList: boolean; // false: the user may not list namespaces, projects is what was typed before
  zone: string;
  browserZone: string;
  setZone(z: string | undefined): void; // undefined: the browser's
}

const Ctx = createContext<Scope | undefined>(undefined);

function stored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function store(key: string, value: string | undefined): void {
  try {
    if (value === undefined) {
      localStorage.removeItem(key);
    } else {
      localStorage.setItem(key, value);
    }
  } catch {
    // As long as the page lasts, then.
  }
}

export function validZone(z: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: z });
    return true;
  } catch {
    return false;
  }
}

// Namespaces that are the system's and nobody's project.
const SYSTEM = /^(kube-|openshift-|berth-system$|kueue-system$)/;

export function ScopeProvider(p: { children: ReactNode }): ReactNode {
  const [project, setP] = useState(() => stored('berth.project'));
  const browserZone = useMemo(() => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC', []);
  const [zone, setZ] = useState(() => {
    const z = stored('berth.zone');
    return z && validZone(z) ? z : undefined;
  });
  const [typed, setTyped] = useState(() => (stored('berth.projects') ?? '').split(',').filter(Boolean));
  const list = useList(namespaces);
  const mayList = !list.error?.forbidden;

  const setProject = useCallback((n: string | undefined) => {
    setP(n);
    store('berth.project', n);
    if (n) {
      setTyped((had) => {
        const next = [n, ...had.filter((x) => x !== n)].slice(0, 20);
        store('berth.projects', next.join(','));
        return next;
      });
    }
  }, []);
  const setZone = useCallback((z: string | undefined) => {
    setZ(z);
    store('berth.zone', z);
  }, []);

  const projects = useMemo(
    () =>
      mayList
        ? list.items
            .map((n) => n.metadata.name)
            .filter((n) => !SYSTEM.test(n))
            .sort()
        : [...typed].sort(),
    [mayList, list.items, typed],
  );
  const value = useMemo<Scope>(
    () => ({ project, setProject, projects, mayList, zone: zone ?? browserZone, browserZone, setZone }),
    [project, setProject, projects, mayList, zone, browserZone, setZone],
  );
  return <Ctx.Provider value={value}>{p.children}</Ctx.Provider>;
}

export function useScope(): Scope {
  const s = useContext(Ctx);
  if (!s) {
    throw new Error('no scope');
  }
  return s;
}
