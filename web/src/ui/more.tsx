// Of a long list its first part, and a button for the next: for what is seldom long, where rows have no one height.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { useState, type ReactNode } from 'react';
import { strings } from '../strings.ts';
import { announce } from './announce.tsx';

export function useSome<T>(list: readonly T[], step = 200): [readonly T[], ReactNode] {
  const [most, setMost] = useState(step);
  const left = list.length - most;
  if (left <= 0) {
    return [list, null];
  }
  const more = (): void => {
    setMost(most + step);
    announce(strings.common.shownOf(Math.min(most + step, list.length), list.length));
  };
  return [
    list.slice(0, most),
    <p className="b-more" key="more">
      {strings.common.shownOf(most, list.length)}{' '}
      <Button variant="link" isInline onClick={more}>
        {strings.common.showMore(Math.min(step, left))}
      </Button>
    </p>,
  ];
}
