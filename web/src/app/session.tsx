// Who is signed in. The session itself is a cookie no script can read; here is only what the server says about it.

import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { forgetAccess } from '../data/access.ts';
import { ApiError, ask, json, whenSignedOut } from '../data/client.ts';
import type { Session } from '../data/types.ts';
import { forgetAll } from '../data/watch.ts';

export interface SessionState {
  session: Session | undefined;
  phase: 'asking' | 'in' | 'out' | 'failed';
  error: ApiError | undefined;
  lost: boolean; // was in, and then was not
  signIn(by: { token: string } | { code: string }): Promise<void>;
  signOut(): Promise<void>;
  retry(): void;
}

const Ctx = createContext<SessionState | undefined>(undefined);
const PATH = '/dashboard/session';

function forgetEverything(): void {
  forgetAll();
  forgetAccess();
}

export function SessionProvider(p: { children: ReactNode }): ReactNode {
  const [session, setSession] = useState<Session | undefined>();
  const [phase, setPhase] = useState<SessionState['phase']>('asking');
  const [error, setError] = useState<ApiError | undefined>();
  const [lost, setLost] = useState(false);
  const [round, setRound] = useState(0);
  const began = useRef(0); // how often somebody signed in or out: an answer from before does not count any more

  useEffect(() => {
    let gone = false;
    const before = began.current;
    json<Session>(PATH).then(
      (s) => {
        if (!gone && began.current === before) {
          setSession(s);
          setPhase('in');
          setError(undefined);
        }
      },
      (e: unknown) => {
        if (gone || began.current !== before) {
          return;
        }
        const err = e instanceof ApiError ? e : new ApiError(0, String(e));
        setError(err);
        setPhase(err.code === 401 || err.code === 403 ? 'out' : 'failed');
      },
    );
    return () => {
      gone = true;
    };
  }, [round]);

  useEffect(() => {
    whenSignedOut(
      phase === 'in'
        ? () => {
            setLost(true);
            setSession(undefined);
            setPhase('out');
            forgetEverything();
          }
        : undefined,
    );
    return () => whenSignedOut(undefined);
  }, [phase]);

  const signIn = useCallback(async (by: { token: string } | { code: string }) => {
    began.current++;
    forgetEverything();
    await ask(PATH, { method: 'POST', body: by });
    const s = await json<Session>(PATH);
    setSession(s);
    setLost(false);
    setError(undefined);
    setPhase('in');
  }, []);

  const signOut = useCallback(async () => {
    began.current++;
    try {
      await ask(PATH, { method: 'DELETE' });
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 401) {
        throw e;
      }
    }
    forgetEverything();
    setLost(false);
    setSession(undefined);
    setPhase('out');
  }, []);

  const value = useMemo<SessionState>(
    () => ({
      session,
      phase,
      error,
      lost,
      signIn,
      signOut,
      retry: () => {
        setPhase('asking');
        setRound((n) => n + 1);
      },
    }),
    [session, phase, error, lost, signIn, signOut],
  );
  return <Ctx.Provider value={value}>{p.children}</Ctx.Provider>;
}

export function useSession(): SessionState {
  const s = useContext(Ctx);
  if (!s) {
    throw new Error('no session');
  }
  return s;
}
