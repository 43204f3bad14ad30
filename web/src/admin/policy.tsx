/*
 * The booking policy: times, limits and who approves, as one form. Only what was changed is sent.
 */
import * as React from 'react';
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Form, FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { durationMs, type Limits, type ReservationPolicy } from '../book/types.ts';
import { allZones, isZone } from '../calendar/zone.ts';
import { patchObject } from '../data/client.ts';
import { useAllowed, useObject } from '../data/hooks.ts';
import { reservationPolicies } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { Empty, Ready } from '../ui/states.tsx';
import { ErrorText, toast } from '../ui/toasts.tsx';

const t = B.admin.policy;

type Spec = NonNullable<ReservationPolicy['spec']>;
type Rule = NonNullable<Spec['approval']>[number];
type Scope = 'user' | 'project' | 'tenant';

const durationOk = (v: string | undefined): boolean => !v || durationMs(v) !== undefined;
const numberOk = (v: unknown): boolean => v === undefined || v === '' || /^\d+$/.test(String(v));

interface TextProps {
  id: string;
  label: string;
  value: string | number | undefined;
  ok: boolean;
  bad: string;
  list?: string;
  onChange: (v: string) => void;
}

function Text({ id, label, value, ok, bad, list, onChange }: TextProps) {
  return (
    <FormGroup label={label} fieldId={id}>
      <TextInput id={id} value={value === undefined ? '' : String(value)} validated={ok ? 'default' : 'error'} list={list ?? ''}
        aria-describedby={ok ? '' : `${id}-bad`} onChange={(_e, v) => onChange(v.trim())} />
      {!ok && <FormHelperText><HelperText><HelperTextItem id={`${id}-bad`} variant="error">{bad}</HelperTextItem></HelperText></FormHelperText>}
    </FormGroup>
  );
}

const TIMES: [keyof Spec & string, string][] = [
  ['granularity', t.granularity], ['minDuration', t.minDuration], ['maxDuration', t.maxDuration], ['prepLead', t.prepLead],
  ['overstay', t.overstay], ['approvalTTL', t.approvalTTL], ['offerWindow', t.offerWindow],
];

const LIMITS: [keyof Limits, string, boolean][] = [
  ['concurrentUnits', t.units, false], ['futureBookings', t.bookings, false], ['maxDuration', t.duration, true],
  ['gpuHoursPerWeek', t.week, false], ['gpuHoursPerMonth', t.month, false],
];

interface PartProps {
  spec: Spec;
  set: (change: (s: Spec) => void) => void;
}

function Times({ spec, set }: PartProps) {
  const values = spec as Record<string, string | number | undefined>;
  return (
    <section className="bk-panel">
      <h2>{t.rules}</h2>
      <datalist id="policy-zones">{allZones().map((z) => <option key={z} value={z} />)}</datalist>
      <div className="bk-two">
        <Text id="policy-zone" label={t.zone} value={spec.timeZone} ok={!spec.timeZone || isZone(spec.timeZone)} bad={t.zone} list="policy-zones"
          onChange={(v) => set((s) => { s.timeZone = v; })} />
        <Text id="policy-days" label={t.daysAhead} value={spec.daysAhead} ok={numberOk(spec.daysAhead)} bad={t.badNumber}
          onChange={(v) => set((s) => { (s as Record<string, unknown>)['daysAhead'] = v === '' ? undefined : Number.isNaN(Number(v)) ? v : Number(v); })} />
        {TIMES.map(([key, label]) => (
          <Text key={key} id={`policy-${key}`} label={label} value={values[key]} ok={durationOk(values[key] as string)} bad={t.badDuration}
            onChange={(v) => set((s) => { (s as Record<string, unknown>)[key] = v; })} />
        ))}
        <FormGroup label={t.geometry} fieldId="policy-geometry">
          <FormSelect id="policy-geometry" value={spec.geometry ?? 'dynamic'} onChange={(_e, v) => set((s) => { s.geometry = v as 'dynamic'; })}>
            {Object.entries(t.geometries).map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
          </FormSelect>
        </FormGroup>
        <Text id="policy-noshow" label={t.noShowAfter} value={spec.noShow?.after} ok={durationOk(spec.noShow?.after)} bad={t.badDuration}
          onChange={(v) => set((s) => { s.noShow = { ...s.noShow, after: v }; })} />
        <FormGroup label={t.noShow} fieldId="policy-noshow-action">
          <FormSelect id="policy-noshow-action" value={spec.noShow?.action ?? 'warn'} onChange={(_e, v) => set((s) => { s.noShow = { ...s.noShow, action: v }; })}>
            {Object.entries(t.noShows).map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
          </FormSelect>
        </FormGroup>
      </div>
    </section>
  );
}

/* What is inside can be read and not changed. Not around what scrolls: that takes the focus all the same. */
function Locked({ when, children }: { when: boolean; children: React.ReactNode }) {
  return <fieldset className="bk-locked" role="none" disabled={when}>{children}</fieldset>;
}

function LimitTable({ spec, set, may }: PartProps & { may: boolean }) {
  const scopes: Scope[] = ['user', 'project', 'tenant'];
  return (
    <section className="bk-panel bk-wide">
      <h2>{t.limits}</h2>
      <p className="bk-faint">{t.limitsHow}</p>
      <div className="bk-scroll-x" role="region" aria-label={t.limits} tabIndex={0}>
        <Locked when={!may}><table className="bk-table">
          <thead>
            <tr><th scope="col"><span className="b-hidden">{t.limits}</span></th>{LIMITS.map(([k, name]) => <th scope="col" key={k}>{name}</th>)}</tr>
          </thead>
          <tbody>
            {scopes.map((scope) => (
              <tr key={scope}>
                <th scope="row">{t.scope[scope]}</th>
                {LIMITS.map(([key, name, isDuration]) => {
                  const value = spec.limits?.[scope]?.[key];
                  return (
                    <td key={key}>
                      <TextInput className="bk-quota-input" aria-label={`${t.scope[scope]}: ${name}`} value={value === undefined ? '' : String(value)}
                        validated={(isDuration ? durationOk(value as string) : numberOk(value)) ? 'default' : 'error'}
                        onChange={(_e, v) => set((s) => {
                          const limits = { ...s.limits?.[scope] } as Record<string, unknown>;
                          const text = v.trim();
                          limits[key] = text === '' ? undefined : !isDuration && /^\d+$/.test(text) ? Number(text) : text;
                          s.limits = { ...s.limits, [scope]: limits };
                        })} />
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table></Locked>
      </div>
    </section>
  );
}

function Rules({ spec, set, may }: PartProps & { may: boolean }) {
  const rules = spec.approval ?? [];
  const put = (i: number, change: (r: Rule) => void) => set((s) => {
    const r = s.approval?.[i];
    if (r) {
      change(r);
    }
  });
  const match = (i: number, key: string, value: unknown) => put(i, (r) => {
    r.match = { ...r.match, [key]: value === '' ? undefined : value };
  });
  return (
    <section className="bk-panel bk-wide">
      <h2>{t.approval}</h2>
      <p className="bk-faint">{t.approvalHow}</p>
      {rules.map((r, i) => (
        <div key={i} className="bk-rule" role="group" aria-label={t.rule(i + 1)}>
          <FormGroup label={t.class} fieldId={`rule-${i}-class`}>
            <FormSelect id={`rule-${i}-class`} value={r.match?.class ?? ''} onChange={(_e, v) => match(i, 'class', v)}>
              <FormSelectOption value="" label={t.any} />
              {Object.entries(B.book.classes).map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
            </FormSelect>
          </FormGroup>
          <Text id={`rule-${i}-units`} label={t.minUnits} value={r.match?.minUnits} ok={numberOk(r.match?.minUnits)} bad={t.badNumber}
            onChange={(v) => match(i, 'minUnits', /^\d+$/.test(v) ? Number(v) : v)} />
          <Text id={`rule-${i}-from`} label={t.from} value={r.match?.minDuration} ok={durationOk(r.match?.minDuration)} bad={t.badDuration}
            onChange={(v) => match(i, 'minDuration', v)} />
          <Text id={`rule-${i}-project`} label={t.project} value={r.match?.project} ok bad="" onChange={(v) => match(i, 'project', v)} />
          <FormGroup label={t.by} fieldId={`rule-${i}-by`}>
            <FormSelect id={`rule-${i}-by`} value={r.by ?? 'auto'} onChange={(_e, v) => put(i, (x) => { x.by = v as 'auto'; })}>
              {Object.entries(t.bys).map(([v, name]) => <FormSelectOption key={v} value={v} label={name} />)}
            </FormSelect>
          </FormGroup>
          {may && <Button variant="link" isDanger onClick={() => set((s) => { s.approval = rules.filter((_x, j) => j !== i); })}
            aria-label={t.dropRule(i + 1)}>{B.admin.delete}</Button>}
        </div>
      ))}
      {may && <div>
        <Button variant="secondary" onClick={() => set((s) => { s.approval = [...rules, { match: { minUnits: 4 }, by: 'manager' }]; })}>{t.addRule}</Button>
      </div>}
    </section>
  );
}

function fine(spec: Spec): boolean {
  const values = spec as Record<string, unknown>;
  const limits = Object.values(spec.limits ?? {}) as (Record<string, unknown> | undefined)[];
  return (!spec.timeZone || isZone(spec.timeZone)) && numberOk(spec.daysAhead) &&
    TIMES.every(([k]) => durationOk(values[k] as string)) && durationOk(spec.noShow?.after) &&
    limits.every((l) => LIMITS.every(([k, , d]) => (d ? durationOk(l?.[k] as string) : numberOk(l?.[k])))) &&
    (spec.approval ?? []).every((r) => numberOk(r.match?.minUnits) && durationOk(r.match?.minDuration));
}

/* An RFC 7386 patch from one to the other: what is gone becomes null. */
export function mergePatch(was: unknown, now: unknown): unknown {
  const isMap = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
  if (!isMap(was) || !isMap(now)) {
    return now;
  }
  const out: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(was), ...Object.keys(now)])) {
    const a = was[key], b = now[key] === '' ? undefined : now[key];
    if (JSON.stringify(a) !== JSON.stringify(b)) {
      out[key] = b === undefined ? null : mergePatch(a, b);
    }
  }
  return out;
}

function PolicyForm({ policy }: { policy: ReservationPolicy }) {
  const [base, setBase] = React.useState(policy); /* what is being edited; a change by somebody else shows when nothing is */
  const was = React.useMemo<Spec>(() => base.spec ?? {}, [base]);
  const [spec, setSpec] = React.useState<Spec>(() => structuredClone(was));
  const [busy, setBusy] = React.useState(false);
  const [error, setError] = React.useState<unknown>();
  const may = useAllowed('patch', reservationPolicies, undefined, policy.metadata.name);
  const set = (change: (s: Spec) => void) => {
    const next = structuredClone(spec);
    change(next);
    setSpec(next);
    setError(undefined);
  };
  const patch = mergePatch(was, JSON.parse(JSON.stringify(spec))) as Record<string, unknown>;
  const changed = Object.keys(patch).length > 0, ok = fine(spec);
  const moved = policy.metadata.generation !== base.metadata.generation;
  const restart = (from: ReservationPolicy) => {
    setBase(from);
    setSpec(structuredClone(from.spec ?? {}));
    setError(undefined);
  };
  React.useEffect(() => {
    if (moved && !changed && !busy) {
      restart(policy);
    }
  }, [moved, changed, busy, policy]);
  const save = () => {
    setBusy(true);
    patchObject(reservationPolicies, policy.metadata.name, undefined,
      { metadata: { resourceVersion: (moved ? base : policy).metadata.resourceVersion }, spec: patch }).then(
      (saved) => {
        toast(B.admin.saved(t.what));
        restart(saved);
        setBusy(false);
      }, (e: unknown) => {
        setError(e);
        setBusy(false);
      });
  };
  return (
    <Form className="bk-panels" onSubmit={(e) => {
      e.preventDefault();
      if (changed && ok) {
        save();
      }
    }}>
      {may === false && <p className="bk-faint bk-wide" data-testid="read-only">{B.admin.readOnly}</p>}
      <div className="bk-panels bk-wide">
        <Locked when={may === false}><div className="bk-wide"><Times spec={spec} set={set} /></div></Locked>
        <LimitTable spec={spec} set={set} may={may !== false} />
        <Locked when={may === false}><Rules spec={spec} set={set} may={may !== false} /></Locked>
      </div>
      <div className="bk-form-foot bk-wide">
        {error !== undefined && <Alert component="p" isInline variant="danger" title={B.mine.failed} isLiveRegion><ErrorText error={error} /></Alert>}
        {may !== false && (
          <>
            <Button variant="primary" type="submit" isDisabled={!changed || !ok || busy} isLoading={busy}>{B.admin.save}</Button>
            <Button variant="link" isDisabled={!changed} onClick={() => restart(policy)}>{t.reset}</Button>
          </>
        )}
      </div>
    </Form>
  );
}

export function Policy() {
  const one = useObject(reservationPolicies, 'default');
  return (
    <Ready of={one} what={t.what} cluster>
      {one.object ? <PolicyForm policy={one.object} /> : <Empty title={t.none}>{t.noneHow}</Empty>}
    </Ready>
  );
}
