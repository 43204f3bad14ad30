// The screen "Workloads".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Workloads(): ReactNode {
  return <Screen title={strings.nav.workloads}>{null}</Screen>;
}
