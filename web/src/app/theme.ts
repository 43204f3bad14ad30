// Light, dark, or as the system is. theme.js sets the class before the first paint; this changes it later.

import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark' | 'system';

const KEY = 'berth.theme';
const listeners = new Set<() => void>();
const system = typeof matchMedia === 'undefined' ? undefined : matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme {
  try {
    const v = localStorage.getItem(KEY);
    return v === 'light' || v === 'dark' ? v : 'system';
  } catch {
    return 'system';
  }
}

let theme = stored();

function apply(): void {
  const dark = theme === 'dark' || (theme === 'system' && system?.matches === true);
  document.documentElement.classList.toggle('pf-v6-theme-dark', dark);
  for (const f of listeners) {
    f();
  }
}

system?.addEventListener('change', apply);

export function setTheme(t: Theme): void {
  theme = t;
  try {
    localStorage.setItem(KEY, t);
  } catch {
    // Private windows may refuse; the choice lasts as long as the page.
  }
  apply();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => theme,
  );
}

// Whether a media query holds.
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (f) => {
      const m = matchMedia(query);
      m.addEventListener('change', f);
      return () => m.removeEventListener('change', f);
    },
    () => matchMedia(query).matches,
  );
}
