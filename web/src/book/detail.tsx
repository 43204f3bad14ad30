/*
 * One booking: when, what, where it is, how to use it, what was made for it, and what can be done.
 */
import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/esm/components/Breadcrumb';
import type { ReactNode } from 'react';
import { Link, href } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { offsetText, rangeText } from '../calendar/zone.ts';
import { useNow, useObject } from '../data/hooks.ts';
import { reservations } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { length, moment } from '../ui/time.ts';
import { PhaseLabel, endOf, nearText, ownerOf, startOf } from './bookings.tsx';
import { CopyLine, YamlBlock } from './copy.tsx';
import { hoursOf, hoursText } from './cost.ts';
import { DeedButtons, DeedWhy, useDeeds } from './deeds.tsx';
import { queueLabel } from './done.tsx';
import { linesText } from './draft.ts';
import { FeedButton } from './feed.tsx';
import { FINAL, type PlannedSlice, type Reservation } from './types.ts';
import { Alternatives } from './verdict.tsx';
import { toYaml } from './yaml.ts';
import { useBooking } from '../app/booking.tsx';

const CLASSES: Record<string, string> = B.book.classes;
const ENDS: Record<string, string> = B.book.ends;

function Facts({ r }: { r: Reservation }) {
  const { zone } = useScope();
  const now = useNow(30_000);
  const s = r.status;
  const start = startOf(r), end = endOf(r);
  const quoted = hoursOf(s, 'quoted'), charged = hoursOf(s, 'charged');
  const rows: [string, ReactNode][] = [
    [B.mine.when, <>{rangeText(start, end, zone)} <span className="bk-sub">{[length(end - start), `UTC${offsetText(start, zone)}`, nearText(r, now)].filter(Boolean).join(' · ')}</span></>],
    [B.mine.resources, linesText(r.spec.lines)],
    [B.mine.project, r.metadata.namespace],
    [B.mine.owner, ownerOf(r) || B.dash],
    [B.mine.purpose, r.spec.purpose || B.dash],
    [B.mine.class, [CLASSES[r.spec.class ?? 'standard'] ?? r.spec.class, r.spec.exclusive ? B.mine.exclusive : ''].filter(Boolean).join(', ')],
    [B.mine.atEnd, ENDS[r.spec.endPolicy ?? 'demote'] ?? r.spec.endPolicy],
  ];
  if (quoted !== undefined || charged !== undefined) {
    rows.push([B.mine.cost, [quoted !== undefined ? B.mine.quoted(hoursText(quoted)) : '', charged !== undefined ? B.mine.charged(hoursText(charged)) : ''].filter(Boolean).join(', ')]);
  }
  if (s?.nextEvent?.at && !FINAL.has(s.phase ?? '')) {
    rows.push([B.mine.next, B.mine.nextEvent(s.nextEvent.type ?? '', moment(s.nextEvent.at, zone))]);
  }
  if (r.spec.seriesName) {
    rows.push([B.mine.series, r.spec.seriesName]);
  }
  return (
    <section className="bk-panel">
      <div className="bk-tools"><PhaseLabel phase={s?.phase} /> {s?.waitlist?.position ? B.mine.position(s.waitlist.position) : null}</div>
      {s?.message && <p>{s.message}</p>}
      <DeedWhy r={r} />
      <dl className="bk-facts">{rows.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>
    </section>
  );
}

function gpuName(p: PlannedSlice): string {
  return p.node ? `${p.node}, GPU ${p.gpuIndex ?? 0}` : (p.flavor ?? '');
}

function Slices({ p }: { p: PlannedSlice }) {
  const whole = !p.profile;
  const start = whole ? 0 : (p.start ?? 0), size = whole ? 8 : (p.size ?? 1);
  const label = whole ? `${B.mine.whole}, ${gpuName(p)}` : B.mine.slicesOf(gpuName(p), p.profile ?? '', start, start + size - 1);
  return (
    <div className="bk-slices" role="img" aria-label={label} title={label}>
      {Array.from({ length: 8 }, (_, i) => <i key={i} style={{ gridColumn: `${i + 1}` }} />)}
      <i className="bk-slice-mine" style={{ gridColumn: `${start + 1} / span ${size}` }}>{whole ? B.mine.whole : p.profile}</i>
    </div>
  );
}

function Place({ r }: { r: Reservation }) {
  const plan = r.status?.plan ?? [];
  if (plan.length === 0) {
    return null;
  }
  return (
    <section className="bk-panel">
      <h2>{B.mine.planTitle}</h2>
      {!['Active', 'Degraded', 'Ending'].includes(r.status?.phase ?? '') && <p className="bk-faint">{B.mine.placeLater}</p>}
      {plan.slice(0, 16).map((p, i) => (
        <div key={i}>
          <span className="bk-sub">{gpuName(p)}</span>
          {p.node && <Slices p={p} />}
        </div>
      ))}
    </section>
  );
}

function Use({ r }: { r: Reservation }) {
  const o = r.status?.objects;
  return (
    <section className="bk-panel">
      <h2>{B.mine.useTitle}</h2>
      <p className="bk-faint">{B.book.useItHow}</p>
      <CopyLine text={queueLabel(r)} label={B.copyLabel} />
      <div><FeedButton ns={r.metadata.namespace ?? ''} /></div>
      <h3>{B.mine.objectsTitle}</h3>
      {!o?.clusterQueue && !o?.localQueue ? <p className="bk-faint">{o?.message || B.mine.objectsNone}</p> : (
        <dl className="bk-facts">
          <div><dt>{B.mine.clusterQueue}</dt><dd>{o.clusterQueue ?? B.dash}</dd></div>
          <div><dt>{B.mine.localQueue}</dt><dd>{o.localQueue ?? B.dash}</dd></div>
          <div><dt>{B.mine.profiles}</dt><dd>{o.hardwareProfiles?.join(', ') || B.dash}</dd></div>
        </dl>
      )}
    </section>
  );
}

function Happened({ r }: { r: Reservation }) {
  const { zone } = useScope();
  const list = [...(r.status?.conditions ?? [])]
    .sort((a, b) => (a.lastTransitionTime ?? '').localeCompare(b.lastTransitionTime ?? ''));
  return (
    <section className="bk-panel">
      <h2>{B.mine.conditions}</h2>
      {list.length === 0 ? <p className="bk-faint">{B.mine.conditionsNone}</p> : (
        <ol className="bk-life">
          {list.map((c) => (
            <li key={c.type}>
              <strong>{c.type}{c.status === 'True' ? '' : ` (${c.status})`}</strong> {c.message}
              <br /><time dateTime={c.lastTransitionTime}>{c.lastTransitionTime ? moment(c.lastTransitionTime, zone) : ''}</time>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function clean(r: Reservation): unknown {
  const { managedFields: _m, ...metadata } = r.metadata as Reservation['metadata'] & { managedFields?: unknown };
  return { apiVersion: 'berth.dev/v1alpha1', kind: 'Reservation', metadata, spec: r.spec, status: r.status };
}

export function BookingDetail({ ns, name }: { ns: string; name: string }) {
  const one = useObject(reservations, name, ns);
  const { zone } = useScope();
  const deeds = useDeeds();
  const booking = useBooking();
  const r = one.object;
  const above = (
    <Breadcrumb>
      <BreadcrumbItem><Link to={href('bookings')}>{B.mine.back}</Link></BreadcrumbItem>
      <BreadcrumbItem isActive>{name}</BreadcrumbItem>
    </Breadcrumb>
  );
  return (
    <Screen title={r?.spec.purpose || name} above={above} actions={r ? <DeedButtons r={r} start={deeds.start} /> : undefined}>
      <Ready of={one} what={B.mine.what}>
        {() => (!r ? <Empty title={B.mine.notThere}>{B.mine.notThereHow}</Empty> : (
          <div className="bk-panels" data-testid="booking-detail">
            <Facts r={r} />
            <Place r={r} />
            {!FINAL.has(r.status?.phase ?? '') && <Use r={r} />}
            {(r.status?.alternatives?.length ?? 0) > 0 && booking.may !== false && (
              <section className="bk-panel">
                <Alternatives list={r.status?.alternatives ?? []} zone={zone} onTake={(a) => booking.open({
                  project: ns, ...(a.start ? { start: a.start } : {}), ...(a.end ? { end: a.end } : {}), lines: a.lines?.length ? a.lines : r.spec.lines,
                })} />
              </section>
            )}
            <Happened r={r} />
            <section className="bk-panel bk-wide">
              <details className="bk-details">
                <summary>{B.mine.yaml}</summary>
                <YamlBlock text={toYaml(clean(r))} label={B.book.yamlLabel} />
              </details>
            </section>
          </div>
        ))}
      </Ready>
      {deeds.dialog}
    </Screen>
  );
}
