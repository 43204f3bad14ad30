// Keeps a fault in one screen from taking the others with it.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core/dist/esm/components/EmptyState';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import { Component, type ReactNode } from 'react';
import { strings } from '../strings.ts';

export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const e = this.state.error;
    if (!e) {
      return this.props.children;
    }
    // A part that is not there any more: the server was replaced while the page was open.
    const newer = /dynamically imported module|module script failed/i.test(e.message);
    return (
      <EmptyState
        titleText={newer ? strings.errors.newer : strings.errors.screen}
        headingLevel="h1"
        icon={ExclamationCircleIcon}
        status={newer ? 'info' : 'danger'}
      >
        <EmptyStateBody>
          {newer ? null : strings.errors.screenWhy}
          {!newer && <code className="b-said">{e.message}</code>}
        </EmptyStateBody>
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={() => location.reload()}>{strings.errors.reload}</Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
    );
  }
}
