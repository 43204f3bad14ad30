// The screen "Calendar".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Calendar(): ReactNode {
  return <Screen title={strings.nav.calendar}>{null}</Screen>;
}
