/*
 * Who may do what to a booking, as the server decides it: one's own is changed with the right to change bookings of the
 * project, somebody else's with reservations/manage too, and approving takes reservations/approve, in all projects
 * where the policy wants an administrator. What would be refused is not offered.
 */
import * as React from 'react';
import { useSession } from '../app/session.tsx';
import { deed } from '../data/access.ts';
import { useMayEach } from '../data/hooks.ts';
import { reservations } from '../data/kinds.ts';
import type { Session } from '../data/types.ts';
import { B } from '../strings.ts';
import { deedsOfPhase, type Deed } from './phase.ts';
import { REQUESTED_BY, type Reservation } from './types.ts';

export type Right = 'patch' | 'manage' | 'approve';
/* In a project, or in all; undefined: not known yet, which counts as yes, since the server decides in any case. */
export type Rights = (right: Right, project: string | undefined) => boolean | undefined;
export type Asker = Pick<Session, 'user' | 'groups' | 'world'> | undefined;

/* Whose members have these rights on a cluster, where the webhook that decides cannot ask for rights. */
const MANAGERS = ['system:masters', 'berth:booking-managers'];

export function isOwn(r: Reservation, who: Asker): boolean {
  const b = r.spec.beneficiary;
  return !!who && (r.metadata.annotations?.[REQUESTED_BY] === who.user ||
    (!!b?.name && (b.kind === 'Group' ? !!who.groups?.includes(b.name) : b.name === who.user)));
}

const forManager = (r: Reservation): boolean => r.status?.reason === 'NeedsManager';

export function mayDo(d: Deed, r: Reservation, who: Asker, may: Rights): boolean {
  const ns = r.metadata.namespace;
  const has = (right: Right, project: string | undefined): boolean =>
    who?.world === 'operate' ? MANAGERS.some((g) => who.groups?.includes(g)) : may(right, project) !== false;
  if (may('patch', ns) === false) {
    return false;
  }
  if (d === 'approve' || d === 'reject') {
    return has('approve', forManager(r) ? ns : undefined);
  }
  return isOwn(r, who) || has('manage', ns);
}

/* Why there is nothing to press where one would look for it. */
export function whyNot(r: Reservation, who: Asker, may: Rights): string {
  const ns = r.metadata.namespace ?? '';
  if (may('patch', ns) === false) {
    return B.mine.mayLook(ns);
  }
  if (r.status?.phase === 'PendingApproval' && !mayDo('approve', r, who, may)) {
    return forManager(r) ? B.mine.managerDecides(ns) : B.mine.adminDecides;
  }
  return mayDo('cancel', r, who, may) ? '' : B.mine.notYours(ns);
}

export interface Offered {
  deeds: (r: Reservation) => Deed[];
  why: (r: Reservation) => string; /* empty where nothing is missing */
}

/* Of these bookings; asked once for each project among them. */
export function useOffered(list: readonly Reservation[]): Offered {
  const who = useSession().session;
  const projects = [...new Set(list.map((r) => r.metadata.namespace ?? ''))].sort();
  const key = projects.join();
  const asks = React.useMemo(() => [undefined, ...key.split(',').filter(Boolean)].flatMap((ns) => [
    deed('patch', reservations, ns), deed('update', reservations, ns, undefined, 'manage'),
    deed('update', reservations, ns, undefined, 'approve')]), [key]);
  const answers = useMayEach(asks);
  return React.useMemo(() => {
    const may: Rights = (right, project) =>
      answers[asks.findIndex((a) => a.namespace === project && (right === 'patch' ? !a.subresource : a.subresource === right))];
    return {
      deeds: (r) => deedsOfPhase(r).filter((d) => mayDo(d, r, who, may)),
      why: (r) => (deedsOfPhase(r).length > 0 ? whyNot(r, who, may) : ''),
    };
  }, [answers, asks, who]);
}
