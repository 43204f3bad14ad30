/*
 * Planned windows: maintenance, closures, added capacity; with the bookings that are in the way.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Checkbox } from '@patternfly/react-core/dist/esm/components/Checkbox';
import { Form, FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { useScope } from '../app/scope.tsx';
import { Link, href } from '../app/router.tsx';
import { randomSalt } from '../book/draft.ts';
import type { CapacityWindow } from '../book/types.ts';
import { HOUR, addDays, fromInput, instantOf, rangeText, rfc3339, toInput, wallOf } from '../calendar/zone.ts';
import { createObject, deleteObject } from '../data/client.ts';
import { useAllowed, useList, useNow } from '../data/hooks.ts';
import { availabilities, capacityWindows, nodes, reservations } from '../data/kinds.ts';
import { availabilityQuery } from '../calendar/query.ts';
import { B } from '../strings.ts';
import { Empty, Ready } from '../ui/states.tsx';
import { ErrorText, toast, toastError } from '../ui/toasts.tsx';

const t = B.admin.windows;

interface WindowConflict {
  namespace?: string;
  name?: string;
  start?: string;
  end?: string;
  text?: string;
}

function scopeText(w: CapacityWindow): string {
  const s = w.spec;
  if (s.nodes?.length) {
    return s.nodes.join(', ');
  }
  return [s.count ? `${s.count} ×` : '', s.resource, s.flavor].filter(Boolean).join(' ') || t.everything;
}

function Conflicts({ list, zone }: { list: WindowConflict[]; zone: string }) {
  if (list.length === 0) {
    return null;
  }
  return (
    <details className="bk-details">
      <summary>{t.conflictCount(list.length)}</summary>
      <ul className="bk-list">
        {list.map((c, i) => (
          <li key={i}>
            {c.name && c.namespace ? <Link to={href('bookings', c.namespace, c.name)}>{c.name}</Link> : null}{' '}
            {[c.start && c.end ? rangeText(Date.parse(c.start), Date.parse(c.end), zone) : '', c.text].filter(Boolean).join(', ')}
          </li>
        ))}
      </ul>
    </details>
  );
}

/* ---- a new one ---- */

interface Plan {
  type: CapacityWindow['spec']['type'];
  start: number;
  end: number;
  nodes: string;
  flavor: string;
  resource: string;
  count: string;
  reason: string;
  force: boolean;
}

function specOf(p: Plan): CapacityWindow['spec'] {
  const spec: CapacityWindow['spec'] = { type: p.type, start: rfc3339(p.start), end: rfc3339(p.end) };
  const names = p.nodes.split(/[\s,]+/).filter(Boolean);
  if (names.length > 0) {
    spec.nodes = names;
  } else if (p.resource) {
    spec.resource = p.resource;
    if (p.flavor) {
      spec.flavor = p.flavor;
    }
    spec.count = Number(p.count) || 1;
  }
  if (p.reason.trim()) {
    spec.reason = p.reason.trim();
  }
  if (p.force) {
    spec.force = true;
  }
  return spec;
}

function PlanDialog({ onClose }: { onClose: () => void }) {
  const { zone } = useScope();
  const now = useNow(60_000);
  const [plan, setPlan] = React.useState<Plan>(() => {
    const nine = instantOf(wallOf(addDays(now, 1, zone), zone) + 8 * HOUR, zone);
    return { type: 'Maintenance', start: nine, end: nine + 4 * HOUR, nodes: '', flavor: '', resource: '', count: '1', reason: '', force: false };
  });
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const machines = useList(nodes);
  const seen = useList(reservations);
  const kinds = useList(availabilities, undefined,
    { query: availabilityQuery(plan.start, plan.end, Math.max(HOUR, plan.end - plan.start)), enabled: plan.end > plan.start }).items;
  const set = (d: Partial<Plan>) => {
    setPlan((p) => ({ ...p, ...d }));
    setError(undefined);
  };
  const spec = specOf(plan);
  /* Who would be in the way, as far as bookings are seen: those whose plan lies there, or that ask for such units. */
  const inWay = plan.type === 'Added' ? [] : seen.items.filter((r) => {
    if (!['Confirmed', 'PendingApproval', 'Offered', 'Preparing', 'Active', 'Degraded'].includes(r.status?.phase ?? '')) {
      return false;
    }
    const a = Date.parse(r.status?.start ?? r.spec.start), b = Date.parse(r.status?.end ?? r.spec.end);
    if (!(a < plan.end && b > plan.start)) {
      return false;
    }
    return !spec.nodes || (r.status?.plan ?? []).some((x) => x.node && spec.nodes?.includes(x.node));
  });
  const bad = !(plan.end > plan.start) || (!spec.nodes && !spec.resource);
  const send = () => {
    setBusy(true);
    createObject(capacityWindows, { metadata: { name: `${plan.type.toLowerCase()}-${toInput(plan.start, zone).slice(5, 10).replace('-', '')}-${randomSalt()}` }, spec })
      .then(() => {
        toast(t.planned);
        onClose();
      }, (e: unknown) => {
        setError(e);
        setBusy(false);
      });
  };
  const time = (id: 'start' | 'end', label: string) => (
    <FormGroup label={label} fieldId={`win-${id}`}>
      <TextInput id={`win-${id}`} type="datetime-local" value={toInput(plan[id], zone)} validated={plan.end > plan.start ? 'default' : 'error'}
        onChange={(_e, v) => {
          const at = fromInput(v, zone);
          if (at !== undefined) {
            set({ [id]: at });
          }
        }} />
    </FormGroup>
  );
  return (
    <Modal isOpen onClose={onClose} variant="medium" aria-labelledby="win-title" data-testid="window-dialog">
      <ModalHeader title={t.add} labelId="win-title" description={t.addLead} />
      <ModalBody tabIndex={0} aria-label={t.add}>
        <Form id="win-form" onSubmit={(e) => {
          e.preventDefault();
          if (!bad) {
            send();
          }
        }}>
          <div className="bk-two">
            <FormGroup label={t.type} fieldId="win-type">
              <FormSelect id="win-type" value={plan.type} onChange={(_e, v) => set({ type: v as Plan['type'] })}>
                {Object.entries(t.types).map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
              </FormSelect>
            </FormGroup>
            <FormGroup label={t.reason} fieldId="win-reason">
              <TextInput id="win-reason" value={plan.reason} maxLength={160} onChange={(_e, v) => set({ reason: v })} />
            </FormGroup>
            {time('start', B.book.from)}
            {time('end', B.book.to)}
            <FormGroup label={t.nodes} fieldId="win-nodes">
              <TextInput id="win-nodes" value={plan.nodes} list="win-node-names" onChange={(_e, v) => set({ nodes: v })} placeholder={t.nodesHint} />
              <datalist id="win-node-names">{machines.items.map((n) => <option key={n.metadata.name} value={n.metadata.name} />)}</datalist>
            </FormGroup>
            {!plan.nodes.trim() && (
              <>
                <FormGroup label={t.resource} fieldId="win-resource">
                  <FormSelect id="win-resource" value={plan.resource && `${plan.flavor}|${plan.resource}`}
                    onChange={(_e, v) => set({ flavor: v.split('|')[0] ?? '', resource: v.split('|')[1] ?? '' })}>
                    <FormSelectOption value="" label={B.dash} />
                    {kinds.map((k) => <FormSelectOption key={`${k.flavor}|${k.resource}`} value={`${k.flavor}|${k.resource}`} label={`${k.resource}, ${k.flavor}`} />)}
                  </FormSelect>
                </FormGroup>
                <FormGroup label={t.count} fieldId="win-count">
                  <TextInput id="win-count" type="number" min={1} value={plan.count} onChange={(_e, v) => set({ count: v })} />
                </FormGroup>
              </>
            )}
          </div>
          <Checkbox id="win-force" label={t.force} description={t.forceHow} isChecked={plan.force} onChange={(_e, v) => set({ force: v })} />
        </Form>
        <div aria-live="polite">
          {inWay.length > 0 && (
            <Alert component="p" isInline variant="warning" title={t.conflictCount(inWay.length)}>
              <ul className="bk-list">
                {inWay.slice(0, 10).map((r) => (
                  <li key={r.metadata.uid}>{r.metadata.namespace}/{r.metadata.name}, {rangeText(Date.parse(r.spec.start), Date.parse(r.spec.end), zone)}</li>
                ))}
              </ul>
            </Alert>
          )}
        </div>
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
      </ModalBody>
      <ModalFooter>
        <Button variant="primary" type="submit" form="win-form" isDisabled={bad || busy} isLoading={busy}>{t.plan}</Button>
        <Button variant="link" onClick={onClose}>{B.cancel}</Button>
      </ModalFooter>
    </Modal>
  );
}

/* ---- the list ---- */

export function Windows() {
  const { zone } = useScope();
  const all = useList(capacityWindows);
  const mayCreate = useAllowed('create', capacityWindows), mayDelete = useAllowed('delete', capacityWindows);
  const [open, setOpen] = React.useState(false);
  const [doomed, setDoomed] = React.useState<CapacityWindow | undefined>();
  const list = [...all.items].sort((a, b) => Date.parse(a.spec.start) - Date.parse(b.spec.start));
  const add = mayCreate === false ? undefined : <Button variant="primary" onClick={() => setOpen(true)}>{t.add}</Button>;
  const look = mayCreate === false && mayDelete === false && <span className="bk-faint" data-testid="read-only">{B.admin.readOnly}</span>;
  const drop = (w: CapacityWindow) => {
    deleteObject(capacityWindows, w.metadata.name).then(() => toast(B.admin.deleted(w.metadata.name)), (e: unknown) => toastError(B.mine.failed, e));
    setDoomed(undefined);
  };
  return (
    <Ready of={all} what={t.what} cluster>
      {list.length === 0 ? <Empty title={t.none} actions={add}>{mayCreate === false ? undefined : t.noneHow}</Empty> : (
        <div className="bk-page">
          <div className="bk-tools">{add}{look}</div>
          <table className="bk-table bk-stack">
            <caption className="b-hidden">{B.admin.tabs.windows}</caption>
            <thead>
              <tr>
                <th scope="col">{t.when}</th>
                <th scope="col">{t.type}</th>
                <th scope="col">{t.scope}</th>
                <th scope="col">{t.reason}</th>
                <th scope="col">{t.conflicts}</th>
                <th scope="col"><span className="b-hidden">{B.admin.delete}</span></th>
              </tr>
            </thead>
            <tbody>
              {list.map((w) => {
                const conflicts = (w.status?.conflicts ?? []) as WindowConflict[];
                return (
                  <tr key={w.metadata.name}>
                    <th scope="row">{rangeText(Date.parse(w.spec.start), Date.parse(w.spec.end ?? w.spec.start), zone)}</th>
                    <td data-label={t.type}>{t.types[w.spec.type] ?? w.spec.type} {w.status && (
                      <Label isCompact variant="outline" color={w.status.applied ? 'green' : 'orange'}>{w.status.applied ? t.applied : t.waiting}</Label>
                    )}</td>
                    <td data-label={t.scope}>{scopeText(w)}</td>
                    <td data-label={t.reason}>{w.spec.reason || B.dash}</td>
                    <td data-label={t.conflicts}>{conflicts.length === 0 ? B.dash : <Conflicts list={conflicts} zone={zone} />}</td>
                    <td className="bk-actions">
                      {mayDelete !== false && (
                        <Button variant="secondary" size="sm" isDanger onClick={() => setDoomed(w)} aria-label={B.admin.deleteOf(w.metadata.name)}>{B.admin.delete}</Button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {open && <PlanDialog onClose={() => setOpen(false)} />}
      {doomed && (
        <Modal isOpen onClose={() => setDoomed(undefined)} variant="small" aria-labelledby="drop-title">
          <ModalHeader title={t.deleteTitle(doomed.metadata.name)} labelId="drop-title" description={t.deleteLead} />
          <ModalFooter>
            <Button variant="danger" onClick={() => drop(doomed)}>{B.admin.delete}</Button>
            <Button variant="link" onClick={() => setDoomed(undefined)}>{B.cancel}</Button>
          </ModalFooter>
        </Modal>
      )}
    </Ready>
  );
}
