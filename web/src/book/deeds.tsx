/*
 * What can be done to a booking: extend, change, cancel, claim, approve, reject. Each is a change of its spec that the
 * server may refuse; which ones make sense is by its phase, which are offered by the rights of who looks (rights).
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Form, FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import { useBooking } from '../app/booking.tsx';
import { useScope } from '../app/scope.tsx';
import { HOUR, MINUTE, rangeText, rfc3339 } from '../calendar/zone.ts';
import { patchObject } from '../data/client.ts';
import { reservations } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { length } from '../ui/time.ts';
import { ErrorText, toast, toastError } from '../ui/toasts.tsx';
import { useCheck } from './check.ts';
import type { Deed } from './phase.ts';
import { useOffered } from './rights.ts';
import { RUNS, type Reservation } from './types.ts';

export const deedText = (d: Deed, r: Reservation): string =>
  d === 'cancel' ? (RUNS.has(r.status?.phase ?? '') ? B.mine.endNow : B.mine.end)
    : { extend: B.mine.extend, change: B.mine.change, claim: B.mine.claim, approve: B.mine.approve, reject: B.mine.reject }[d];

const patchSpec = (r: Reservation, spec: unknown): Promise<Reservation> =>
  patchObject(reservations, r.metadata.name, r.metadata.namespace, { spec });

/* ---- extend ---- */

const STEPS = [30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];

function ExtendDialog({ of: r, onClose }: { of: Reservation; onClose: () => void }) {
  const { zone } = useScope();
  const [by, setBy] = React.useState(HOUR);
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const start = Date.parse(r.spec.start), end = Date.parse(r.status?.end ?? r.spec.end), until = end + by;
  const { status: _s, ...rest } = r;
  const check = useCheck(r.metadata.namespace, { ...rest.spec, end: rfc3339(until), name: r.metadata.name }, [r.metadata.resourceVersion]);
  const send = () => {
    setBusy(true);
    patchSpec(r, { end: rfc3339(until) }).then(() => {
      toast(B.mine.extended(rangeText(start, until, zone)));
      onClose();
    }, (e: unknown) => {
      setError(e);
      setBusy(false);
    });
  };
  return (
    <Modal isOpen onClose={onClose} variant="small" aria-labelledby="extend-title" data-testid="extend-dialog">
      <ModalHeader title={B.mine.extendTitle(r.metadata.name)} labelId="extend-title" description={B.mine.extendLead} />
      <ModalBody>
        <div className="bk-done">
          <div className="bk-inline">
            <span>{B.mine.extendBy}</span>
            <ToggleGroup aria-label={B.mine.extendBy}>
              {STEPS.map((s) => (
                <ToggleGroupItem key={s} text={length(s)} buttonId={`extend-${s / MINUTE}`} isSelected={s === by}
                  onChange={() => {
                    setBy(s);
                    setError(undefined);
                  }} />
              ))}
            </ToggleGroup>
          </div>
          <p>{B.mine.extendTo(rangeText(start, until, zone))}</p>
          <div aria-live="polite">
            {error !== undefined ? <Alert component="p" isInline variant="danger" title={B.mine.failed}><ErrorText error={error} /></Alert>
              : check.error ? <Alert component="p" isInline variant="warning" title={B.book.cannotCheck}><ErrorText error={check.error} /></Alert>
                : check.status ? (
                  <Alert component="p" isInline variant={check.status.fits ? 'success' : 'warning'}
                    title={check.status.fits ? B.mine.extendFits : B.mine.extendNot}>{check.status.message}</Alert>
                ) : <p className="bk-checking"><Spinner size="md" aria-label={B.book.checking} /> {B.book.checking}</p>}
          </div>
        </div>
      </ModalBody>
      <ModalFooter>
        <Button variant="primary" onClick={send} isLoading={busy} isDisabled={busy || check.status?.fits === false}
          data-testid="extend-submit">{B.mine.extendDo}</Button>
        <Button variant="link" onClick={onClose}>{B.cancel}</Button>
      </ModalFooter>
    </Modal>
  );
}

/* ---- cancel and reject: with a reason ---- */

interface ReasonProps {
  title: string;
  lead: string;
  more?: string;
  action: string;
  required?: boolean;
  send: (reason: string) => Promise<unknown>;
  done: string;
  onClose: () => void;
}

function ReasonDialog({ title, lead, more, action, required, send, done, onClose }: ReasonProps) {
  const [reason, setReason] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const go = () => {
    setBusy(true);
    send(reason.trim()).then(() => {
      toast(done);
      onClose();
    }, (e: unknown) => {
      setError(e);
      setBusy(false);
    });
  };
  return (
    <Modal isOpen onClose={onClose} variant="small" aria-labelledby="reason-title" data-testid="reason-dialog">
      <ModalHeader title={title} labelId="reason-title" description={lead} />
      <ModalBody>
        {more && <Alert component="p" isInline isPlain variant="warning" title={more} />}
        <Form onSubmit={(e) => {
          e.preventDefault();
          if (!required || reason.trim()) {
            go();
          }
        }}>
          <FormGroup label={B.mine.reason} fieldId="reason" isRequired={required ?? false}>
            <TextInput id="reason" value={reason} maxLength={160} isRequired={required ?? false} onChange={(_e, v) => setReason(v)} />
          </FormGroup>
        </Form>
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
      </ModalBody>
      <ModalFooter>
        <Button variant="danger" onClick={go} isLoading={busy} isDisabled={busy || (required && !reason.trim())}
          data-testid="reason-submit">{action}</Button>
        <Button variant="link" onClick={onClose}>{B.mine.keep}</Button>
      </ModalFooter>
    </Modal>
  );
}

/* ---- all of them ---- */

export function useDeeds(): { start: (d: Deed, r: Reservation) => void; dialog: React.ReactNode } {
  const booking = useBooking();
  const [open, setOpen] = React.useState<{ deed: Deed; r: Reservation } | undefined>();
  const close = () => setOpen(undefined);
  const start = (deed: Deed, r: Reservation) => {
    if (deed === 'change') {
      booking.open({ edit: r });
    } else if (deed === 'claim') {
      patchSpec(r, { claim: true }).then(() => toast(B.mine.claimed), (e: unknown) => toastError(B.mine.failed, e));
    } else if (deed === 'approve') {
      patchSpec(r, { approval: { decision: 'approve' } })
        .then(() => toast(B.mine.approved), (e: unknown) => toastError(B.mine.failed, e));
    } else {
      setOpen({ deed, r });
    }
  };
  let dialog: React.ReactNode = null;
  if (open?.deed === 'extend') {
    dialog = <ExtendDialog of={open.r} onClose={close} />;
  } else if (open?.deed === 'cancel') {
    const runs = RUNS.has(open.r.status?.phase ?? '');
    dialog = (
      <ReasonDialog title={B.mine.cancelTitle(open.r.metadata.name)} lead={B.mine.cancelLead} action={B.mine.cancelDo}
        {...(runs ? { more: B.mine.cancelRuns } : {})} done={B.mine.cancelled} onClose={close}
        send={(reason) => patchSpec(open.r, { cancel: reason ? { reason } : {} })} />
    );
  } else if (open?.deed === 'reject') {
    dialog = (
      <ReasonDialog title={B.mine.rejectTitle(open.r.metadata.name)} lead={B.mine.rejectLead} action={B.mine.reject} required
        done={B.mine.rejected} onClose={close} send={(reason) => patchSpec(open.r, { approval: { decision: 'reject', reason } })} />
    );
  }
  return { start, dialog };
}

export function DeedButtons({ r, start }: { r: Reservation; start: (d: Deed, r: Reservation) => void }) {
  const offered = useOffered([r]);
  return (
    <>
      {offered.deeds(r).map((d) => (
        <Button key={d} variant={d === 'claim' || d === 'approve' ? 'primary' : 'secondary'}
          isDanger={d === 'cancel' || d === 'reject'} onClick={() => start(d, r)} data-testid={`deed-${d}`}>{deedText(d, r)}</Button>
      ))}
    </>
  );
}

/* Why there are fewer buttons than one would look for. */
export function DeedWhy({ r }: { r: Reservation }) {
  const why = useOffered([r]).why(r);
  return why ? <p className="bk-faint" data-testid="deed-why">{why}</p> : null;
}
