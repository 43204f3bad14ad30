// A strip: parts of a whole side by side, each told apart by its pattern as well as by its colour, and said in words
// beside it. The picture is hidden from screen readers, which get the words.

import type { ReactNode } from 'react';
import { num } from './names.ts';

export type PartKind = 'used' | 'reserved' | 'free' | 'broken' | 'waiting' | 'borrowed' | 'lent';

export interface Part {
  kind: PartKind;
  label: string;
  value: number;
}

export function Strip(p: { parts: Part[]; total: number; label: string; units?: boolean }): ReactNode {
  const shown = p.parts.filter((x) => x.value > 0);
  const sum = shown.reduce((a, x) => a + x.value, 0);
  const whole = Math.max(p.total, sum, 1e-9);
  const words = p.parts.map((x) => `${x.label} ${num(x.value)}`).join(', ');
  // Few units are drawn one by one, so that they can be counted.
  const one = p.units !== false && whole <= 16 && shown.every((x) => Number.isInteger(x.value));
  return (
    <div className="b-strip" role="img" aria-label={`${p.label}: ${words}`} title={words}>
      {one
        ? shown.flatMap((x) =>
            Array.from({ length: x.value }, (_, i) => <span key={`${x.kind}${i}`} className={`b-part b-${x.kind}`} />),
          )
        : shown.map((x) => (
            <span key={x.kind} className={`b-part b-${x.kind}`} style={{ flexGrow: x.value / whole }} />
          ))}
      {sum < whole && one
        ? Array.from({ length: Math.round(whole - sum) }, (_, i) => <span key={`_${i}`} className="b-part b-nothing" />)
        : sum < whole && <span className="b-part b-nothing" style={{ flexGrow: 1 - sum / whole }} />}
    </div>
  );
}

export function Legend(p: { items: { kind: PartKind; label: string }[] }): ReactNode {
  return (
    <ul className="b-legend" aria-hidden="true">
      {p.items.map((i) => (
        <li key={i.kind}>
          <span className={`b-swatch b-${i.kind}`} />
          {i.label}
        </li>
      ))}
    </ul>
  );
}
