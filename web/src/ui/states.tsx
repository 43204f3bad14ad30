// What a screen shows when there is nothing to show: while it loads, when nothing is there, when it failed, when the
// user may not see it. Each says what the state is and what can be done.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core/dist/esm/components/EmptyState';
import { ExpandableSection } from '@patternfly/react-core/dist/esm/components/ExpandableSection';
import { Skeleton } from '@patternfly/react-core/dist/esm/components/Skeleton';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import LockIcon from '@patternfly/react-icons/dist/esm/icons/lock-icon';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import type { ComponentType, ReactNode } from 'react';
import { useScope } from '../app/scope.tsx';
import { ApiError } from '../data/client.ts';
import type { Phase } from '../data/live.ts';
import { strings } from '../strings.ts';

export function Loading(p: { what: string; lines?: number }): ReactNode {
  return (
    <div className="b-loading" role="status" aria-label={strings.states.loading(p.what)}>
      {Array.from({ length: p.lines ?? 4 }, (_, i) => (
        <Skeleton key={i} height="1.5rem" width={`${92 - ((i * 17) % 40)}%`} />
      ))}
    </div>
  );
}

export function Empty(p: {
  title: string;
  children?: ReactNode;
  icon?: ComponentType;
  actions?: ReactNode;
}): ReactNode {
  return (
    <EmptyState titleText={p.title} headingLevel="h2" icon={p.icon ?? SearchIcon} variant="sm">
      {p.children && <EmptyStateBody>{p.children}</EmptyStateBody>}
      {p.actions && (
        <EmptyStateFooter>
          <EmptyStateActions>{p.actions}</EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}

// Why something could not be read. `cluster`: it belongs to no project, so that picking one does not help.
export function Failure(p: { error: ApiError; what: string; cluster?: boolean; retry?: () => void }): ReactNode {
  const { project } = useScope();
  const e = strings.errors;
  if (p.error.forbidden) {
    return (
      <EmptyState titleText={e.forbidden(p.what)} headingLevel="h2" icon={LockIcon} variant="sm" data-state="forbidden">
        <EmptyStateBody>
          {p.cluster ? e.forbiddenCluster : project ? e.forbiddenHere(project) : e.forbiddenAll}
        </EmptyStateBody>
        <EmptyStateFooter>
          <ExpandableSection toggleText={e.details}>
            <code className="b-said">{p.error.message}</code>
          </ExpandableSection>
        </EmptyStateFooter>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      titleText={p.error.notFound ? e.notServed(p.what) : e.title(p.what)}
      headingLevel="h2"
      icon={ExclamationCircleIcon}
      status={p.error.notFound ? 'info' : 'danger'}
      variant="sm"
      data-state="error"
    >
      <EmptyStateBody>{p.error.notFound ? e.notServedWhy : p.error.message}</EmptyStateBody>
      {p.retry && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button variant="secondary" onClick={p.retry}>
              {e.retry}
            </Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}

export interface Source {
  phase: Phase;
  error: ApiError | undefined;
}

// Shows its children when every source was read; else the state of the worst.
export function Ready(p: {
  of: Source | Source[];
  what: string;
  cluster?: boolean;
  lines?: number;
  children: ReactNode | (() => ReactNode);
}): ReactNode {
  const all = Array.isArray(p.of) ? p.of : [p.of];
  const failed = all.find((s) => s.phase === 'failed');
  if (failed?.error) {
    return <Failure error={failed.error} what={p.what} {...(p.cluster ? { cluster: true } : {})} />;
  }
  if (all.some((s) => s.phase === 'loading')) {
    return <Loading what={p.what} {...(p.lines ? { lines: p.lines } : {})} />;
  }
  return typeof p.children === 'function' ? p.children() : p.children;
}
