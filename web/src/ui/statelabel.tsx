// The state of a Workload as a label: colour, icon and word.

import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ClockIcon from '@patternfly/react-icons/dist/esm/icons/outlined-clock-icon';
import PauseIcon from '@patternfly/react-icons/dist/esm/icons/pause-icon';
import PlayIcon from '@patternfly/react-icons/dist/esm/icons/play-icon';
import StopIcon from '@patternfly/react-icons/dist/esm/icons/stop-icon';
import SyncIcon from '@patternfly/react-icons/dist/esm/icons/sync-alt-icon';
import type { ComponentType, ReactNode } from 'react';
import { strings } from '../strings.ts';
import type { WorkState } from './workload.ts';

// Drawn by hand: there may be one in each of very many rows.
const LOOK: Record<WorkState, { tone: string; icon: ComponentType }> = {
  running: { tone: 'used', icon: PlayIcon },
  starting: { tone: 'borrowed', icon: SyncIcon },
  reserved: { tone: 'borrowed', icon: ClockIcon },
  waiting: { tone: 'waiting', icon: ClockIcon },
  held: { tone: 'quiet', icon: PauseIcon },
  stopping: { tone: 'waiting', icon: StopIcon },
  succeeded: { tone: 'good', icon: CheckCircleIcon },
  failed: { tone: 'broken', icon: ExclamationCircleIcon },
};

export function StateLabel(p: { state: WorkState }): ReactNode {
  const l = LOOK[p.state];
  return (
    <span className={`b-state b-state-${l.tone}`}>
      <l.icon />
      {strings.workloads.state[p.state]}
    </span>
  );
}
