/*
 * My bookings: the list, and one of them.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Dropdown, DropdownItem, DropdownList } from '@patternfly/react-core/dist/esm/components/Dropdown';
import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import { MenuToggle } from '@patternfly/react-core/dist/esm/components/MenuToggle';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import CalendarIcon from '@patternfly/react-icons/dist/esm/icons/outlined-calendar-alt-icon';
import EllipsisIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon';
import { useBooking } from '../app/booking.tsx';
import { Link, href, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useSession } from '../app/session.tsx';
import { rangeText } from '../calendar/zone.ts';
import { useList, useNow } from '../data/hooks.ts';
import { reservations } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';
import { useSome } from '../ui/more.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { length } from '../ui/time.ts';
import { BookingDetail } from './detail.tsx';
import { deedText, useDeeds } from './deeds.tsx';
import { linesText } from './draft.ts';
import { FeedButton } from './feed.tsx';
import { MayNotBook } from './maynot.tsx';
import { labelStatus, phaseText, type Deed } from './phase.ts';
import { useOffered } from './rights.ts';
import { FINAL, REQUESTED_BY, type Reservation } from './types.ts';
import './book.css';
import '../calendar/calendar.css';

export function PhaseLabel({ phase }: { phase: string | undefined }) {
  const status = labelStatus(phase);
  return <Label isCompact variant={status ? 'filled' : 'outline'} {...(status ? { status } : { color: 'grey' as const })}>{phaseText(phase)}</Label>;
}

export const ownerOf = (r: Reservation): string => r.metadata.annotations?.[REQUESTED_BY] ?? '';
export const startOf = (r: Reservation): number => Date.parse(r.status?.start ?? r.spec.start);
export const endOf = (r: Reservation): number => Date.parse(r.status?.end ?? r.spec.end);

export function nearText(r: Reservation, now: number): string {
  if (FINAL.has(r.status?.phase ?? '')) {
    return '';
  }
  const start = startOf(r), end = endOf(r);
  return start > now ? B.mine.startsIn(length(start - now)) : end > now ? B.mine.endsIn(length(end - now)) : '';
}

function Actions({ r, deeds, start }: { r: Reservation; deeds: Deed[]; start: (d: Deed, r: Reservation) => void }) {
  const [open, setOpen] = React.useState(false);
  if (deeds.length === 0) {
    return null;
  }
  return (
    <Dropdown isOpen={open} onOpenChange={setOpen} onSelect={() => setOpen(false)} popperProps={{ position: 'right' }}
      shouldFocusToggleOnSelect // a dialog gives the focus back to who had it when it opened
      toggle={(ref) => (
        <MenuToggle ref={ref} variant="plain" isExpanded={open} onClick={() => setOpen(!open)} icon={<EllipsisIcon />}
          aria-label={B.mine.actions(r.metadata.name)} />
      )}>
      <DropdownList>
        {deeds.map((d) => (
          <DropdownItem key={d} isDanger={d === 'cancel' || d === 'reject'} onClick={() => start(d, r)}>{deedText(d, r)}</DropdownItem>
        ))}
      </DropdownList>
    </Dropdown>
  );
}

export function BookingTable({ list, caption, start, owner }: {
  list: Reservation[]; caption: string; start: (d: Deed, r: Reservation) => void; owner: boolean;
}) {
  const { zone } = useScope();
  const now = useNow(30_000);
  const [some, more] = useSome(list);
  const offered = useOffered(list);
  return (
    <>
      <table className="bk-table bk-stack">
        <caption className="b-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{B.mine.when}</th>
            <th scope="col">{B.mine.resources}</th>
            <th scope="col">{B.mine.purpose}</th>
            <th scope="col">{B.mine.project}</th>
            {owner && <th scope="col">{B.mine.owner}</th>}
            <th scope="col">{B.mine.state}</th>
            <th scope="col"><span className="b-hidden">{B.mine.open}</span></th>
          </tr>
        </thead>
        <tbody>
          {some.map((r) => (
            <tr key={r.metadata.uid ?? r.metadata.name} data-testid={`booking-${r.metadata.name}`}>
              <th scope="row">
                <Link to={href('bookings', r.metadata.namespace ?? '', r.metadata.name)}>{rangeText(startOf(r), endOf(r), zone)}</Link>
                <span className="bk-sub">{nearText(r, now)}</span>
              </th>
              <td data-label={B.mine.resources}>{linesText(r.spec.lines)}</td>
              <td data-label={B.mine.purpose}>{r.spec.purpose || B.dash}<span className="bk-sub">{r.metadata.name}</span></td>
              <td data-label={B.mine.project}>{r.metadata.namespace}</td>
              {owner && <td data-label={B.mine.owner}>{ownerOf(r) || B.dash}</td>}
              <td data-label={B.mine.state}>
                <PhaseLabel phase={r.status?.phase} />
                {r.status?.waitlist?.position ? <span className="bk-sub">{B.mine.position(r.status.waitlist.position)}</span> : null}
              </td>
              <td className="bk-actions"><Actions r={r} deeds={offered.deeds(r)} start={start} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

function sorted(list: Reservation[], past: boolean): Reservation[] {
  return list.filter((r) => FINAL.has(r.status?.phase ?? '') === past)
    .sort((a, b) => (past ? startOf(b) - startOf(a) : startOf(a) - startOf(b)));
}

function List() {
  const { project, zone: _z } = useScope();
  const { query } = usePlace();
  const user = useSession().session?.user ?? '';
  const booking = useBooking();
  const all = useList(reservations, project);
  const deeds = useDeeds();
  const past = query.get('show') === 'past', everyone = query.get('whose') === 'all';
  const list = sorted(all.items.filter((r) => everyone || ownerOf(r) === user), past);
  return (
    <Screen title={B.mine.title} lead={B.mine.lead}>
      <div className="bk-page">
        <div className="bk-tools">
          <ToggleGroup aria-label={B.mine.which}>
            <ToggleGroupItem buttonId="mine-ahead" text={B.mine.upcoming} isSelected={!past} onChange={() => setQuery({ show: undefined })} />
            <ToggleGroupItem buttonId="mine-past" text={B.mine.past} isSelected={past} onChange={() => setQuery({ show: 'past' })} />
          </ToggleGroup>
          <ToggleGroup aria-label={B.mine.whose}>
            <ToggleGroupItem buttonId="mine-own" text={B.mine.mine} isSelected={!everyone} onChange={() => setQuery({ whose: undefined })} />
            <ToggleGroupItem buttonId="mine-all" text={B.mine.all} isSelected={everyone} onChange={() => setQuery({ whose: 'all' })} />
          </ToggleGroup>
          <span className="bk-spring" />
          {project && <FeedButton ns={project} />}
        </div>
        <MayNotBook />
        <Ready of={all} what={B.mine.what}>
          {list.length === 0 ? (
            <Empty title={past ? B.mine.nonePast : B.mine.none} icon={CalendarIcon}
              actions={past || booking.may === false ? undefined : <Button variant="primary" onClick={() => booking.open()}>{B.book.action}</Button>}>
              {past || booking.may === false ? undefined : B.mine.noneHow}
            </Empty>
          ) : <BookingTable list={list} caption={past ? B.mine.past : B.mine.upcoming} start={deeds.start} owner={everyone} />}
        </Ready>
      </div>
      {deeds.dialog}
    </Screen>
  );
}

export default function Bookings() {
  const { parts } = usePlace();
  const [, ns, name] = parts;
  return ns && name ? <BookingDetail ns={ns} name={name} /> : <List />;
}
