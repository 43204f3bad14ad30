/*
 * A calendar feed: an address that a calendar program reads by itself. Made when it is first asked for, one for each
 * person and project, and gone when it is revoked.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import CalendarIcon from '@patternfly/react-icons/dist/esm/icons/outlined-calendar-alt-icon';
import { useSession } from '../app/session.tsx';
import { createObject, deleteObject } from '../data/client.ts';
import { useAllowed, useList } from '../data/hooks.ts';
import { calendarFeeds } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { ErrorText } from '../ui/toasts.tsx';
import { CopyLine } from './copy.tsx';
import { randomSalt } from './draft.ts';

export function FeedButton({ ns }: { ns: string }) {
  const user = useSession().session?.user ?? '';
  const [open, setOpen] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const may = useAllowed('create', calendarFeeds, ns);
  const feeds = useList(calendarFeeds, ns, { enabled: open });
  const mine = feeds.items.find((f) => f.spec.scope === 'own' && (f.status?.user === user));
  const making = React.useRef(false);
  const make = () => {
    setOpen(true);
    setError(undefined);
  };
  React.useEffect(() => {
    if (open && feeds.phase === 'live' && !mine && !making.current) {
      making.current = true;
      createObject(calendarFeeds, { metadata: { name: `feed-${randomSalt()}${randomSalt()}`, namespace: ns }, spec: { scope: 'own' } })
        .catch(setError);
    }
  }, [open, feeds.phase, mine, ns]);
  const address = mine?.status?.path ? `${location.origin}${mine.status.path}` : undefined;
  if (may === false) {
    return null;
  }
  if (!open) {
    return <Button variant="secondary" icon={<CalendarIcon />} onClick={make}>{B.feed.add}</Button>;
  }
  return (
    <div className="bk-feed" aria-live="polite">
      {error !== undefined && <Alert component="p" isInline variant="danger" title={B.feed.failed}><ErrorText error={error} /></Alert>}
      {!address && error === undefined && <p className="bk-faint">{B.feed.making}</p>}
      {address && mine && (
        <>
          <p className="bk-faint">{B.feed.how}</p>
          <CopyLine text={address} label={B.feed.copy} />
          <div className="bk-inline">
            <a href={mine.status?.path} download="berth.ics">{B.feed.download}</a>
            <Button variant="link" isInline isDanger onClick={() => {
              deleteObject(calendarFeeds, mine.metadata.name, ns).then(() => setOpen(false), setError);
            }}>{B.feed.revoke}</Button>
          </div>
        </>
      )}
    </div>
  );
}
