// What the page is about: the project (a namespace, or all of them) and the time zone times are shown in.

import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { deed, mayI } from '../data/access.ts';
import { useAllowed, useList } from '../data/hooks.ts';
import { namespaces, workloads } from '../data/kinds.ts';
import { useSession } from './session.tsx';

export interface Scope {
  project: string | undefined; // undefined: all
  setProject(p: string | undefined): void;
  projects: string[]; // sorted; empty while not known
  mayList: boolean; // false: the user may not list namespaces, projects is what was typed before or found
  mayAll: boolean; // false: the user works in single projects, not in all at once
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

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const TRIES = 40;

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
  const { session } = useSession();
  const list = useList(namespaces);
  const mayList = !list.error?.forbidden;
  const mayAll = useAllowed('list', workloads) !== false;
  const [found, setFound] = useState<string[]>([]);

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

  // Who may not see all projects has some of their own. Those the user's groups are named after are tried, and what
  // was opened before; the first that may be seen is where the page begins.
  const listed = list.items;
  useEffect(() => {
    if (mayAll || (mayList && !list.loaded)) {
      return;
    }
    let gone = false;
    const names = mayList ? listed.map((n) => n.metadata.name) : [...typed, ...(session?.groups ?? []), session?.user ?? ''];
    const tried = [...new Set(names)].filter((n) => NAME.test(n) && !SYSTEM.test(n)).slice(0, TRIES);
    Promise.all(
      tried.map((n) => mayI(deed('list', workloads, n)).then((ok) => (ok ? n : ''), () => '')),
    )
      .then((all) => {
        if (!gone) {
          setFound(all.filter(Boolean));
        }
      })
      .catch(() => undefined);
    return () => {
      gone = true;
    };
    // Again for another user; what is typed later is allowed or not by the server.
  }, [mayAll, mayList, list.loaded, session?.user]);
  useEffect(() => {
    const first = found[0];
    if (!mayAll && project === undefined && first !== undefined) {
      setP(first);
    }
  }, [mayAll, project, found]);

  const projects = useMemo(
    () =>
      mayList
        ? list.items
            .map((n) => n.metadata.name)
            .filter((n) => !SYSTEM.test(n))
            .sort()
        : [...new Set([...found, ...typed])].sort(),
    [mayList, list.items, typed, found],
  );
  const value = useMemo<Scope>(
    () => ({ project, setProject, projects, mayList, mayAll, zone: zone ?? browserZone, browserZone, setZone }),
    [project, setProject, projects, mayList, mayAll, zone, browserZone, setZone],
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
