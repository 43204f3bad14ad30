// The frame of a screen: its title, which takes the focus when the screen is opened, what can be done, and its body.

import { PageSection } from '@patternfly/react-core/dist/esm/components/Page';
import { Title } from '@patternfly/react-core/dist/esm/components/Title';
import { useEffect, useRef, type ReactNode } from 'react';
import { strings } from '../strings.ts';

// The first screen after loading leaves the focus where the browser has it.
let opened = false;

export function Screen(p: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  above?: ReactNode; // e.g. a breadcrumb
  filled?: boolean;
  children: ReactNode;
}): ReactNode {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    document.title = `${p.title} · ${strings.product}`;
  }, [p.title]);
  useEffect(() => {
    if (opened) {
      ref.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    }
    opened = true;
  }, []);
  return (
    <>
      <PageSection className="b-head" hasBodyWrapper={false}>
        <div ref={ref}>
          {p.above}
          <div className="b-head-row">
            <Title headingLevel="h1" size="2xl" tabIndex={-1} className="b-title">
              {p.title}
            </Title>
            {p.actions && <div className="b-head-actions">{p.actions}</div>}
          </div>
          {p.lead && <p className="b-lead">{p.lead}</p>}
        </div>
      </PageSection>
      <PageSection className="b-body" hasBodyWrapper={false} isFilled={p.filled !== false}>
        {p.children}
      </PageSection>
    </>
  );
}
