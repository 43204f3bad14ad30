// The shell: bar, navigation, and the screen the address names.

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Nav, NavGroup, NavItem, NavList } from '@patternfly/react-core/dist/esm/components/Nav';
import { Page, PageSidebar, PageSidebarBody } from '@patternfly/react-core/dist/esm/components/Page';
import { SkipToContent } from '@patternfly/react-core/dist/esm/components/SkipToContent';
import CalendarIcon from '@patternfly/react-icons/dist/esm/icons/calendar-alt-icon';
import CommentsIcon from '@patternfly/react-icons/dist/esm/icons/comments-icon';
import CheckIcon from '@patternfly/react-icons/dist/esm/icons/calendar-check-icon';
import CatalogIcon from '@patternfly/react-icons/dist/esm/icons/catalog-icon';
import CogIcon from '@patternfly/react-icons/dist/esm/icons/cog-icon';
import KeyIcon from '@patternfly/react-icons/dist/esm/icons/key-icon';
import ListIcon from '@patternfly/react-icons/dist/esm/icons/list-icon';
import ChipIcon from '@patternfly/react-icons/dist/esm/icons/microchip-icon';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import TreeIcon from '@patternfly/react-icons/dist/esm/icons/sitemap-icon';
import HomeIcon from '@patternfly/react-icons/dist/esm/icons/tachometer-alt-icon';
import { lazy, Suspense, useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { useNow } from '../data/hooks.ts';
import { strings } from '../strings.ts';
import { Announcer } from '../ui/announce.tsx';
import { Screen } from '../ui/screen.tsx';
import { Loading } from '../ui/states.tsx';
import { clock, millis } from '../ui/time.ts';
import { Toasts } from '../ui/toasts.tsx';
import { BookingProvider } from './booking.tsx';
import { Boundary } from './boundary.tsx';
import { Bar, BarRest } from './masthead.tsx';
import { href, Link, onInnerClick, usePlace } from './router.tsx';
import { ScopeProvider, useScope } from './scope.tsx';
import { useSession } from './session.tsx';
import { useMedia } from './theme.ts';

interface Entry {
  path: string;
  name: string;
  icon: ComponentType;
  screen: ComponentType;
}

const n = strings.nav;

// Screens read what follows their name in the address themselves (usePlace().parts).
const SEE: Entry[] = [
  { path: '', name: n.overview, icon: HomeIcon, screen: lazy(() => import('../screens/overview.tsx')) },
  { path: 'queues', name: n.queues, icon: TreeIcon, screen: lazy(() => import('../screens/queues.tsx')) },
  { path: 'gpus', name: n.gpus, icon: ChipIcon, screen: lazy(() => import('../screens/gpus.tsx')) },
  { path: 'workloads', name: n.workloads, icon: ListIcon, screen: lazy(() => import('../screens/workloads.tsx')) },
];
const BOOK: Entry[] = [
  { path: 'calendar', name: n.calendar, icon: CalendarIcon, screen: lazy(() => import('../screens/calendar.tsx')) },
  { path: 'bookings', name: n.bookings, icon: CheckIcon, screen: lazy(() => import('../screens/bookings.tsx')) },
];
const SERVE: Entry[] = [
  { path: 'models', name: n.models, icon: CatalogIcon, screen: lazy(() => import('../screens/models.tsx')) },
  { path: 'services', name: n.services, icon: ServerIcon, screen: lazy(() => import('../screens/services.tsx')) },
  { path: 'playground', name: n.playground, icon: CommentsIcon, screen: lazy(() => import('../screens/playground.tsx')) },
  { path: 'keys', name: n.keys, icon: KeyIcon, screen: lazy(() => import('../screens/keys.tsx')) },
];
const RULE: Entry[] = [
  { path: 'admin', name: n.admin, icon: CogIcon, screen: lazy(() => import('../screens/admin.tsx')) },
];
const ALL = [...SEE, ...BOOK, ...SERVE, ...RULE];

const EXPIRES_SOON_MS = 5 * 60_000;

function Expiry(): ReactNode {
  const { session } = useSession();
  const { zone } = useScope();
  const now = useNow(15_000);
  const at = millis(session?.expires);
  if (at === undefined || at - now > EXPIRES_SOON_MS) {
    return null;
  }
  return <Alert component="p" isInline variant="warning" title={strings.shell.expires(clock(at, zone))} />;
}

function NotFound(): ReactNode {
  return (
    <Screen title={strings.errors.notFoundTitle}>
      <Link to={href()}>{strings.errors.toOverview}</Link>
    </Screen>
  );
}

function Sidebar(p: { open: boolean; over: boolean; here: string; onGo(): void }): ReactNode {
  const item = (e: Entry): ReactNode => (
    <NavItem key={e.path} itemId={e.path} isActive={p.here === e.path} to={href(...(e.path ? [e.path] : []))} icon={<e.icon />}
      onClick={(ev) => {
        onInnerClick(ev as unknown as React.MouseEvent<HTMLAnchorElement>);
        p.onGo();
      }}
    >
      {e.name}
    </NavItem>
  );
  return (
    <PageSidebar isSidebarOpen={p.open} id="sidebar" className={p.open && p.over ? 'pf-m-expanded' : ''}>
      <PageSidebarBody>
        {p.open && <BarRest />}
        <Nav aria-label={n.label}>
          <NavList>{SEE.slice(0, 1).map(item)}</NavList>
          <NavGroup title={n.booking}>{BOOK.map(item)}</NavGroup>
          <NavGroup title={n.serving}>{SERVE.map(item)}</NavGroup>
          <NavGroup title={n.see}>{[...SEE.slice(1), ...RULE].map(item)}</NavGroup>
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  );
}

function Frame(): ReactNode {
  const place = usePlace();
  const wide = useMedia('(min-width: 75rem)');
  const [open, setOpen] = useState(wide);
  const here = place.parts[0] ?? '';
  const entry = ALL.find((e) => e.path === here);
  useEffect(() => setOpen(wide), [wide]);
  const over = open && !wide; // it lies over the screen: Escape and a click beside it close it
  useEffect(() => {
    if (!over) {
      return;
    }
    const key = (e: KeyboardEvent): void => {
      if (e.key === 'Escape') {
        setOpen(false);
        document.querySelector<HTMLElement>('.b-bar button')?.focus();
      }
    };
    document.addEventListener('keydown', key);
    return () => document.removeEventListener('keydown', key);
  }, [over]);
  const Chosen = entry?.screen ?? NotFound;
  return (
    <Page
      mainContainerId="main"
      mainTabIndex={-1}
      masthead={<Bar sidebarOpen={open} onSidebar={() => setOpen(!open)} />}
      sidebar={
        <Sidebar
          open={open}
          over={!wide}
          here={entry ? here : '-'}
          onGo={() => {
            if (!wide) {
              setOpen(false);
            }
          }}
        />
      }
      skipToContent={<SkipToContent href="#main">{strings.shell.skip}</SkipToContent>}
    >
      {over && <div className="b-backdrop" onClick={() => setOpen(false)} />}
      <Expiry />
      <Boundary key={here}>
        <Suspense fallback={<Loading what={entry?.name ?? ''} lines={8} />}>
          <Chosen />
        </Suspense>
      </Boundary>
    </Page>
  );
}

export function Shell(): ReactNode {
  return (
    <ScopeProvider>
      <BookingProvider>
        <Frame />
        <Toasts />
        <Announcer />
      </BookingProvider>
    </ScopeProvider>
  );
}
