// The screen "Overview".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Overview(): ReactNode {
  return <Screen title={strings.nav.overview}>{null}</Screen>;
}
