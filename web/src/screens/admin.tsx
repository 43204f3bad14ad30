// The screen "Admin".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Admin(): ReactNode {
  return <Screen title={strings.nav.admin}>{null}</Screen>;
}
