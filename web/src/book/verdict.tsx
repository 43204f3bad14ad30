/*
 * What would come of the booking as it stands, beside the form: the verdict, who is in the way, what would fit
 * instead, what it costs, and the objects that will be made.
 */
import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import { B } from '../strings.ts';
import { DAY, HOUR, MINUTE, dayText, rangeText, startOfDay, timeText } from '../calendar/zone.ts';
import { ErrorText } from '../ui/toasts.tsx';
import { unitsOf, hoursOf, hoursText } from './cost.ts';
import type { CheckAnswer } from './check.ts';
import { YamlBlock } from './copy.tsx';
import { linesText, objectOf, type Draft } from './draft.ts';
import type { Alternative, Availability, Conflict, Line, ReservationPolicy } from './types.ts';
import { resourceName } from './what.tsx';
import { toYamlStream } from './yaml.ts';

/* ---- the timeline around the window ---- */

export function windowAround(start: number, end: number): [number, number, number] {
  const pad = Math.max(2 * HOUR, Math.min(DAY, (end - start) / 2));
  const from = Math.floor((start - pad) / HOUR) * HOUR, to = Math.ceil((end + pad) / HOUR) * HOUR;
  const step = Math.max(30 * MINUTE, Math.ceil((to - from) / 96 / (30 * MINUTE)) * 30 * MINUTE);
  return [from, to, step];
}

const itemOf = (l: Line, items: Availability[]): Availability[] =>
  items.filter((i) => i.resource === l.resource && (!l.flavor || i.flavor === l.flavor));

const conflictText = (c: Conflict, zone: string): string =>
  [rangeText(Date.parse(c.start ?? ''), Date.parse(c.end ?? ''), zone), c.text].filter(Boolean).join(': ');

function MiniTimeline({ draft, items, conflicts, now }: { draft: Draft; items: Availability[]; conflicts: Conflict[]; now: number }) {
  const [from, to] = windowAround(draft.start, draft.end);
  const span = to - from;
  const at = (x: number) => Math.min(100, Math.max(0, ((x - from) / span) * 100));
  const ticks: number[] = [];
  const every = span > 4 * DAY ? DAY : span > DAY ? 6 * HOUR : span > 10 * HOUR ? 4 * HOUR : 2 * HOUR;
  for (let t = startOfDay(from, draft.zone); t < to; t += every) {
    if (t > from + span * 0.02 && t < to - span * 0.08) {
      ticks.push(t);
    }
  }
  const rows = draft.lines.flatMap((l) => itemOf(l, items).slice(0, 1).map((item) => ({ line: l, item })));
  if (rows.length === 0) {
    return null;
  }
  const words = conflicts.map((c) => conflictText(c, draft.zone)).join('; ');
  return (
    <div className="bk-mini" role="img"
      aria-label={B.book.miniLabel(rangeText(draft.start, draft.end, draft.zone), words)}>
      <div className="bk-mini-ticks">
        {ticks.map((t) => (
          <span key={t} style={{ insetInlineStart: `${at(t)}%` }}>{every === DAY ? dayText(t, draft.zone) : timeText(t, draft.zone)}</span>
        ))}
      </div>
      {rows.map(({ line, item }) => (
        <div key={`${item.flavor}${item.resource}`} className="bk-mini-row">
          <div className="bk-mini-name">{resourceName(item.resource)}</div>
          <div className="bk-mini-track">
            {(item.slots ?? []).map((s) => {
              const a = at(Date.parse(s.start)), b = at(Date.parse(s.end));
              return (
                <i key={s.start} data-free={s.free < line.count ? 'none' : s.free < s.total ? 'some' : 'all'}
                  style={{ insetInlineStart: `${a}%`, inlineSize: `${Math.max(0, b - a)}%` }} />
              );
            })}
          </div>
        </div>
      ))}
      <div className="bk-mini-window" style={{ insetInlineStart: `${at(draft.start)}%`, inlineSize: `${at(draft.end) - at(draft.start)}%` }} />
      {now > from && now < to && <div className="bk-mini-now" style={{ insetInlineStart: `${at(now)}%` }} />}
    </div>
  );
}

/* ---- what would fit instead ---- */

export function alternativeText(a: Alternative, zone: string): string {
  const when = a.start && a.end ? rangeText(Date.parse(a.start), Date.parse(a.end), zone) : '';
  const what = a.lines?.length ? linesText(a.lines) : '';
  return [when, what].filter(Boolean).join(' · ') || a.text || a.kind;
}

export function Alternatives({ list, zone, onTake }: { list: Alternative[]; zone: string; onTake: (a: Alternative) => void }) {
  const takeable = list.filter((a) => a.start || a.lines?.length);
  if (list.length === 0) {
    return null;
  }
  return (
    <div className="bk-alts" role="group" aria-label={B.book.alternatives}>
      <h2>{B.book.alternatives}</h2>
      <ul>
        {list.map((a, i) => (
          <li key={i}>
            {takeable.includes(a) ? (
              <Button variant="secondary" isBlock className="bk-alt" onClick={() => onTake(a)} data-testid={`alternative-${a.kind}`}>
                <span className="bk-alt-kind">{B.book.alt[a.kind] ?? a.kind}</span>
                <span>{alternativeText(a, zone)}</span>
              </Button>
            ) : <span className="bk-faint">{a.text}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

/* ---- the verdict ---- */

function Verdict({ answer, draft }: { answer: CheckAnswer; draft: Draft }) {
  const s = answer.status;
  if (answer.error) {
    const variant = answer.error.forbidden ? 'warning' : 'danger';
    return (
      <Alert component="p" isInline variant={variant} title={answer.error.forbidden ? B.book.mayNot(draft.project) : B.book.cannotCheck}>
        <ErrorText error={answer.error} />
      </Alert>
    );
  }
  if (answer.asking || !s) {
    return <p className="bk-checking"><Spinner size="md" aria-label={B.book.checking} /> {B.book.checking}</p>;
  }
  if (s.fits) {
    const held = s.phase === 'PendingApproval';
    return (
      <Alert component="p" isInline variant={held ? 'info' : 'success'} title={held ? B.book.fitsApproval : B.book.fits} data-testid="verdict-fits">
        {held ? B.book.approvalHow : B.book.fitsHow}
      </Alert>
    );
  }
  const words = (s.refusals ?? []).map((r) => r.text || B.book.refusal(r.limit ?? '', r.scope ?? '', String(r.allowed ?? ''), String(r.asked ?? '')));
  return (
    <Alert component="p" isInline variant="warning" title={s.phase === 'Waitlisted' ? B.book.wouldWait : B.book.doesNotFit} data-testid="verdict-no">
      {s.message && <p>{s.message}</p>}
      {words.filter((w) => w !== s.message).length > 0 && <ul className="bk-list">{words.filter((w) => w !== s.message).map((w) => <li key={w}>{w}</li>)}</ul>}
    </Alert>
  );
}

export interface UsedLimit {
  text: string;
  used: number;
  allowed: number;
}

interface Props {
  draft: Draft;
  answer: CheckAnswer;
  ready: boolean; /* the form has all that a check needs */
  items: Availability[];
  now: number;
  limits: UsedLimit[];
  policy: ReservationPolicy | undefined;
  onTake: (a: Alternative) => void;
}

export function LiveSide({ draft, answer, ready, items, now, limits, onTake }: Props) {
  const s = answer.status;
  const hours = hoursOf(s, 'quoted') ??
    (draft.lines.length > 0 ? String(unitsOf(draft.lines, items) * ((draft.end - draft.start) / HOUR)) : undefined);
  const conflicts = s?.conflicts ?? [];
  const own = objectOf(draft);
  const made = s?.objects?.length && draft.repeat.freq === 'none' ? withOwn(own, s.objects) : [own];
  return (
    <section className="bk-live" aria-label={B.book.preview}>
      <div aria-live="polite" data-testid="verdict">
        {ready ? <Verdict answer={answer} draft={draft} /> : <p className="bk-faint">{B.book.pickFirst}</p>}
      </div>
      <MiniTimeline draft={draft} items={items} conflicts={conflicts} now={now} />
      {conflicts.length > 0 && (
        <ul className="bk-list bk-conflicts" aria-label={B.book.conflicts}>
          {conflicts.slice(0, 4).map((c, i) => (
            <li key={i}>{conflictText(c, draft.zone)}</li>
          ))}
        </ul>
      )}
      {s && !s.fits && <Alternatives list={s.alternatives ?? []} zone={draft.zone} onTake={onTake} />}
      <dl className="bk-facts">
        <div><dt>{B.book.cost}</dt><dd>{hours === undefined ? B.dash : B.book.gpuHours(hoursText(hours))}</dd></div>
        <div><dt>{B.book.approval}</dt><dd>{s ? (s.phase === 'PendingApproval' ? B.book.approvalNeeded : B.book.approvalNone) : B.dash}</dd></div>
        {limits.map((l) => (
          <div key={l.text}>
            <dt>{l.text}</dt>
            <dd>{B.book.ofLimit(hoursText(l.used), hoursText(l.allowed))}
              <meter min={0} max={l.allowed} value={Math.min(l.used, l.allowed)} aria-label={l.text} /></dd>
          </div>
        ))}
      </dl>
      <details className="bk-details">
        <summary>{B.book.yaml}</summary>
        <YamlBlock text={toYamlStream(made)} label={B.book.yamlLabel} />
      </details>
    </section>
  );
}

/* The server's own view of the booking gives way to what is sent; the queues made of it are the server's to say. */
function withOwn(own: Record<string, unknown>, objects: unknown[]): unknown[] {
  return [own, ...objects.filter((o) => (o as { kind?: string }).kind !== 'Reservation')];
}
