// Opens the dialog "Book GPU resources" from anywhere, filled in with what is known already. The dialog is a chunk of
// its own (screens/book.tsx), loaded when it is first opened.

import { createContext, lazy, Suspense, useContext, useMemo, useState, type ReactNode } from 'react';
import { deed } from '../data/access.ts';
import { useMayAny } from '../data/hooks.ts';
import { reservations } from '../data/kinds.ts';
import type { Reservation, ReservationLine } from '../data/types.ts';
import { usePlace } from './router.tsx';
import { useScope } from './scope.tsx';

export interface BookingPrefill {
  project?: string;
  start?: string; // RFC 3339
  end?: string;
  lines?: ReservationLine[];
  edit?: Reservation; // change this one instead of making one
}

export interface BookDialogProps {
  prefill: BookingPrefill;
  onClose(): void;
}

export interface Booking {
  open(p?: BookingPrefill): void;
  may: boolean | undefined; // book in the project, or where all are shown in one of them; undefined: not known yet
}

const TRIES = 40;
const Ctx = createContext<Booking>({ open: () => undefined, may: undefined });
const Dialog = lazy(() => import('../screens/book.tsx'));

export function BookingProvider(p: { children: ReactNode }): ReactNode {
  const [prefill, setPrefill] = useState<BookingPrefill | undefined>();
  const { project, projects } = useScope();
  const asks = useMemo(
    () => (project ? [project] : [undefined, ...projects.slice(0, TRIES)]).map((ns) => deed('create', reservations, ns)),
    [project, projects],
  );
  const may = useMayAny(asks, usePlace().parts[0]);
  const value = useMemo(() => ({ open: (x?: BookingPrefill) => setPrefill(x ?? {}), may }), [may]);
  return (
    <Ctx.Provider value={value}>
      {p.children}
      {prefill && (
        <Suspense fallback={null}>
          <Dialog prefill={prefill} onClose={() => setPrefill(undefined)} />
        </Suspense>
      )}
    </Ctx.Provider>
  );
}

export function useBooking(): Booking {
  return useContext(Ctx);
}
