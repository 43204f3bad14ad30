// The screen "Bookings".

import type { ReactNode } from 'react';
import { strings } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';

export default function Bookings(): ReactNode {
  return <Screen title={strings.nav.bookings}>{null}</Screen>;
}
