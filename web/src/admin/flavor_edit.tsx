/*
 * One ResourceFlavor as a form, new or changed, and beside it what that would do before it is saved; and deleting one.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { createObject, deleteObject, patchObject } from '../data/client.ts';
import { apiVersion, resourceFlavors } from '../data/kinds.ts';
import type { KubeObject, ResourceFlavor, Taint, Toleration } from '../data/types.ts';
import { B } from '../strings.ts';
import { ErrorText, toast } from '../ui/toasts.tsx';
import { Effects } from './parts.tsx';
import { usePreview } from './preview.ts';

const t = B.admin.flavors;
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const MOST = 8; /* of each list, as the API has it */

type Spec = NonNullable<ResourceFlavor['spec']>;
/* Labels are a list while they are written: a key may be empty, or there twice, for a while. */
export interface Form {
  name: string;
  nodeLabels: { key: string; value: string }[];
  nodeTaints: Taint[];
  tolerations: Toleration[];
  topologyName: string;
}
type Lists = 'nodeLabels' | 'nodeTaints' | 'tolerations';

const FRESH: { [L in Lists]: () => Form[L][number] } = {
  nodeLabels: () => ({ key: '', value: '' }),
  nodeTaints: () => ({ key: '', value: '', effect: 'NoSchedule' }),
  tolerations: () => ({ key: '', operator: 'Equal', value: '' }),
};

export function formOf(f: ResourceFlavor | undefined): Form {
  const s = f?.spec;
  return structuredClone({
    name: f?.metadata.name ?? '',
    nodeLabels: Object.entries(s?.nodeLabels ?? {}).map(([key, value]) => ({ key, value })),
    nodeTaints: s?.nodeTaints ?? [], tolerations: s?.tolerations ?? [], topologyName: s?.topologyName ?? '',
  });
}

/* Empty optional members go. */
function bare<O extends object>(o: O): O {
  return Object.fromEntries(Object.entries(o).filter(([, v]) => v !== '' && v !== undefined)) as O;
}

export function specOf(f: Form): Spec {
  const spec: Spec = {};
  if (f.nodeLabels.length > 0) {
    spec.nodeLabels = Object.fromEntries(f.nodeLabels.map((l) => [l.key, l.value]));
  }
  if (f.nodeTaints.length > 0) {
    spec.nodeTaints = f.nodeTaints.map(bare);
  }
  if (f.tolerations.length > 0) {
    spec.tolerations = f.tolerations.map((x) => bare(x.operator === 'Exists' ? { ...x, value: '' } : x));
  }
  if (f.topologyName) {
    spec.topologyName = f.topologyName;
  }
  return spec;
}

/* From one to the other as a merge patch: what is gone is null, also single labels. */
export function patchOf(was: Spec, now: Spec): Record<string, unknown> {
  const gone = Object.keys(was.nodeLabels ?? {}).filter((k) => now.nodeLabels?.[k] === undefined);
  return {
    nodeLabels: now.nodeLabels ? { ...Object.fromEntries(gone.map((k) => [k, null])), ...now.nodeLabels } : null,
    nodeTaints: now.nodeTaints ?? null, tolerations: now.tolerations ?? null, topologyName: now.topologyName ?? null,
  };
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const WORD = /^[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/;
const okayValue = (v: string | undefined): boolean => !v || WORD.test(v);
function okayKey(k: string | undefined): boolean {
  const [a, b, more] = (k ?? '').split('/');
  return more === undefined && (b === undefined ? WORD.test(a ?? '') : NAME.test(a ?? '') && WORD.test(b));
}

export function okay(f: Form): boolean {
  const once = (all: string[]): boolean => new Set(all).size === all.length;
  return NAME.test(f.name) && (!f.topologyName || (NAME.test(f.topologyName) && f.nodeLabels.length > 0)) &&
    f.nodeLabels.every((l) => okayKey(l.key) && okayValue(l.value)) && once(f.nodeLabels.map((l) => l.key)) &&
    f.nodeTaints.every((x) => okayKey(x.key) && okayValue(x.value)) && once(f.nodeTaints.map((x) => `${x.key} ${x.effect}`)) &&
    /* A toleration without a key tolerates all, with Exists alone. */
    f.tolerations.every((x) => (x.key ? okayKey(x.key) : x.operator === 'Exists') && okayValue(x.value));
}

/* ---- the form ---- */

type Put = <L extends Lists>(list: L, change: (all: Form[L]) => void) => void;

function Word({ label, hint, value, ok, disabled, onChange }: {
  label: string; hint: string; value: string | undefined; ok: boolean; disabled?: boolean; onChange: (v: string) => void;
}) {
  return <TextInput aria-label={label} placeholder={hint} value={value ?? ''} validated={ok ? 'default' : 'error'}
    isDisabled={!!disabled} onChange={(_e, v) => onChange(v.trim())} />;
}

function Pick({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (v: string) => void }) {
  return (
    <FormSelect aria-label={label} value={value} onChange={(_e, v) => onChange(v)}>
      {options.map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
    </FormSelect>
  );
}

/* One of the three lists: rows of fields, each of which can be removed, and a button for another. */
function List<L extends Lists>({ list, title, how, form, put, row }: {
  list: L; title: string; how: string; form: Form; put: Put; row: (x: Form[L][number], i: number, name: (field: string) => string) => React.ReactNode;
}) {
  const all = form[list];
  return (
    <fieldset className="bk-lines" data-testid={list}>
      <legend>{title}</legend>
      <p className="bk-faint">{how}</p>
      {all.map((x, i) => (
        <div key={i} className="bk-line-row">
          {row(x, i, (field) => t.nth(title, i + 1, field))}
          <Button variant="link" isDanger aria-label={t.drop(title, i + 1)}
            onClick={() => put(list, (a) => { a.splice(i, 1); })}>{B.admin.delete}</Button>
        </div>
      ))}
      {all.length < MOST && (
        <Button variant="link" isInline onClick={() => put(list, (a) => { (a as unknown[]).push(FRESH[list]()); })}>{t.addTo[list]}</Button>
      )}
    </fieldset>
  );
}

function Fields({ form, put }: { form: Form; put: Put }) {
  const effects = EFFECTS.map((e) => [e, e] as [string, string]);
  return (
    <>
      <List list="nodeLabels" title={t.labels} how={t.labelsHow} form={form} put={put} row={(x, i, name) => (
        <>
          <Word label={name(t.key)} hint={t.key} value={x.key} ok={okayKey(x.key)} onChange={(v) => put('nodeLabels', (a) => { a[i]!.key = v; })} />
          <Word label={name(t.value)} hint={t.value} value={x.value} ok={okayValue(x.value)} onChange={(v) => put('nodeLabels', (a) => { a[i]!.value = v; })} />
        </>
      )} />
      <List list="nodeTaints" title={t.taints} how={t.taintsHow} form={form} put={put} row={(x, i, name) => (
        <>
          <Word label={name(t.key)} hint={t.key} value={x.key} ok={okayKey(x.key)} onChange={(v) => put('nodeTaints', (a) => { a[i]!.key = v; })} />
          <Word label={name(t.value)} hint={t.value} value={x.value} ok={okayValue(x.value)} onChange={(v) => put('nodeTaints', (a) => { a[i]!.value = v; })} />
          <Pick label={name(t.effect)} value={x.effect} options={effects} onChange={(v) => put('nodeTaints', (a) => { a[i]!.effect = v; })} />
        </>
      )} />
      <List list="tolerations" title={t.tolerations} how={t.tolerationsHow} form={form} put={put} row={(x, i, name) => (
        <>
          <Word label={name(t.key)} hint={t.key} value={x.key} ok={x.key ? okayKey(x.key) : x.operator === 'Exists'} onChange={(v) => put('tolerations', (a) => { a[i]!.key = v; })} />
          <Pick label={name(t.operator)} value={x.operator ?? 'Equal'} options={[...new Set(['Equal', 'Exists', x.operator ?? 'Equal'])].map((o) => [o, o])}
            onChange={(v) => put('tolerations', (a) => { a[i]!.operator = v; })} />
          <Word label={name(t.value)} hint={t.value} value={x.operator === 'Exists' ? '' : x.value} ok={okayValue(x.value)} disabled={x.operator === 'Exists'}
            onChange={(v) => put('tolerations', (a) => { a[i]!.value = v; })} />
          <Pick label={name(t.effect)} value={x.effect ?? ''} options={[['', t.anyEffect], ...effects]}
            onChange={(v) => put('tolerations', (a) => { a[i]!.effect = v; })} />
        </>
      )} />
    </>
  );
}

/* ---- the dialogs ---- */

export function FlavorEdit({ object, latest, nodes, onClose }: {
  object: ResourceFlavor | undefined; /* undefined: a new one */
  latest: ResourceFlavor | undefined; nodes: ((labels: Record<string, string>) => number) | undefined; onClose: () => void;
}) {
  const was = object?.spec ?? {};
  const [form, setForm] = React.useState<Form>(() => formOf(object));
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const set = (change: (f: Form) => void) => {
    const next = structuredClone(form);
    change(next);
    setForm(next);
    setError(undefined);
  };
  const spec = specOf(form), good = okay(form);
  const changed = object ? JSON.stringify(spec) !== JSON.stringify(specOf(formOf(object))) : form.name !== '';
  const flavor = { apiVersion: apiVersion(resourceFlavors), kind: 'ResourceFlavor', metadata: { name: form.name }, spec } as KubeObject;
  const answer = usePreview(changed && good ? { objects: [flavor] } : undefined);
  const save = () => {
    setBusy(true);
    /* What somebody else changed meanwhile is a reason to refuse; that its status moved is not. */
    const seen = latest?.metadata.uid === object?.metadata.uid && latest?.metadata.generation === object?.metadata.generation ? latest : object;
    const done = object ? patchObject(resourceFlavors, form.name, undefined, { metadata: { resourceVersion: seen?.metadata.resourceVersion }, spec: patchOf(was, spec) })
      : createObject<ResourceFlavor>(resourceFlavors, { metadata: { name: form.name }, spec });
    done.then(() => {
      toast(B.admin.saved(form.name));
      onClose();
    }, (e: unknown) => {
      setError(e);
      setBusy(false);
    });
  };
  const title = object ? t.editTitle(object.metadata.name) : t.addTitle;
  const matching = nodes && <p className="bk-faint">{t.nodesNow(nodes(spec.nodeLabels ?? {}), object && nodes(was.nodeLabels ?? {}))}</p>;
  return (
    <Modal isOpen onClose={onClose} variant="large" aria-labelledby="flavor-title" className="bk-dialog" data-testid="flavor-dialog">
      <ModalHeader title={title} labelId="flavor-title" description={object ? B.admin.quotas.editLead : t.addLead} />
      <ModalBody tabIndex={0} aria-label={title}>
        <div className="bk-edit">
          <div className="bk-fields">
            {!object && (
              <FormGroup label={B.admin.quotas.name} fieldId="flavor-name" isRequired>
                <TextInput id="flavor-name" value={form.name} validated={!form.name || NAME.test(form.name) ? 'default' : 'error'}
                  onChange={(_e, v) => set((f) => { f.name = v.trim(); })} />
              </FormGroup>
            )}
            <Fields form={form} put={(list, change) => set((f) => change(f[list]))} />
            <FormGroup label={t.topology} fieldId="flavor-topology">
              <TextInput id="flavor-topology" value={form.topologyName} isDisabled={!!was.topologyName} aria-describedby="flavor-topology-how"
                onChange={(_e, v) => set((f) => { f.topologyName = v.trim(); })} />
              <p id="flavor-topology-how" className="bk-faint">{t.topologyHow}</p>
            </FormGroup>
          </div>
          <Effects answer={answer} changed={changed} bad={good || !changed ? '' : t.badForm} more={matching} />
        </div>
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
      </ModalBody>
      <ModalFooter>
        <Button variant={(answer.status?.evictedCount ?? 0) > 0 ? 'danger' : 'primary'} onClick={save} isLoading={busy}
          isDisabled={!changed || !good || busy} data-testid="flavor-save">{B.admin.save}</Button>
        <Button variant="link" onClick={onClose}>{B.cancel}</Button>
      </ModalFooter>
    </Modal>
  );
}

export function FlavorDrop({ object, onClose }: { object: ResourceFlavor; onClose: () => void }) {
  const name = object.metadata.name;
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const answer = usePreview({ deletions: [{ kind: 'ResourceFlavor', name }] });
  const go = () => {
    setBusy(true);
    deleteObject(resourceFlavors, name).then(() => {
      toast(B.admin.deleted(name));
      onClose();
    }, (e: unknown) => {
      setError(e);
      setBusy(false);
    });
  };
  return (
    <Modal isOpen onClose={onClose} variant="small" aria-labelledby="flavor-drop" data-testid="flavor-drop">
      <ModalHeader title={t.deleteTitle(name)} labelId="flavor-drop" description={t.deleteLead} />
      <ModalBody>
        <Effects answer={answer} changed bad="" />
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
      </ModalBody>
      <ModalFooter>
        <Button variant="danger" onClick={go} isLoading={busy} isDisabled={busy}>{B.admin.delete}</Button>
        <Button variant="link" onClick={onClose}>{B.cancel}</Button>
      </ModalFooter>
    </Modal>
  );
}
