// The dialog that makes a key, and shows its secret once.

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Form, FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { useState, type ReactNode } from 'react';
import { CopyLine } from '../book/copy.tsx';
import { createObject } from '../data/client.ts';
import { modelKeys } from '../data/kinds.ts';
import { B, strings } from '../strings.ts';
import { ErrorText } from '../ui/toasts.tsx';
import { secretNew } from './secret.ts';
import type { ModelKey } from './types.ts';

const s = strings.serve.keys;

const DAYS = [1, 7, 30, 90, 365];

interface Draft {
  purpose: string;
  models: string;
  days: string;
  rpm: string;
  tpm: string;
}

function specOf(d: Draft): Omit<ModelKey['spec'], 'sha256'> {
  const spec: Omit<ModelKey['spec'], 'sha256'> = { expiresAt: new Date(Date.now() + Number(d.days) * 86_400_000).toISOString().replace(/\.\d+/, '') };
  const models = d.models.split(/[\s,]+/).filter(Boolean);
  const limits: NonNullable<ModelKey['spec']['limits']> = {};
  if (models.length > 0) {
    spec.models = models;
  }
  if (d.purpose.trim()) {
    spec.purpose = d.purpose.trim();
  }
  if (Number(d.rpm) > 0) {
    limits.requestsPerMinute = Math.floor(Number(d.rpm));
  }
  if (Number(d.tpm) > 0) {
    limits.tokensPerMinute = Math.floor(Number(d.tpm));
  }
  if (Object.keys(limits).length > 0) {
    spec.limits = limits;
  }
  return spec;
}

export function KeyDialog(p: { ns: string; onClose(): void }): ReactNode {
  const [d, setDraft] = useState<Draft>({ purpose: '', models: '', days: '90', rpm: '', tpm: '' });
  const [secret, setSecret] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const set = (more: Partial<Draft>): void => setDraft({ ...d, ...more });
  const make = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const made = await secretNew();
      await createObject(modelKeys, { metadata: { generateName: 'key-', namespace: p.ns } as ModelKey['metadata'], spec: { ...specOf(d), sha256: made.sha256, prefix: made.prefix } });
      setSecret(made.text);
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  const field = (id: keyof Draft, label: string, help: string, type: 'text' | 'number' = 'text'): ReactNode => (
    <FormGroup label={label} fieldId={`key-${id}`}>
      <TextInput id={`key-${id}`} type={type} {...(type === 'number' ? { min: 1 } : { maxLength: 1000 })} value={d[id]} aria-describedby={`key-${id}-help`} onChange={(_e, v) => set({ [id]: v })} />
      <FormHelperText>
        <HelperText id={`key-${id}-help`}>
          <HelperTextItem>{help}</HelperTextItem>
        </HelperText>
      </FormHelperText>
    </FormGroup>
  );
  return (
    <Modal isOpen onClose={p.onClose} variant="small" aria-labelledby="key-title" data-testid="key-dialog">
      <ModalHeader title={secret ? s.made : s.add} labelId="key-title" description={secret ? s.madeLead : s.addLead(p.ns)} />
      <ModalBody tabIndex={0} aria-label={s.add}>
        {secret ? (
          <div data-testid="secret">
            <CopyLine text={secret} label={s.copy} />
          </div>
        ) : (
          <Form
            id="key-form"
            onSubmit={(e) => {
              e.preventDefault();
              void make();
            }}
          >
            {field('purpose', s.purpose, s.purposeHelp)}
            {field('models', s.models, s.modelsHelp)}
            <FormGroup label={s.validFor} fieldId="key-days">
              <FormSelect id="key-days" value={d.days} onChange={(_e, v) => set({ days: v })}>
                {DAYS.map((n) => (
                  <FormSelectOption key={n} value={String(n)} label={s.days(n)} />
                ))}
              </FormSelect>
            </FormGroup>
            {field('rpm', s.rpm, s.limitHelp, 'number')}
            {field('tpm', s.tpm, s.limitHelp, 'number')}
          </Form>
        )}
        {error !== undefined && (
          <Alert component="p" isInline variant="danger" title={s.failed} isLiveRegion>
            <ErrorText error={error} />
          </Alert>
        )}
      </ModalBody>
      <ModalFooter>
        {secret ? (
          <Button variant="primary" onClick={p.onClose}>
            {s.done}
          </Button>
        ) : (
          <>
            <Button variant="primary" type="submit" form="key-form" isDisabled={busy} isLoading={busy}>
              {s.make}
            </Button>
            <Button variant="link" onClick={p.onClose}>
              {B.cancel}
            </Button>
          </>
        )}
      </ModalFooter>
    </Modal>
  );
}
