/*
 * After the booking was sent: what the planner decided, and what to do with it next. A booking that lost a race is
 * told so, with what is still there.
 */
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import { Link, href } from '../app/router.tsx';
import { useObject } from '../data/hooks.ts';
import { reservationSeries, reservations } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { rangeText } from '../calendar/zone.ts';
import { hoursOf, hoursText } from './cost.ts';
import { CopyLine } from './copy.tsx';
import { FeedButton } from './feed.tsx';
import { linesText, type Draft } from './draft.ts';
import type { Alternative, Reservation } from './types.ts';
import { Alternatives } from './verdict.tsx';

export const queueLabel = (r: { metadata: { name: string }; status?: Reservation['status'] }): string =>
  `kueue.x-k8s.io/queue-name: ${r.status?.objects?.localQueue ?? `rsv-${r.metadata.name}`}`;

interface Props {
  draft: Draft;
  onTake: (a: Alternative) => void;
}

export function DoneReservation({ draft, onTake }: Props) {
  const { object } = useObject(reservations, draft.name, draft.project);
  const phase = object?.status?.phase;
  if (!object || !phase) {
    return <p className="bk-checking"><Spinner size="md" aria-label={B.book.deciding} /> {B.book.deciding}</p>;
  }
  if (phase === 'Rejected' || phase === 'Expired') {
    return (
      <>
        <Alert component="p" isInline variant="warning" title={B.book.lost} data-testid="booked-lost">{object.status?.message}</Alert>
        <Alternatives list={object.status?.alternatives ?? []} zone={draft.zone} onTake={onTake} />
      </>
    );
  }
  const waits = phase === 'Waitlisted', asks = phase === 'PendingApproval';
  return (
    <div className="bk-done">
      <Alert component="p" isInline variant={waits || asks ? 'info' : 'success'} data-testid="booked"
        title={waits ? B.book.waits(object.status?.waitlist?.position) : asks ? B.book.asked : B.book.booked}>
        {object.status?.message}
      </Alert>
      <dl className="bk-facts">
        <div><dt>{B.book.when}</dt><dd>{rangeText(draft.start, draft.end, draft.zone)} ({draft.zone})</dd></div>
        <div><dt>{B.book.what}</dt><dd>{linesText(draft.lines)}</dd></div>
        <div><dt>{B.book.project}</dt><dd>{draft.project}</dd></div>
        {hoursOf(object.status, 'quoted') !== undefined && (
          <div><dt>{B.book.cost}</dt><dd>{B.book.gpuHours(hoursText(hoursOf(object.status, 'quoted') ?? ''))}</dd></div>
        )}
      </dl>
      {!waits && (
        <>
          <h2>{B.book.useIt}</h2>
          <p className="bk-faint">{B.book.useItHow}</p>
          <CopyLine text={queueLabel(object)} label={B.copyLabel} />
        </>
      )}
      <div className="bk-inline">
        <FeedButton ns={draft.project} />
        <Link to={href('bookings', draft.project, draft.name)} className="pf-v6-c-button pf-m-link pf-m-inline">{B.book.openIt}</Link>
      </div>
    </div>
  );
}

export function DoneSeries({ draft }: { draft: Draft }) {
  const { object } = useObject(reservationSeries, draft.name, draft.project);
  const made = object?.status?.occurrences;
  const refused = object?.status?.conditions?.find((c) => c.status === 'False');
  if (!object || (!made && !refused)) {
    return <p className="bk-checking"><Spinner size="md" aria-label={B.book.deciding} /> {B.book.deciding}</p>;
  }
  return (
    <div className="bk-done">
      <Alert component="p" isInline variant={refused ? 'warning' : 'success'} data-testid="booked"
        title={refused ? B.book.seriesRefused : B.book.seriesMade(made?.length ?? 0)}>
        {refused?.message}
      </Alert>
      {(object.status?.skipped?.length ?? 0) > 0 && <p>{B.book.seriesSkipped(object.status?.skipped?.length ?? 0)}</p>}
      <div className="bk-inline">
        <FeedButton ns={draft.project} />
        <Link to={href('bookings')} className="pf-v6-c-button pf-m-link pf-m-inline">{B.book.openMine}</Link>
      </div>
    </div>
  );
}

export function DoneActions({ onAgain, onClose }: { onAgain: () => void; onClose: () => void }) {
  return (
    <>
      <Button variant="primary" onClick={onClose}>{B.close}</Button>
      <Button variant="link" onClick={onAgain}>{B.book.another}</Button>
    </>
  );
}
