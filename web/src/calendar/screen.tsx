/*
 * Calendar: a day, a week or a month of every kind of GPU and slice; what is free, what is booked, and where to book.
 * What the address holds (view, day, how it is shown) can be bookmarked and shared.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import AngleLeftIcon from '@patternfly/react-icons/dist/esm/icons/angle-left-icon';
import AngleRightIcon from '@patternfly/react-icons/dist/esm/icons/angle-right-icon';
import { navigate, href, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useSession } from '../app/session.tsx';
import { useList, useNow } from '../data/hooks.ts';
import { availabilities, capacityWindows } from '../data/kinds.ts';
import type { Availability } from '../data/types.ts';
import { useBooking } from '../app/booking.tsx';
import { MayNotBook } from '../book/maynot.tsx';
import { B } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { useMedia } from '../app/theme.ts';
import { Gantt } from './gantt.tsx';
import { makeGroups, type Bar, type Row } from './rows.ts';
import { makeScale, movePeriod, offsetsText, VIEWS, type Scale, type View } from './scale.ts';
import { TableTwin } from './table_twin.tsx';
import { HOUR, MINUTE, fromInput, rfc3339, toInput } from './zone.ts';
import { availabilityQuery } from './query.ts';
import './calendar.css';

const STEP: Record<View, number> = { day: 30 * MINUTE, week: 3 * HOUR, month: 24 * HOUR };

/* What the address says, or what suits the width of the page. */
function useView(zone: string, now: number): { view: View; at: number; table: boolean } {
  const { query } = usePlace();
  const narrow = useMedia('(max-width: 48rem)');
  const asked = query.get('view') as View | null;
  const view = asked && VIEWS.includes(asked) ? asked : narrow ? 'day' : 'week';
  const day = query.get('day');
  const at = (day && /^\d{4}-\d{2}-\d{2}$/.test(day) ? fromInput(`${day}T12:00`, zone) : undefined) ?? now;
  return { view, at, table: query.get('as') === 'table' };
}

function Tools({ scale, view, table, go }: {
  scale: Scale; view: View; table: boolean; go: (at: number | undefined) => void;
}) {
  return (
    <div className="bk-bar-tools">
      <Button variant="secondary" onClick={() => go(undefined)}>{B.cal.today}</Button>
      <span>
        <Button variant="plain" aria-label={B.cal.previous(B.cal.view[view])} icon={<AngleLeftIcon />}
          onClick={() => go(movePeriod(view, scale.from, -1, scale.zone))} />
        <Button variant="plain" aria-label={B.cal.next(B.cal.view[view])} icon={<AngleRightIcon />}
          onClick={() => go(movePeriod(view, scale.from, 1, scale.zone))} />
      </span>
      <div className="bk-period" aria-live="polite">
        <h2>{scale.title}</h2>
        <span className="bk-offset" data-testid="cal-offset">{B.cal.zoneOf(scale.zone, offsetsText(scale))}</span>
      </div>
      <span className="bk-spring" />
      <ToggleGroup aria-label={B.cal.viewLabel}>
        {VIEWS.map((v) => (
          <ToggleGroupItem key={v} buttonId={`cal-${v}`} text={B.cal.view[v]} isSelected={v === view}
            onChange={() => setQuery({ view: v })} />
        ))}
      </ToggleGroup>
      <ToggleGroup aria-label={B.cal.showAs}>
        <ToggleGroupItem buttonId="cal-chart" text={B.cal.timeline} isSelected={!table} onChange={() => setQuery({ as: undefined })} />
        <ToggleGroupItem buttonId="cal-table" text={B.cal.table} isSelected={table} onChange={() => setQuery({ as: 'table' })} />
      </ToggleGroup>
    </div>
  );
}

function Legend() {
  const entries: [string, Record<string, string>, string][] = [
    ['bk-bar bk-known bk-mine', { 'data-tone': 'firm' }, B.cal.legend.mine],
    ['bk-bar bk-known', { 'data-tone': 'firm' }, B.cal.legend.known],
    ['bk-bar', { 'data-tone': 'busy' }, B.cal.legend.busy],
    ['bk-bar bk-known', { 'data-tone': 'held' }, B.cal.legend.held],
    ['bk-free-run', { 'data-free': 'all' }, B.cal.legend.all],
    ['bk-free-run', { 'data-free': 'some' }, B.cal.legend.some],
    ['bk-free-run', { 'data-free': 'none' }, B.cal.legend.none],
    ['bk-closed', {}, B.cal.legend.closed],
  ];
  return (
    <ul className="bk-legend bk-colors" aria-label={B.cal.legend.label}>
      {entries.map(([cls, data, text]) => <li key={text}><i className={cls} {...data} aria-hidden="true" />{text}</li>)}
    </ul>
  );
}

export default function CalendarScreen() {
  const { zone } = useScope();
  const user = useSession().session?.user ?? '';
  const booking = useBooking();
  const now = useNow(30_000);
  const { view, at, table } = useView(zone, now);
  const minute = Math.floor(now / MINUTE) * MINUTE;
  const scale = React.useMemo(() => makeScale(view, at, zone, minute),
    // The period and today's mark, not each tick of the clock.
    [view, toInput(at, zone).slice(0, 10), zone, toInput(minute, zone).slice(0, 10)]);
  const windows = useList(capacityWindows);
  const answer = useList(availabilities, undefined, { query: availabilityQuery(scale.from, scale.to, STEP[view]) });
  /* While another period is on its way the old one stays, so that the page does not jump. */
  const kept = React.useRef<Availability[] | undefined>(undefined);
  kept.current = answer.loaded ? answer.items : kept.current;
  const data = kept.current;
  const groups = React.useMemo(
    () => makeGroups(data ?? [], windows.items, scale.from, scale.to, (b) => b.owner === user),
    [data, windows.items, scale, user]);

  const go = (to: number | undefined) =>
    setQuery({ day: to === undefined ? undefined : toInput(to, zone).slice(0, 10), view });
  const open = (bar: Bar) => {
    if (bar.namespace && bar.name) {
      navigate(href('bookings', bar.namespace, bar.name));
    }
  };
  const book = (from: number, to: number, row: Row) => booking.open({
    start: rfc3339(from), end: rfc3339(to), lines: [{ resource: row.resource, flavor: row.flavor, count: 1 }],
  });

  return (
    <Screen title={B.cal.title} lead={booking.may === false ? B.cal.leadLook : B.cal.lead}>
      <div className="bk-page">
        <MayNotBook />
        <Tools scale={scale} view={view} table={table} go={go} />
        <p id="cal-help" className="b-hidden">{booking.may === false ? B.cal.helpLook : B.cal.help}</p>
        {answer.error && !answer.loaded ? <Failure error={answer.error} what={B.cal.what} cluster />
          : !data ? <Loading what={B.cal.what} lines={8} />
            : groups.length === 0 ? <Empty title={B.cal.emptyTitle}>{B.cal.empty}</Empty>
              : table ? <TableTwin scale={scale} groups={groups} onOpen={open} />
                : (
                  <>
                    <Gantt scale={scale} groups={groups} now={now} describedBy="cal-help" onOpen={open}
                      onBook={booking.may === false ? undefined : book}
                      onMove={(by) => go(movePeriod(view, scale.from, by, zone))} />
                    <Legend />
                  </>
                )}
      </div>
    </Screen>
  );
}
