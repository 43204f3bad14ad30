// The screen "Queues".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Queues(): ReactNode {
  return <Screen title={strings.nav.queues}>{null}</Screen>;
}
