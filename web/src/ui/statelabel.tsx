// The state of a Workload as a label: colour, icon and word.

import { Label } from '@patternfly/react-core/dist/esm/components/Label';
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

const LOOK: Record<WorkState, { color: 'blue' | 'green' | 'red' | 'orange' | 'grey' | 'teal'; icon: ComponentType }> = {
  running: { color: 'blue', icon: PlayIcon },
  starting: { color: 'teal', icon: SyncIcon },
  reserved: { color: 'teal', icon: ClockIcon },
  waiting: { color: 'orange', icon: ClockIcon },
  held: { color: 'grey', icon: PauseIcon },
  stopping: { color: 'orange', icon: StopIcon },
  succeeded: { color: 'green', icon: CheckCircleIcon },
  failed: { color: 'red', icon: ExclamationCircleIcon },
};

export function StateLabel(p: { state: WorkState }): ReactNode {
  const l = LOOK[p.state];
  return (
    <Label isCompact variant="outline" color={l.color} icon={<l.icon />}>
      {strings.workloads.state[p.state]}
    </Label>
  );
}
