/*
 * What the dialogs of Admin share: a choice from a list, and what an edit would do to running and pending work.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { FormGroup } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import type { ExplainedWorkload } from '../data/types.ts';
import { B } from '../strings.ts';
import { ErrorText } from '../ui/toasts.tsx';
import type { PreviewAnswer } from './preview.ts';

const t = B.admin.quotas;

export function Choice({ id, label, value, options, onChange }: {
  id: string; label: string; value: string; options: Record<string, string> | string[]; onChange: (v: string) => void;
}) {
  const list = Array.isArray(options) ? options.map((o) => [o, o] as const) : Object.entries(options);
  return (
    <FormGroup label={label} fieldId={id}>
      <FormSelect id={id} value={value} onChange={(_e, v) => onChange(v)}>
        {list.map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
      </FormSelect>
    </FormGroup>
  );
}

function Affected({ title, list, variant }: { title: string; list: ExplainedWorkload[]; variant: 'success' | 'danger' | 'info' }) {
  if (list.length === 0) {
    return null;
  }
  return (
    <div>
      <Alert component="p" isInline isPlain variant={variant} title={title} />
      <ul className="bk-list">
        {list.slice(0, 12).map((w, i) => (
          <li key={i}>
            <strong>{w.name ?? B.cal.others}</strong>{w.namespace ? ` (${w.namespace})` : ''}
            {w.reason && <span className="bk-sub">{w.reason}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

/* `bad`: what is wrong with the form, empty where nothing is. `more`: what the page itself knows of the effects. */
export function Effects({ answer, changed, bad, more }: { answer: PreviewAnswer; changed: boolean; bad: string; more?: React.ReactNode }) {
  const s = answer.status;
  let body: React.ReactNode;
  if (bad) {
    body = <Alert component="p" isInline isPlain variant="warning" title={bad} />;
  } else if (!changed) {
    body = <p className="bk-faint">{t.unchanged}</p>;
  } else if (answer.error) {
    body = <Alert component="p" isInline variant="warning" title={t.cannotPreview}><ErrorText error={answer.error} /></Alert>;
  } else if (!s) {
    body = <p className="bk-checking"><Spinner size="md" aria-label={t.previewing} /> {t.previewing}</p>;
  } else {
    const admitted = s.admittedCount ?? s.admitted?.length ?? 0, evicted = s.evictedCount ?? s.evicted?.length ?? 0;
    const waiting = s.waitingCount ?? s.waiting?.length ?? 0;
    body = (
      <>
        {admitted + evicted === 0 && <Alert component="p" isInline isPlain variant="info" title={t.nothing} />}
        <Affected title={t.wouldEvict(evicted)} list={s.evicted ?? []} variant="danger" />
        <Affected title={t.wouldAdmit(admitted)} list={s.admitted ?? []} variant="success" />
        {waiting > 0 && <Affected title={t.wouldWait(waiting)} list={s.waiting ?? []} variant="info" />}
        {(s.suggestions ?? []).map((x) => <Alert key={x.message} component="p" isInline isPlain variant="info" title={t.suggestion(x.message ?? '')} />)}
        {(s.notes ?? []).map((n) => <p key={n} className="bk-faint">{n}</p>)}
      </>
    );
  }
  return <section className="bk-live" aria-label={t.preview} aria-live="polite" data-testid="preview"><h2>{t.preview}</h2>{body}{!bad && changed && more}</section>;
}
