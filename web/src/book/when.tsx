/*
 * When: presets, times in a zone that is shown, and how often. What clocks do to the times is said where it matters.
 */
import * as React from 'react';
import { FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import { B } from '../strings.ts';
import { changesIn, fromInput, isSkipped, offsetText, toInput } from '../calendar/zone.ts';
import { ZonePicker } from '../calendar/zone_picker.tsx';
import { length } from '../ui/time.ts';
import { presetRange, type Draft, type Fault, type Preset, type Repeat } from './draft.ts';

interface Props {
  draft: Draft;
  set: (d: Partial<Draft>) => void;
  faults: Fault[];
  now: number;
  step: number;
  policyZone: string | undefined;
  once: boolean; /* an existing booking: it does not come to repeat */
}

/* A time that is being typed is kept as typed until it is one. */
function TimeInput({ id, at, zone, label, invalid, describedBy, onChange }: {
  id: string; at: number; zone: string; label: string; invalid: boolean; describedBy: string; onChange: (at: number) => void;
}) {
  const shown = toInput(at, zone);
  const [typed, setTyped] = React.useState<string | undefined>(undefined);
  return (
    <TextInput id={id} type="datetime-local" step={900} aria-label={label} value={typed ?? shown} isRequired
      validated={invalid ? 'error' : 'default'} aria-describedby={describedBy}
      onChange={(_e, v) => {
        const next = fromInput(v, zone);
        setTyped(next !== undefined && !isSkipped(v, zone) ? undefined : v);
        if (next !== undefined) {
          onChange(next);
        }
      }}
      onBlur={() => setTyped(undefined)} />
  );
}

function zoneNotes(draft: Draft): string[] {
  const notes = [B.book.lasts(length(draft.end - draft.start), offsetText(draft.start, draft.zone))];
  if (changesIn(draft.start, draft.end, draft.zone).length > 0) {
    notes.push(B.book.crosses(offsetText(draft.start, draft.zone), offsetText(draft.end, draft.zone)));
  }
  return notes;
}

const PRESETS: Preset[] = ['now', 'afternoon', 'tomorrow', 'custom'];

export function When({ draft, set, faults, now, step, policyZone, once }: Props) {
  const minute = Math.floor(now / 60_000) * 60_000;
  const ranges = PRESETS.map((p) => [p, presetRange(p, minute, draft.zone, step)] as const);
  const [chosen, choose] = React.useState<Preset | undefined>(undefined);
  const current = chosen ??
    ranges.find(([, r]) => r && r[0] === draft.start && r[1] === draft.end)?.[0] ?? 'custom';
  const bad = faults.includes('order') || faults.includes('past') || faults.includes('long');
  return (
      <FormGroup label={B.book.when} role="group" fieldId="book-when">
        <ToggleGroup aria-label={B.book.presets} className="bk-wrap">
          {ranges.filter(([p, r]) => r || p === 'custom').map(([p, r]) => (
            <ToggleGroupItem key={p} buttonId={`book-${p}`} text={B.book.preset[p]} isSelected={p === current}
              onChange={() => {
                choose(p);
                if (r) {
                  set({ start: r[0], end: r[1] });
                }
              }} />
          ))}
        </ToggleGroup>
        <div className="bk-times">
          <label htmlFor="book-start">{B.book.from}</label>
          <TimeInput id="book-start" at={draft.start} zone={draft.zone} label={B.book.from} invalid={bad}
            describedBy="book-when-help" onChange={(start) => {
              choose('custom');
              set({ start, end: Math.max(draft.end, start) === draft.end && draft.end > start ? draft.end : start + (draft.end - draft.start) });
            }} />
          <label htmlFor="book-end">{B.book.to}</label>
          <TimeInput id="book-end" at={draft.end} zone={draft.zone} label={B.book.to} invalid={bad}
            describedBy="book-when-help" onChange={(end) => {
              choose('custom');
              set({ end });
            }} />
        </div>
        <div className="bk-inline">
          <ZonePicker id="book-zone" zone={draft.zone} policyZone={policyZone} onChange={(zone) => {
            /* The clock times that were written stay; the instants move. */
            const start = fromInput(toInput(draft.start, draft.zone), zone) ?? draft.start;
            const end = fromInput(toInput(draft.end, draft.zone), zone) ?? draft.end;
            set({ zone, start, end });
          }} />
          {!once && <RepeatFields repeat={draft.repeat} set={(repeat) => set({ repeat })} bad={faults.includes('repeat')} />}
        </div>
        <FormHelperText>
          <HelperText id="book-when-help">
            {faults.includes('order') && <HelperTextItem variant="error">{B.book.fault.order}</HelperTextItem>}
            {faults.includes('past') && <HelperTextItem variant="error">{B.book.fault.past}</HelperTextItem>}
            {faults.includes('long') && <HelperTextItem variant="error">{B.book.fault.long}</HelperTextItem>}
            {!bad && zoneNotes(draft).map((n) => <HelperTextItem key={n}>{n}</HelperTextItem>)}
          </HelperText>
        </FormHelperText>
      </FormGroup>
  );
}

function RepeatFields({ repeat, set, bad }: { repeat: Repeat; set: (r: Repeat) => void; bad: boolean }) {
  return (
    <div className="bk-inline">
        <FormSelect id="book-repeat" aria-label={B.book.repeat} value={repeat.freq} onChange={(_e, v) => set({ ...repeat, freq: v as Repeat['freq'] })}>
          {(['none', 'DAILY', 'WEEKDAYS', 'WEEKLY'] as const).map((f) => <FormSelectOption key={f} value={f} label={B.book.freq[f]} />)}
        </FormSelect>
        {repeat.freq !== 'none' && (
          <>
            <TextInput id="book-count" type="number" min={1} max={366} aria-label={B.book.times} value={repeat.count}
              validated={bad ? 'error' : 'default'} className="bk-few"
              onChange={(_e, v) => set({ ...repeat, count: Number(v) })} />
            <span>{B.book.timesUnit}</span>
            <FormSelect id="book-conflicts" aria-label={B.book.onConflict} value={repeat.conflictPolicy}
              onChange={(_e, v) => set({ ...repeat, conflictPolicy: v as Repeat['conflictPolicy'] })}>
              {(['Reject', 'Skip', 'Waitlist'] as const).map((p) => <FormSelectOption key={p} value={p} label={B.book.conflictPolicy[p]} />)}
            </FormSelect>
          </>
        )}
    </div>
  );
}
