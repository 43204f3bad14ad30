/* Bookings whose place is held until somebody decides. */
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import CheckIcon from '@patternfly/react-icons/dist/esm/icons/calendar-check-icon';
import { Link, href } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { ownerOf, startOf, endOf } from '../book/bookings.tsx';
import { hoursOf, hoursText } from '../book/cost.ts';
import { useDeeds } from '../book/deeds.tsx';
import { linesText } from '../book/draft.ts';
import type { Deed } from '../book/phase.ts';
import { useOffered, type Offered } from '../book/rights.ts';
import { rangeText } from '../calendar/zone.ts';
import { useList } from '../data/hooks.ts';
import { reservations } from '../data/kinds.ts';
import type { Reservation } from '../data/types.ts';
import { B } from '../strings.ts';
import { Empty, Ready } from '../ui/states.tsx';
import { moment } from '../ui/time.ts';

const t = B.admin.approvals;

function Decide({ r, offered, start }: { r: Reservation; offered: Offered; start: (d: Deed, r: Reservation) => void }) {
  if (!offered.deeds(r).includes('approve')) {
    return <span className="bk-faint">{offered.why(r)}</span>;
  }
  return (
    <>
      <Button variant="primary" size="sm" onClick={() => start('approve', r)}>{B.mine.approve}</Button>{' '}
      <Button variant="secondary" size="sm" isDanger onClick={() => start('reject', r)}>{B.mine.reject}</Button>
    </>
  );
}

export function Approvals() {
  const { project, zone } = useScope();
  const all = useList(reservations, project);
  const deeds = useDeeds();
  const list = all.items.filter((r) => r.status?.phase === 'PendingApproval').sort((a, b) => startOf(a) - startOf(b));
  const offered = useOffered(list);
  return (
    <Ready of={all} what={t.what}>
      {list.length === 0 ? <Empty title={t.none} icon={CheckIcon}>{t.noneHow}</Empty> : (
        <table className="bk-table bk-stack">
          <caption className="b-hidden">{B.admin.tabs.approvals}</caption>
          <thead>
            <tr>
              <th scope="col">{B.mine.when}</th>
              <th scope="col">{B.mine.resources}</th>
              <th scope="col">{B.mine.purpose}</th>
              <th scope="col">{B.mine.project}</th>
              <th scope="col">{B.mine.owner}</th>
              <th scope="col">{B.mine.cost}</th>
              <th scope="col"><span className="b-hidden">{B.admin.approvals.decision}</span></th>
            </tr>
          </thead>
          <tbody>
            {list.map((r) => (
              <tr key={r.metadata.uid ?? r.metadata.name}>
                <th scope="row">
                  <Link to={href('bookings', r.metadata.namespace ?? '', r.metadata.name)}>{rangeText(startOf(r), endOf(r), zone)}</Link>
                  {r.status?.nextEvent?.at && <span className="bk-sub">{B.mine.nextEvent(r.status.nextEvent.type ?? '', moment(r.status.nextEvent.at, zone))}</span>}
                </th>
                <td data-label={B.mine.resources}>{linesText(r.spec.lines)}</td>
                <td data-label={B.mine.purpose}>{r.spec.purpose || B.dash}</td>
                <td data-label={B.mine.project}>{r.metadata.namespace}</td>
                <td data-label={B.mine.owner}>{ownerOf(r) || B.dash}</td>
                <td data-label={B.mine.cost}>{hoursOf(r.status, 'quoted') !== undefined ? B.book.gpuHours(hoursText(hoursOf(r.status, 'quoted') ?? '')) : B.dash}</td>
                <td className="bk-actions">
                  <Decide r={r} offered={offered} start={deeds.start} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {deeds.dialog}
    </Ready>
  );
}
