// Where the page starts.

import '@patternfly/react-core/dist/styles/base.css';
import './style/berth.css';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core/dist/esm/components/EmptyState';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import { StrictMode, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { Boundary } from './app/boundary.tsx';
import { SessionProvider, useSession } from './app/session.tsx';
import { Shell } from './app/shell.tsx';
import { SignIn } from './app/signin.tsx';
import { visible } from './data/live.ts';
import { sharePlaces } from './data/slots.ts';
import { strings } from './strings.ts';

function Door(): ReactNode {
  const { phase, error, retry, session } = useSession();
  // A link signs in whoever opens it, also when somebody is signed in already.
  if (phase === 'out' || location.hash.startsWith('#code=')) {
    return <SignIn />;
  }
  if (phase === 'in') {
    return <Shell key={session?.user} />;
  }
  if (phase === 'failed') {
    return (
      <EmptyState
        titleText={strings.errors.title(strings.product)}
        headingLevel="h1"
        icon={ExclamationCircleIcon}
        status="danger"
      >
        <EmptyStateBody>{error?.message}</EmptyStateBody>
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={retry}>{strings.errors.retry}</Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
    );
  }
  return (
    <div className="b-door">
      <Spinner aria-label={strings.shell.loading} />
    </div>
  );
}

sharePlaces(visible);
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Boundary>
        <SessionProvider>
          <Door />
        </SessionProvider>
      </Boundary>
    </StrictMode>,
  );
}
