// The screen "Gpus".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Gpus(): ReactNode {
  return <Screen title={strings.nav.gpus}>{null}</Screen>;
}
