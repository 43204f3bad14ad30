/*
 * How a booking's phase looks (few tones, each with a word and a shape beside its colour), and what can be done in it.
 */
import { B } from '../strings.ts';
import { FINAL, type Phase, type Reservation } from './types.ts';

export type Tone = 'firm' | 'now' | 'held' | 'warn' | 'over' | 'busy';
export type LabelStatus = 'success' | 'info' | 'warning' | 'danger' | undefined;

const TONES: Record<Phase, [Tone, LabelStatus]> = {
  PendingApproval: ['held', 'warning'],
  Waitlisted: ['held', undefined],
  Offered: ['held', 'warning'],
  Confirmed: ['firm', 'info'],
  Preparing: ['now', 'info'],
  Active: ['now', 'success'],
  Degraded: ['warn', 'danger'],
  Ending: ['now', 'warning'],
  Ended: ['over', undefined],
  Rejected: ['over', 'danger'],
  Cancelled: ['over', undefined],
  Released: ['over', undefined],
  Expired: ['over', undefined],
};

export const bookingTone = (phase: string | undefined): Tone => TONES[phase as Phase]?.[0] ?? 'firm';
export const labelStatus = (phase: string | undefined): LabelStatus => TONES[phase as Phase]?.[1];
export const phaseText = (phase: string | undefined): string =>
  phase ? (B.phase[phase as Phase] ?? phase) : B.phase.none;

export type Deed = 'extend' | 'change' | 'cancel' | 'claim' | 'approve' | 'reject';

/* What makes sense to do to it now; who may is another question (rights). */
export function deedsOfPhase(r: Reservation): Deed[] {
  const phase = r.status?.phase ?? '';
  if (FINAL.has(phase) || r.metadata.deletionTimestamp) {
    return [];
  }
  const out: Deed[] = [];
  if (phase === 'PendingApproval') {
    out.push('approve', 'reject');
  }
  if (phase === 'Offered') {
    out.push('claim');
  }
  if (phase === 'Active' || phase === 'Confirmed' || phase === 'Preparing' || phase === 'Degraded') {
    out.push('extend');
  }
  if (phase === 'Confirmed' || phase === 'Waitlisted' || phase === 'PendingApproval') {
    out.push('change');
  }
  if (phase !== 'Ending') {
    out.push('cancel');
  }
  return out;
}
