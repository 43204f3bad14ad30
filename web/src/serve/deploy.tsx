// The dialog that deploys a model: where, on what, between how many replicas; with the object that is made.

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { ExpandableSection } from '@patternfly/react-core/dist/esm/components/ExpandableSection';
import { Form, FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { useMemo, useState, type ReactNode } from 'react';
import { href, navigate } from '../app/router.tsx';
import { YamlBlock } from '../book/copy.tsx';
import { toYaml } from '../book/yaml.ts';
import { createObject } from '../data/client.ts';
import { useList } from '../data/hooks.ts';
import { apiVersion, clusterServingRuntimes, inferenceServices, localQueues, servingRuntimes } from '../data/kinds.ts';
import { B, strings } from '../strings.ts';
import { ErrorText, toast } from '../ui/toasts.tsx';
import { best, bySize, runs } from './fit.ts';
import { manifest, nameFor, type Wish } from './service.ts';
import type { CatalogModel, Fit, ServingRuntime } from './types.ts';

const s = strings.serve.deploy;
const m = strings.serve.models;

function resourceOf(f: Fit): string {
  return f.slice ? `nvidia.com/mig-${f.slice.replace('+', '.')}` : 'nvidia.com/gpu';
}

// GGUF files are for llama.cpp; the rest of the catalog is for vLLM.
function formatOf(model: CatalogModel): string {
  return /gguf/i.test(`${model.spec.uri ?? ''} ${model.spec.name}`) ? 'gguf' : 'vLLM';
}

function useRuntimes(ns: string, format: string): ServingRuntime[] {
  const own = useList(servingRuntimes, ns);
  const all = useList(clusterServingRuntimes);
  return useMemo(
    () => [...own.items, ...all.items].filter((r) => !r.spec?.disabled && (r.spec?.supportedModelFormats ?? []).some((f) => f.name === format)),
    [own.items, all.items, format],
  );
}

export function DeployDialog(p: { of: CatalogModel; ns: string; onClose(): void }): ReactNode {
  const fits = useMemo(() => [...(p.of.fits ?? [])].sort(bySize), [p.of]);
  const chosen = best(p.of);
  const queues = useList(localQueues, p.ns);
  const [draft, setDraft] = useState<Partial<Wish>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const set = (d: Partial<Wish>): void => {
    setDraft((was) => ({ ...was, ...d }));
    setError(undefined);
  };
  const names = queues.items.map((q) => q.metadata.name).sort();
  const format = formatOf(p.of);
  const runtimes = useRuntimes(p.ns, format);
  const w: Wish = {
    name: nameFor(p.of.spec.name),
    namespace: p.ns,
    uri: p.of.spec.uri ?? '',
    format,
    runtime: '',
    resource: chosen ? resourceOf(chosen) : '',
    queue: names.find((n) => n.startsWith('rsv-')) ?? (names.includes(p.ns) ? p.ns : (names[0] ?? '')),
    min: 0,
    max: 1,
    args: [],
    ...draft,
  };
  const fit = fits.find((f) => resourceOf(f) === w.resource);
  const bad = !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(w.name) || w.name.length > 41 ? s.badName : w.max < w.min || w.max < 1 ? s.badReplicas : !w.uri ? s.noUri : '';
  const object = manifest(w);
  const send = (): void => {
    setBusy(true);
    createObject(inferenceServices, object).then(
      () => {
        toast(s.deployed(w.name));
        p.onClose();
        navigate(href('services'));
      },
      (e: unknown) => {
        setError(e);
        setBusy(false);
      },
    );
  };
  const number = (id: 'min' | 'max', label: string): ReactNode => (
    <FormGroup label={label} fieldId={`deploy-${id}`}>
      <TextInput id={`deploy-${id}`} type="number" min={0} max={1000} value={w[id]} onChange={(_e, v) => set({ [id]: Math.max(0, Math.floor(Number(v) || 0)) })} />
    </FormGroup>
  );
  const choice = (id: 'resource' | 'queue' | 'runtime', label: string, options: [string, string][]): ReactNode => (
    <FormGroup label={label} fieldId={`deploy-${id}`}>
      <FormSelect id={`deploy-${id}`} value={w[id]} onChange={(_e, v) => set({ [id]: v })}>
        {options.map(([v, text]) => (
          <FormSelectOption key={v} value={v} label={text} />
        ))}
      </FormSelect>
    </FormGroup>
  );
  return (
    <Modal isOpen onClose={p.onClose} variant="medium" aria-labelledby="deploy-title" data-testid="deploy-dialog">
      <ModalHeader title={s.title(p.of.spec.name)} labelId="deploy-title" description={s.lead(p.ns)} />
      <ModalBody tabIndex={0} aria-label={s.title(p.of.spec.name)}>
        <Form
          id="deploy-form"
          onSubmit={(e) => {
            e.preventDefault();
            if (!bad) {
              send();
            }
          }}
        >
          <div className="bk-two">
            <FormGroup label={strings.common.name} fieldId="deploy-name">
              <TextInput id="deploy-name" value={w.name} maxLength={41} validated={bad === s.badName ? 'error' : 'default'} onChange={(_e, v) => set({ name: v })} />
            </FormGroup>
            {choice('resource', s.slice, [
              ...fits.map((f): [string, string] => [resourceOf(f), s.sliceIs(f.slice ?? m.whole, m.verdict[f.verdict])]),
              ['', s.noGpu],
            ])}
            {choice('queue', s.queue, [...names.map((n): [string, string] => [n, n]), ['', s.noQueue]])}
            {choice('runtime', s.runtime, [['', s.anyRuntime], ...runtimes.map((r): [string, string] => [r.metadata.name, r.metadata.name])])}
            {number('min', s.min)}
            {number('max', s.max)}
          </div>
        </Form>
        <div aria-live="polite">
          {bad && <Alert component="p" isInline isPlain variant="warning" title={bad} />}
          {fit && !runs(fit) && <Alert component="p" isInline variant="warning" title={s.doesNotFit(fit.slice ?? m.whole)}>{[fit.reason, fit.flag && m.with(fit.flag)].filter(Boolean).join(' ')}</Alert>}
          {runtimes.length === 0 && <Alert component="p" isInline isPlain variant="info" title={s.noRuntime(format)} />}
          {!bad && <p className="bk-faint">{s.holds(w.min, w.max, w.resource ? (fit?.slice ?? m.whole) : '')}</p>}
        </div>
        <ExpandableSection toggleText={s.yaml}>
          <YamlBlock text={toYaml({ apiVersion: apiVersion(inferenceServices), kind: inferenceServices.kind, ...object })} label={B.book.yamlLabel} />
        </ExpandableSection>
        {error !== undefined && (
          <Alert component="p" isInline variant="danger" title={s.refused} isLiveRegion>
            <ErrorText error={error} />
          </Alert>
        )}
      </ModalBody>
      <ModalFooter>
        <Button variant="primary" type="submit" form="deploy-form" isDisabled={!!bad || busy} isLoading={busy}>
          {s.deploy}
        </Button>
        <Button variant="link" onClick={p.onClose}>
          {B.cancel}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
