// Short notes at the edge of the page: what was done (goes away by itself) and what failed (stays until it is closed).

import { Alert, AlertActionCloseButton, AlertGroup } from '@patternfly/react-core/dist/esm/components/Alert';
import { useSyncExternalStore, type ReactNode } from 'react';
import { ApiError } from '../data/client.ts';

interface Toast {
  key: number;
  variant: 'success' | 'info' | 'warning' | 'danger';
  title: string;
  body: ReactNode | undefined;
}

let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(t: Toast[]): void {
  toasts = t;
  for (const f of listeners) {
    f();
  }
}

export function toast(title: string, variant: Toast['variant'] = 'success', body?: ReactNode): void {
  set([...toasts, { key: next++, variant, title, body }].slice(-5));
}

// The words of an error, with the fields the server named.
export function ErrorText(p: { error: unknown }): ReactNode {
  const e = p.error;
  if (!(e instanceof ApiError)) {
    return <p>{String(e)}</p>;
  }
  const causes = e.causes.filter((c) => c.message && !e.message.includes(c.message));
  return (
    <>
      <p>{e.message}</p>
      {causes.length > 0 && (
        <ul className="b-causes">
          {causes.map((c, i) => (
            <li key={i}>
              {c.field && <code>{c.field}</code>} {c.message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function toastError(title: string, e: unknown): void {
  toast(title, 'danger', <ErrorText error={e} />);
}

export function Toasts(): ReactNode {
  const all = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => toasts,
  );
  const drop = (key: number): void => set(toasts.filter((t) => t.key !== key));
  return (
    <AlertGroup isToast isLiveRegion>
      {all.map((t) => (
        <Alert
          component="p"
          key={t.key}
          variant={t.variant}
          title={t.title}
          timeout={t.variant === 'danger' || t.variant === 'warning' ? false : 6000}
          onTimeout={() => drop(t.key)}
          actionClose={<AlertActionCloseButton onClose={() => drop(t.key)} />}
        >
          {t.body}
        </Alert>
      ))}
    </AlertGroup>
  );
}
