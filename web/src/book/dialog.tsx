/*
 * "Book GPU resources": the form on one side, what would come of it on the other. Nothing is assumed to have worked:
 * after sending, the dialog waits for what the planner says.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Checkbox } from '@patternfly/react-core/dist/esm/components/Checkbox';
import { Form, FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import type { BookDialogProps, BookingPrefill } from '../app/booking.tsx';
import { useScope } from '../app/scope.tsx';
import { useSession } from '../app/session.tsx';
import { ApiError, createObject, patchObject } from '../data/client.ts';
import { useList, useNow, useObject } from '../data/hooks.ts';
import { availabilities, reservationPolicies, reservationSeries, reservations } from '../data/kinds.ts';
import type { Availability } from '../data/types.ts';
import { availabilityQuery } from '../calendar/query.ts';
import { HOUR, MINUTE } from '../calendar/zone.ts';
import { B } from '../strings.ts';
import { ErrorText } from '../ui/toasts.tsx';
import { useCheck } from './check.ts';
import { DoneActions, DoneReservation, DoneSeries } from './done.tsx';
import { alignDown, faultsOf, objectOf, proposeName, randomSalt, specOf, type Draft, type Fault } from './draft.ts';
import { limitsUsed } from './limits.ts';
import { durationMs, type Alternative } from './types.ts';
import { LiveSide, windowAround } from './verdict.tsx';
import { What } from './what.tsx';
import { When } from './when.tsx';
import './book.css';

const CLASSES = ['standard', 'production', 'teaching', 'maintenance'] as const;
const ENDS = ['demote', 'drain', 'hard'] as const;

const LAST = 'berth.book.project';

/* Where one booked last: for who looks at all projects. */
function lastProject(): string | undefined {
  try {
    return localStorage.getItem(LAST) ?? undefined;
  } catch {
    return undefined;
  }
}

function keepProject(name: string): void {
  try {
    localStorage.setItem(LAST, name);
  } catch {
    // The next booking asks again, then.
  }
}

function firstDraft(p: BookingPrefill, project: string, zone: string, now: number): Draft {
  const was = p.edit?.spec;
  const start = Date.parse(p.start ?? was?.start ?? '') || alignDown(now, 15 * MINUTE, zone);
  return {
    name: p.edit?.metadata.name ?? '', project: p.edit?.metadata.namespace ?? p.project ?? project, zone: was?.timeZone ?? zone,
    start, end: Date.parse(p.end ?? was?.end ?? '') || start + 2 * HOUR, lines: p.lines ?? was?.lines ?? [],
    purpose: was?.purpose ?? '', class: was?.class ?? 'standard', exclusive: was?.exclusive ?? false,
    endPolicy: was?.endPolicy ?? 'demote', waitlist: was?.waitlist ?? false, autoExtend: was?.autoExtend?.max ?? '',
    group: was?.beneficiary?.kind === 'Group' ? was.beneficiary.name : '',
    repeat: { freq: 'none', count: 10, conflictPolicy: 'Skip' },
  };
}

interface FormProps {
  draft: Draft;
  set: (d: Partial<Draft>) => void;
  faults: Fault[];
}

function Who({ draft, set, faults, fixed }: FormProps & { fixed: boolean }) {
  const { projects, mayList } = useScope();
  return (
    <div className="bk-two">
      <FormGroup label={B.book.project} fieldId="book-project" isRequired>
        {mayList && projects.length > 0 ? (
          <FormSelect id="book-project" value={draft.project} isDisabled={fixed} onChange={(_e, v) => set({ project: v })}>
            {!projects.includes(draft.project) && <FormSelectOption value="" label={B.book.pickProject} />}
            {projects.map((p) => <FormSelectOption key={p} value={p} label={p} />)}
          </FormSelect>
        ) : <TextInput id="book-project" value={draft.project} onChange={(_e, v) => set({ project: v.trim() })} />}
      </FormGroup>
      <FormGroup label={B.book.purpose} fieldId="book-purpose">
        <TextInput id="book-purpose" value={draft.purpose} maxLength={200} placeholder={B.book.purposeHint}
          validated={faults.includes('purpose') ? 'error' : 'default'} onChange={(_e, v) => set({ purpose: v })} />
        {faults.includes('purpose') && (
          <FormHelperText><HelperText><HelperTextItem variant="error">{B.book.fault.purpose}</HelperTextItem></HelperText></FormHelperText>
        )}
      </FormGroup>
    </div>
  );
}

function More({ draft, set, faults }: FormProps) {
  return (
    <details className="bk-details" open={faults.includes('name') || undefined}>
      <summary>{B.book.options}</summary>
      <div className="bk-two">
        <FormGroup label={B.book.class} fieldId="book-class">
          <FormSelect id="book-class" value={draft.class} onChange={(_e, v) => set({ class: v as Draft['class'] })}>
            {CLASSES.map((c) => <FormSelectOption key={c} value={c} label={B.book.classes[c]} />)}
          </FormSelect>
        </FormGroup>
        <FormGroup label={B.book.atEnd} fieldId="book-end-policy">
          <FormSelect id="book-end-policy" value={draft.endPolicy} onChange={(_e, v) => set({ endPolicy: v as Draft['endPolicy'] })}>
            {ENDS.map((c) => <FormSelectOption key={c} value={c} label={B.book.ends[c]} />)}
          </FormSelect>
        </FormGroup>
        <FormGroup label={B.book.autoExtend} fieldId="book-extend">
          <FormSelect id="book-extend" value={draft.autoExtend} onChange={(_e, v) => set({ autoExtend: v })}>
            {['', '1h', '2h', '4h'].map((c) => <FormSelectOption key={c} value={c} label={c ? B.book.upTo(c) : B.book.no} />)}
          </FormSelect>
        </FormGroup>
        <FormGroup label={B.book.group} fieldId="book-group">
          <TextInput id="book-group" value={draft.group} onChange={(_e, v) => set({ group: v })} placeholder={B.book.groupHint} />
        </FormGroup>
        <FormGroup label={B.book.name} fieldId="book-name">
          <TextInput id="book-name" value={draft.name} validated={faults.includes('name') ? 'error' : 'default'}
            onChange={(_e, v) => set({ name: v })} />
          {faults.includes('name') && (
            <FormHelperText><HelperText><HelperTextItem variant="error">{B.book.fault.name}</HelperTextItem></HelperText></FormHelperText>
          )}
        </FormGroup>
      </div>
      <Checkbox id="book-exclusive" label={B.book.exclusive} description={B.book.exclusiveHow} isChecked={draft.exclusive}
        onChange={(_e, v) => set({ exclusive: v })} />
    </details>
  );
}

/* The reason alone: what the request was is known, and alternatives are shown as buttons. */
const plainWords = (message: string): string =>
  message.replace(/^Operation cannot be fulfilled on [^:]*: /, '').replace(/; instead there is[^]*$/, '');

type Stage = { at: 'form' } | { at: 'sending' } | { at: 'failed'; error: unknown } | { at: 'done' };

/* A name that follows what is booked until somebody writes another. */
function useDraft(prefill: BookingPrefill, now: number): [Draft, (d: Partial<Draft>) => void, () => void] {
  const scope = useScope();
  const project = scope.project ?? scope.projects.find((n) => n === lastProject()) ?? scope.projects[0];
  const [salt, setSalt] = React.useState(randomSalt);
  const [named, setNamed] = React.useState(!!prefill.edit);
  const [draft, setDraft] = React.useState(() => firstDraft(prefill, project ?? '', scope.zone, now));
  const set = (d: Partial<Draft>) => {
    if (d.name !== undefined) {
      setNamed(true);
    }
    setDraft((had) => ({ ...had, ...d }));
  };
  const full = { ...draft, project: draft.project || project || '', name: named ? draft.name : proposeName(draft, salt) };
  return [full, set, () => {
    setSalt(randomSalt());
    setNamed(!!prefill.edit);
  }];
}

export default function BookDialog({ prefill, onClose }: BookDialogProps) {
  const edit = prefill.edit;
  const now = useNow(30_000);
  const [draft, set, rename] = useDraft(prefill, now);
  const [stage, setStage] = React.useState<Stage>({ at: 'form' });
  const [tries, setTries] = React.useState(0); /* that were refused: what is free is not what it was */
  const user = useSession().session?.user ?? '';
  const policy = useObject(reservationPolicies, 'default').object;
  const own = useList(reservations, draft.project || undefined, { enabled: !!draft.project });
  const step = durationMs(policy?.spec?.granularity) ?? 15 * MINUTE;
  const faults = faultsOf(draft, now);
  const [from, to, grain] = windowAround(draft.start, draft.end);
  const answer = useList(availabilities, undefined, { query: availabilityQuery(from, to, grain), enabled: draft.end > draft.start });
  const kept = React.useRef<Availability[]>([]);
  kept.current = answer.loaded ? answer.items : kept.current;
  const ready = faults.length === 0;
  const check = useCheck(draft.project,
    ready ? { ...specOf(draft), ...(edit ? { name: edit.metadata.name } : {}) } : undefined, [own.revision, kept.current, tries]);

  const take = (a: Alternative) => {
    const d: Partial<Draft> = {};
    if (a.start && a.end) {
      d.start = Date.parse(a.start);
      d.end = Date.parse(a.end);
    }
    if (a.lines?.length) {
      d.lines = a.lines;
    }
    rename();
    set(d);
    setStage({ at: 'form' });
  };
  const send = () => {
    if (!ready || stage.at === 'sending') {
      return;
    }
    setStage({ at: 'sending' });
    keepProject(draft.project);
    const o = objectOf(draft) as unknown as { metadata: { name: string; namespace: string }; spec: never };
    const made = edit ? patchObject(reservations, draft.name, draft.project, { spec: specOf(draft) })
      : draft.repeat.freq === 'none' ? createObject(reservations, o) : createObject(reservationSeries, o);
    (made as Promise<unknown>).then(() => setStage({ at: 'done' }), (error: unknown) => {
      /* The name may be what was taken: the next try has another. */
      rename();
      setTries((n) => n + 1);
      setStage({ at: 'failed', error });
    });
  };
  const isDone = stage.at === 'done';
  return (
    <Modal isOpen onClose={onClose} variant="large" aria-labelledby="book-title" className="bk-dialog" data-testid="book-dialog">
      <ModalHeader title={edit ? B.book.changeTitle(edit.metadata.name) : B.book.title} labelId="book-title" {...(isDone ? {} : { description: B.book.lead })} />
      <ModalBody tabIndex={0} aria-label={B.book.title}>
        {isDone ? (
          draft.repeat.freq === 'none' ? <DoneReservation draft={draft} onTake={take} /> : <DoneSeries draft={draft} />
        ) : (
          <div className="bk-book">
            <Form onSubmit={(e) => {
              e.preventDefault();
              send();
            }} id="book-form">
              <When draft={draft} set={set} faults={faults} now={now} step={step} policyZone={policy?.spec?.timeZone} once={!!edit} />
              <What draft={draft} set={set} items={kept.current} faults={faults} />
              <Who draft={draft} set={set} faults={faults} fixed={!!edit} />
              <Checkbox id="book-waitlist" label={B.book.waitlist} description={B.book.waitlistHow} isChecked={draft.waitlist}
                onChange={(_e, v) => set({ waitlist: v })} />
              <More draft={draft} set={set} faults={faults} />
            </Form>
            <div className="bk-side">
              {stage.at === 'failed' && (
                <Alert component="p" isInline variant="danger" title={B.book.refused} data-testid="book-refused" isLiveRegion>
                  {stage.error instanceof ApiError && stage.error.conflict ? plainWords(stage.error.message) : <ErrorText error={stage.error} />}
                </Alert>
              )}
              <LiveSide draft={draft} answer={check} ready={ready} items={kept.current} now={now} policy={policy}
                limits={limitsUsed(policy, own.items, user, draft, kept.current)} onTake={take} />
            </div>
          </div>
        )}
      </ModalBody>
      <ModalFooter>
        {isDone ? <DoneActions onClose={onClose} onAgain={() => { rename(); setStage({ at: 'form' }); }} /> : (
          <>
            <Button variant="primary" type="submit" form="book-form" isDisabled={!ready || stage.at === 'sending'}
              isLoading={stage.at === 'sending'} data-testid="book-submit" aria-describedby="book-submit-why">
              {draft.waitlist && check.status && !check.status.fits ? B.book.joinLine : edit ? B.book.save : B.book.submit}
            </Button>
            <Button variant="link" onClick={onClose}>{B.cancel}</Button>
            <span id="book-submit-why" className="bk-faint">{!ready ? B.book.notReady(faults.map((f) => B.book.missing[f])) : ''}</span>
          </>
        )}
      </ModalFooter>
    </Modal>
  );
}
