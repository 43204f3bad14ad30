// Opens the dialog "Book GPU resources" from anywhere, filled in with what is known already. The dialog is a chunk of
// its own (screens/book.tsx), loaded when it is first opened.

import { createContext, lazy, Suspense, useContext, useMemo, useState, type ReactNode } from 'react';
import type { Reservation, ReservationLine } from '../data/types.ts';

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

const Ctx = createContext<{ open(p?: BookingPrefill): void }>({ open: () => undefined });
const Dialog = lazy(() => import('../screens/book.tsx'));

export function BookingProvider(p: { children: ReactNode }): ReactNode {
  const [prefill, setPrefill] = useState<BookingPrefill | undefined>();
  const value = useMemo(() => ({ open: (x?: BookingPrefill) => setPrefill(x ?? {}) }), []);
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

export function useBooking(): { open(p?: BookingPrefill): void } {
  return useContext(Ctx);
}
