/*
 * How a booking's phase looks: few tones, each with a word and a shape beside its colour.
 */
import { B } from '../strings.ts';
import type { Phase } from './types.ts';

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
