/*
 * One ClusterQueue, Cohort or LocalQueue as a form, and beside it what the edit would do before it is saved.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { patchObject } from '../data/client.ts';
import { apiVersion, clusterQueues, cohorts, localQueues, type Kind } from '../data/kinds.ts';
import type { KubeObject, ResourceGroup, ResourceQuota } from '../data/types.ts';
import { B } from '../strings.ts';
import { ErrorText, toast } from '../ui/toasts.tsx';
import { Choice, Effects } from './parts.tsx';
import { usePreview } from './preview.ts';

const t = B.admin.quotas;

export type QuotaKind = 'ClusterQueue' | 'Cohort' | 'LocalQueue';
const KINDS: Record<QuotaKind, Kind<KubeObject>> = {
  ClusterQueue: clusterQueues as Kind<KubeObject>,
  Cohort: cohorts as Kind<KubeObject>,
  LocalQueue: localQueues as Kind<KubeObject>,
};

interface Spec {
  cohortName?: string;
  parentName?: string;
  clusterQueue?: string;
  resourceGroups?: ResourceGroup[];
  stopPolicy?: string;
  preemption?: { withinClusterQueue?: string; reclaimWithinCohort?: string };
  fairSharing?: { weight?: string | number };
  [other: string]: unknown;
}

const QUANTITY = /^\d+(\.\d+)?([numkMGTPE]|[KMGTPE]i)?$/;
const okay = (v: string | number | undefined, optional: boolean): boolean =>
  v === undefined || v === '' ? optional : QUANTITY.test(String(v));

function cells(spec: Spec): ResourceQuota[] {
  return (spec.resourceGroups ?? []).flatMap((g) => g.flavors.flatMap((f) => f.resources));
}

const valid = (spec: Spec): boolean => cells(spec).every((q) =>
  okay(q.nominalQuota, false) && okay(q.borrowingLimit, true) && okay(q.lendingLimit, true));

/* Empty limits are no limits: the fields go. */
function tidy(spec: Spec): Spec {
  const out = structuredClone(spec);
  for (const q of cells(out)) {
    if (q.borrowingLimit === '') {
      delete q.borrowingLimit;
    }
    if (q.lendingLimit === '') {
      delete q.lendingLimit;
    }
  }
  return out;
}

/* ---- the form ---- */

interface FieldsProps {
  spec: Spec;
  set: (change: (s: Spec) => void) => void;
}

function QuotaTable({ spec, set, fixedNominal }: FieldsProps & { fixedNominal: boolean }) {
  type Key = 'nominalQuota' | 'borrowingLimit' | 'lendingLimit';
  const columns: [Key, string][] = [['nominalQuota', t.nominal], ['borrowingLimit', t.borrowing], ['lendingLimit', t.lending]];
  return (
    <div className="bk-scroll-x" role="region" aria-label={t.resource} tabIndex={0}>
      <table className="bk-table">
        <thead>
          <tr>
            <th scope="col">{t.resource}</th>
            {columns.map(([k, name]) => <th scope="col" key={k}>{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {(spec.resourceGroups ?? []).flatMap((g, gi) => g.flavors.flatMap((f, fi) => f.resources.map((q, ri) => (
            <tr key={`${gi}/${f.name}/${q.name}`}>
              <th scope="row">{q.name}<span className="bk-sub">{f.name}</span></th>
              {columns.map(([k, name]) => (
                <td key={k}>
                  <TextInput className="bk-quota-input" aria-label={`${name}, ${q.name}, ${f.name}`} value={String(q[k] ?? '')}
                    isDisabled={fixedNominal && k === 'nominalQuota'} placeholder={k === 'nominalQuota' ? '0' : t.noLimit}
                    validated={okay(q[k], k !== 'nominalQuota') ? 'default' : 'error'}
                    onChange={(_e, v) => set((s) => {
                      const it = s.resourceGroups?.[gi]?.flavors[fi]?.resources[ri];
                      if (it) {
                        it[k] = v.trim();
                      }
                    })} />
                </td>
              ))}
            </tr>
          ))))}
        </tbody>
      </table>
    </div>
  );
}

function Fields({ kind, spec, set, cohortNames }: FieldsProps & { kind: QuotaKind; cohortNames: string[] }) {
  const none = { '': B.admin.none, ...Object.fromEntries(cohortNames.map((c) => [c, c])) };
  return (
    <>
      {(spec.resourceGroups?.length ?? 0) > 0 && <QuotaTable spec={spec} set={set} fixedNominal={false} />}
      <div className="bk-two">
        {kind === 'ClusterQueue' && (
          <>
            <Choice id="q-cohort" label={t.cohort} value={spec.cohortName ?? ''} options={none}
              onChange={(v) => set((s) => { s.cohortName = v; })} />
            <Choice id="q-within" label={t.within} value={spec.preemption?.withinClusterQueue ?? 'Never'}
              options={['Never', 'LowerPriority', 'LowerOrNewerEqualPriority']}
              onChange={(v) => set((s) => { s.preemption = { ...s.preemption, withinClusterQueue: v }; })} />
            <Choice id="q-reclaim" label={t.reclaim} value={spec.preemption?.reclaimWithinCohort ?? 'Never'}
              options={['Never', 'LowerPriority', 'Any']}
              onChange={(v) => set((s) => { s.preemption = { ...s.preemption, reclaimWithinCohort: v }; })} />
          </>
        )}
        {kind === 'Cohort' && (
          <Choice id="q-parent" label={t.parent} value={spec.parentName ?? ''} options={none}
            onChange={(v) => set((s) => { s.parentName = v; })} />
        )}
        {kind !== 'Cohort' && (
          <Choice id="q-stop" label={t.stop} value={spec.stopPolicy ?? 'None'} options={t.stops}
            onChange={(v) => set((s) => { s.stopPolicy = v; })} />
        )}
      </div>
    </>
  );
}

/* ---- the dialog ---- */

function bare(kind: QuotaKind, o: KubeObject, spec: Spec): KubeObject {
  const m = o.metadata;
  const metadata: KubeObject['metadata'] = { name: m.name };
  if (m.namespace) {
    metadata.namespace = m.namespace;
  }
  if (m.labels) {
    metadata.labels = m.labels;
  }
  return { apiVersion: apiVersion(KINDS[kind]), kind, metadata, spec } as KubeObject;
}

/* `latest`: the object as it is now. What runs changes its status all the time, and that is no reason to refuse; a spec
 * that somebody else changed meanwhile is. */
export function QuotaEdit({ kind, object, latest, cohortNames, onClose }: {
  kind: QuotaKind; object: KubeObject; latest: KubeObject | undefined; cohortNames: string[]; onClose: () => void;
}) {
  const seen = latest?.metadata.uid === object.metadata.uid && latest?.metadata.generation === object.metadata.generation ? latest : object;
  const was = (object as { spec?: Spec }).spec ?? {};
  const [spec, setSpec] = React.useState<Spec>(() => structuredClone(was));
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const set = (change: (s: Spec) => void) => {
    const next = structuredClone(spec);
    change(next);
    setSpec(next);
    setError(undefined);
  };
  const clean = tidy(spec);
  const changed = JSON.stringify(clean) !== JSON.stringify(was);
  const bad = !valid(spec);
  const answer = usePreview(changed && !bad ? { objects: [bare(kind, object, clean)] } : undefined);
  const save = () => {
    setBusy(true);
    const patch: Record<string, unknown> = { ...clean };
    for (const key of ['cohortName', 'parentName']) {
      if (patch[key] === '') {
        patch[key] = null;
      }
    }
    patchObject(KINDS[kind], object.metadata.name, object.metadata.namespace,
      { metadata: { resourceVersion: seen?.metadata.resourceVersion }, spec: patch }).then(() => {
      toast(B.admin.saved(object.metadata.name));
      onClose();
    }, (e: unknown) => {
      setError(e);
      setBusy(false);
    });
  };
  return (
    <Modal isOpen onClose={onClose} variant="large" aria-labelledby="quota-title" className="bk-dialog" data-testid="quota-dialog">
      <ModalHeader title={t.editTitle(kind, object.metadata.name)} labelId="quota-title" description={t.editLead} />
      <ModalBody tabIndex={0} aria-label={t.editTitle(kind, object.metadata.name)}>
        <div className="bk-edit">
          <div><Fields kind={kind} spec={spec} set={set} cohortNames={cohortNames.filter((c) => c !== object.metadata.name)} /></div>
          <Effects answer={answer} changed={changed} bad={bad ? t.bad : ''} />
        </div>
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
      </ModalBody>
      <ModalFooter>
        <Button variant={(answer.status?.evictedCount ?? 0) > 0 ? 'danger' : 'primary'} onClick={save} isLoading={busy}
          isDisabled={!changed || bad || busy} data-testid="quota-save">{B.admin.save}</Button>
        <Button variant="link" onClick={onClose}>{B.cancel}</Button>
      </ModalFooter>
    </Modal>
  );
}
