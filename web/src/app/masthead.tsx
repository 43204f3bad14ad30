// The bar at the top: where we are (project), how times are shown (zone), whether the page is current, the theme, and
// the account.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Dropdown, DropdownGroup, DropdownItem, DropdownList } from '@patternfly/react-core/dist/esm/components/Dropdown';
import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import {
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
} from '@patternfly/react-core/dist/esm/components/Masthead';
import { MenuFooter } from '@patternfly/react-core/dist/esm/components/Menu';
import { MenuToggle } from '@patternfly/react-core/dist/esm/components/MenuToggle';
import { PageToggleButton } from '@patternfly/react-core/dist/esm/components/Page';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import { Tooltip } from '@patternfly/react-core/dist/esm/components/Tooltip';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import DesktopIcon from '@patternfly/react-icons/dist/esm/icons/desktop-icon';
import GlobeIcon from '@patternfly/react-icons/dist/esm/icons/globe-icon';
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import UserIcon from '@patternfly/react-icons/dist/esm/icons/user-icon';
import { useEffect, useMemo, useState, type FormEvent, type ReactNode } from 'react';
import { useLive, useNow } from '../data/hooks.ts';
import { strings } from '../strings.ts';
import { announce } from '../ui/announce.tsx';
import { Picker, type Choice } from '../ui/picker.tsx';
import { clock, offsetName } from '../ui/time.ts';
import { toastError } from '../ui/toasts.tsx';
import { useBooking } from './booking.tsx';
import { BASE, onInnerClick } from './router.tsx';
import { useScope } from './scope.tsx';
import { useSession } from './session.tsx';
import { setTheme, useMedia, useTheme, type Theme } from './theme.ts';

const s = strings.shell;

export function ProjectPicker(p: { full?: boolean }): ReactNode {
  const { project, setProject, projects, mayList, mayAll } = useScope();
  const [typed, setTyped] = useState('');
  const choices = useMemo<Choice[]>(() => {
    const all = projects.map((n) => ({ value: n, label: n }));
    if (project && !projects.includes(project)) {
      all.unshift({ value: project, label: project });
    }
    return mayAll || !project ? [{ value: '', label: s.allProjects }, ...all] : all;
  }, [projects, project, mayAll]);
  return (
    <Picker
      label={s.project}
      value={project ?? ''}
      shown={project ?? s.allProjects}
      choices={choices}
      search={s.findProject}
      none={s.noProject}
      icon={<CubesIcon />}
      full={p.full ?? false}
      onPick={(v) => setProject(v || undefined)}
      {...(mayList
        ? {}
        : {
            footer: (close: () => void) => (
              <MenuFooter>
                <form
                  className="b-type-project"
                  onSubmit={(e: FormEvent) => {
                    e.preventDefault();
                    if (typed.trim()) {
                      setProject(typed.trim());
                      close();
                    }
                  }}
                >
                  <p>{s.typeProject}</p>
                  <div>
                    <TextInput aria-label={s.project} value={typed} onChange={(_e, v) => setTyped(v)} />
                    <Button type="submit" variant="secondary">
                      {s.open}
                    </Button>
                  </div>
                </form>
              </MenuFooter>
            ),
          })}
    />
  );
}

export function ZonePicker(p: { full?: boolean }): ReactNode {
  const { zone, browserZone, setZone } = useScope();
  const now = useNow(60_000);
  const choices = useMemo<Choice[]>(() => {
    const all = Intl.supportedValuesOf('timeZone').filter((z) => z !== browserZone && z !== 'UTC');
    return [
      { value: browserZone, label: s.zoneHere(browserZone), description: offsetName(browserZone, now) },
      ...(browserZone === 'UTC' ? [] : [{ value: 'UTC', label: 'UTC' }]),
      ...all.map((z) => ({ value: z, label: z.replaceAll('_', ' '), description: offsetName(z, now) })),
    ];
  }, [browserZone, now]);
  const offset = offsetName(zone, now);
  return (
    <Picker
      label={s.zone}
      value={zone}
      shown={
        <>
          {clock(now, zone)} <span className="b-quiet">{offset}</span>
        </>
      }
      choices={choices}
      search={s.findZone}
      none={strings.states.none}
      icon={<GlobeIcon />}
      plain
      full={p.full ?? false}
      onPick={(v) => setZone(v === browserZone ? undefined : v)}
    />
  );
}

export function ThemeSwitch(): ReactNode {
  const theme = useTheme();
  const one = (t: Theme, label: string, icon: ReactNode): ReactNode => (
    <ToggleGroupItem
      icon={icon}
      aria-label={label}
      title={label}
      buttonId={`theme-${t}`}
      isSelected={theme === t}
      onChange={() => setTheme(t)}
    />
  );
  return (
    <ToggleGroup isCompact aria-label={s.theme}>
      {one('light', s.light, <SunIcon />)}
      {one('dark', s.dark, <MoonIcon />)}
      {one('system', s.system, <DesktopIcon />)}
    </ToggleGroup>
  );
}

function LiveBadge(): ReactNode {
  const live = useLive();
  const { zone } = useScope();
  const stale = live.phase === 'stale';
  const text = stale ? s.stale(clock(live.since ?? Date.now(), zone, true)) : live.phase === 'live' ? s.live : s.loading;
  useEffect(() => {
    if (live.phase !== 'loading') {
      announce(text);
    }
    // Told when it turns, not at every change of words.
  }, [live.phase]);
  return (
    <Tooltip content={stale ? s.staleWhy : s.liveWhy}>
      <Label
        className={`b-live b-live-${live.phase}`}
        color={stale ? 'orange' : live.phase === 'live' ? 'green' : 'grey'}
        variant="outline"
        tabIndex={0}
        icon={<span className="b-live-dot" aria-hidden="true" />}
      >
        <span className="b-live-word">{text}</span>
      </Label>
    </Tooltip>
  );
}

function UserMenu(): ReactNode {
  const { session, signOut } = useSession();
  const [open, setOpen] = useState(false);
  const world = session?.world ? (s.world[session.world] ?? session.world) : '';
  return (
    <Dropdown
      isOpen={open}
      onOpenChange={setOpen}
      onSelect={() => setOpen(false)}
      popperProps={{ position: 'right', appendTo: 'inline' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          variant="plain"
          isExpanded={open}
          onClick={() => setOpen(!open)}
          aria-label={`${s.user}: ${session?.user ?? ''}`}
        >
          <UserIcon />
        </MenuToggle>
      )}
    >
      <DropdownGroup label={`${session?.user ?? ''}${world ? ` · ${world}` : ''}`} className="b-user">
        <DropdownList>
          <DropdownItem
            key="out"
            onClick={() => {
              signOut().catch((e: unknown) => toastError(s.signOut, e));
            }}
          >
            {s.signOut}
          </DropdownItem>
        </DropdownList>
      </DropdownGroup>
    </Dropdown>
  );
}

export function Brand(): ReactNode {
  return (
    <span className="b-brand">
      <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
        <path d="M6 7v15a4 4 0 0 0 4 4h12a4 4 0 0 0 4-4V7" className="b-brand-quay" />
        <rect x="10" y="7" width="5" height="14" rx="1.4" className="b-brand-a" />
        <rect x="17" y="13" width="5" height="8" rx="1.4" className="b-brand-b" />
      </svg>
      <span>{strings.product}</span>
    </span>
  );
}

export function Bar(p: { sidebarOpen: boolean; onSidebar(): void }): ReactNode {
  const { open, may } = useBooking();
  const wide = useMedia('(min-width: 62rem)');
  const middle = useMedia('(min-width: 48rem)');
  return (
    <Masthead display={{ default: 'inline' }} className="b-bar">
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton
            isHamburgerButton
            aria-label={s.menu}
            isSidebarOpen={p.sidebarOpen}
            onSidebarToggle={p.onSidebar}
          />
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component="a" href={`${BASE}/`} onClick={onInnerClick}>
            <Brand />
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <div className="b-bar-row">
          {middle && <ProjectPicker />}
          <span className="b-grow" />
          <LiveBadge />
          {wide && <ZonePicker />}
          {wide && <ThemeSwitch />}
          {middle && may !== false && (
            <Button variant="primary" onClick={() => open()} data-testid="book">
              {s.book}
            </Button>
          )}
          <UserMenu />
        </div>
      </MastheadContent>
    </Masthead>
  );
}

// What the bar has no room for on a small screen.
export function BarRest(): ReactNode {
  const { open, may } = useBooking();
  const wide = useMedia('(min-width: 62rem)');
  const middle = useMedia('(min-width: 48rem)');
  if (wide) {
    return null;
  }
  return (
    <div className="b-bar-rest" role="region" aria-label={s.view}>
      {!middle && may !== false && (
        <Button variant="primary" isBlock onClick={() => open()}>
          {s.book}
        </Button>
      )}
      {!middle && <ProjectPicker full />}
      <ZonePicker full />
      <ThemeSwitch />
    </div>
  );
}
