// Overview: what there is of each type of GPU and each size of slice, how it was used, and what needs attention.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Card, CardBody, CardHeader, CardTitle } from '@patternfly/react-core/dist/esm/components/Card';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon';
import ChipIcon from '@patternfly/react-icons/dist/esm/icons/microchip-icon';
import { useMemo, useState, type ReactNode } from 'react';
import { useBooking } from '../app/booking.tsx';
import { href, Link } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useList, useObject } from '../data/hooks.ts';
import { fleetHistories, fleets } from '../data/kinds.ts';
import type { Attention, FleetResource, FleetType } from '../data/types.ts';
import { strings } from '../strings.ts';
import { TimeChart, type Series } from '../ui/chart.tsx';
import { compareResources, num, profileOf } from '../ui/names.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { Legend, Strip } from '../ui/strip.tsx';

const s = strings.overview;
const DAY = 86_400_000;

export function productName(t: FleetType): string {
  return (t.product || t.flavor).replace(/-/g, ' ');
}

function parts(r: FleetResource): Parameters<typeof Strip>[0]['parts'] {
  return [
    { kind: 'used', label: s.used, value: r.used },
    { kind: 'reserved', label: s.reserved, value: r.reserved },
    { kind: 'broken', label: s.broken, value: r.broken },
    { kind: 'free', label: s.free, value: r.free },
  ];
}

function Tiles(p: { types: FleetType[] }): ReactNode {
  const whole = p.types.flatMap((t) => t.resources.filter((r) => !profileOf(r.resource)));
  const sum = (f: (r: FleetResource) => number): number => whole.reduce((a, r) => a + f(r), 0);
  const total = sum((r) => r.total);
  const waiting = p.types.reduce((a, t) => a + t.resources.reduce((b, r) => b + r.waiting, 0), 0);
  const tile = (label: string, value: string, of: string, kind: string): ReactNode => (
    <div className={`b-tile b-tile-${kind}`} key={label}>
      <dt>{label}</dt>
      <dd>
        <span className="b-tile-n">{value}</span> <span className="b-quiet">{of}</span>
      </dd>
    </div>
  );
  return (
    <dl className="b-tiles">
      {tile(s.tileFree, num(sum((r) => r.free)), s.ofGpus(total), 'free')}
      {tile(s.tileUsed, num(sum((r) => r.used)), s.ofGpus(total), 'used')}
      {tile(s.tileReserved, num(sum((r) => r.reserved)), s.reservedNote, 'reserved')}
      {tile(s.tileWaiting, num(waiting), s.waitingNote, 'waiting')}
    </dl>
  );
}

// Sizes hardly anybody asks for stay folded away while nobody has or wants one.
function rare(r: FleetResource): boolean {
  return r.used + r.waiting + r.reserved === 0 && /\.me$|\+|\bme\b/.test(r.resource);
}

function TypeCard(p: { type: FleetType }): ReactNode {
  const { open, may } = useBooking();
  const [all, setAll] = useState(false);
  const rows = [...p.type.resources].sort((a, b) => compareResources(a.resource, b.resource));
  const hidden = rows.filter(rare);
  const shown = all ? rows : rows.filter((r) => !rare(r));
  const now = new Date();
  now.setMinutes(Math.ceil(now.getMinutes() / 15) * 15, 0, 0);
  return (
    <Card className="b-fleet">
      <CardHeader>
        <div className="b-card-head">
          <CardTitle component="h2">
            {productName(p.type)} <span className="b-quiet b-mono">{p.type.flavor}</span>
          </CardTitle>
          <Legend
            items={[
              { kind: 'used', label: s.used },
              { kind: 'reserved', label: s.reserved },
              { kind: 'free', label: s.free },
              { kind: 'broken', label: s.broken },
            ]}
          />
        </div>
      </CardHeader>
      <CardBody>
        <table className="b-table b-fleet-table">
          <caption className="b-hidden">{s.fleetOf(productName(p.type))}</caption>
          <thead>
            <tr>
              <th scope="col">{s.size}</th>
              <th scope="col" className="b-fleet-strip">
                <span className="b-hidden">{s.picture}</span>
              </th>
              <th scope="col" className="b-num">
                {s.free}
              </th>
              <th scope="col" className="b-num">
                {s.used}
              </th>
              <th scope="col" className="b-num">
                {s.reserved}
              </th>
              <th scope="col" className="b-num">
                {s.waiting}
              </th>
              <th scope="col" className="b-num">
                {s.total}
              </th>
              <th scope="col">
                <span className="b-hidden">{s.action}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((r) => {
              const profile = profileOf(r.resource);
              return (
                <tr key={r.resource} data-testid={`fleet-${r.resource}`}>
                  <th scope="row">{profile ? <span className="b-mono">{profile}</span> : s.wholeGpu}</th>
                  <td className="b-fleet-strip">
                    <Strip parts={parts(r)} total={r.total} label={profile ?? s.wholeGpu} />
                  </td>
                  <td className="b-num" data-label={s.free}>
                    <b className={r.free > 0 ? 'b-good' : ''}>{num(r.free)}</b>
                  </td>
                  <td className="b-num" data-label={s.used}>
                    {num(r.used)}
                  </td>
                  <td className="b-num" data-label={s.reserved}>
                    {num(r.reserved)}
                  </td>
                  <td className="b-num" data-label={s.waiting}>
                    {r.waiting > 0 ? <b>{num(r.waiting)}</b> : 0}
                  </td>
                  <td className="b-num" data-label={s.total}>
                    {num(r.total)}
                    {r.broken > 0 && <span className="b-bad"> {s.brokenOf(r.broken)}</span>}
                  </td>
                  <td className="b-num b-fleet-act">
                    {may !== false && (
                      <Button
                        variant="link"
                        isInline
                        aria-label={s.bookOne(profile ?? s.wholeGpu)}
                        onClick={() =>
                          open({
                            start: now.toISOString(),
                            lines: [{ resource: r.resource, count: 1, flavor: p.type.flavor }],
                          })
                        }
                      >
                        {s.book}
                      </Button>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        <div className="b-fleet-foot">
          <p className="b-quiet b-small">{shown.length > 1 ? s.shareNote : ''}</p>
          {hidden.length > 0 && (
            <Button variant="link" size="sm" isInline onClick={() => setAll(!all)} aria-expanded={all}>
              {all ? s.fewer : s.moreSizes(hidden.length)}
            </Button>
          )}
        </div>
      </CardBody>
    </Card>
  );
}

function History(): ReactNode {
  const { zone } = useScope();
  const h = useList(fleetHistories);
  const types = h.items;
  const [picked, setPicked] = useState(0);
  const one = types[Math.min(picked, types.length - 1)];
  const chart = useMemo(() => {
    const samples = one?.samples ?? [];
    const at = samples.map((x) => new Date(x.at).getTime());
    const series: Series[] = [
      { key: 'total', label: s.total, look: 'line', colour: 'total', values: samples.map((x) => x.total) },
      { key: 'used', label: s.used, look: 'area', colour: 'used', values: samples.map((x) => x.used) },
      { key: 'reserved', label: s.reserved, look: 'stripes', colour: 'reserved', values: samples.map((x) => x.reserved) },
      {
        key: 'busy',
        label: s.busy,
        look: 'dashes',
        colour: 'busy',
        values: samples.map((x) => (x.busyPct === undefined ? undefined : (x.busyPct * x.total) / 100)),
      },
    ];
    return { at, series, top: Math.max(1, ...samples.map((x) => x.total)) };
  }, [one]);
  const span = Math.min(DAY, Math.max(3_600_000, (chart.at[chart.at.length - 1] ?? 0) - (chart.at[0] ?? 0)));
  return (
    <Card className="b-history">
      <CardHeader>
        <CardTitle component="h2">{s.history}</CardTitle>
      </CardHeader>
      <CardBody>
        <Ready of={h} what={s.historyWhat} cluster lines={5}>
          {() =>
            chart.at.length === 0 ? (
              <Empty title={s.noHistory}>{s.noHistoryWhy}</Empty>
            ) : (
              <>
                {types.length > 1 && (
                  <ToggleGroup isCompact aria-label={s.type}>
                    {types.map((t, i) => (
                      <ToggleGroupItem
                        key={t.metadata.name}
                        text={(t.product ?? t.flavor ?? '').replace(/-/g, ' ')}
                        buttonId={`history-${i}`}
                        isSelected={i === picked}
                        onChange={() => setPicked(i)}
                      />
                    ))}
                  </ToggleGroup>
                )}
                <TimeChart label={s.historyLabel} zone={zone} at={chart.at} series={chart.series} top={chart.top} span={span} />
                <p className="b-quiet b-small">{s.historyNote}</p>
              </>
            )
          }
        </Ready>
      </CardBody>
    </Card>
  );
}

function linkOf(a: Attention): string | undefined {
  if (!a.name) {
    return undefined;
  }
  switch (a.kind) {
    case 'Workload':
      return href('workloads', a.namespace ?? '', a.name);
    case 'Reservation':
      return href('bookings', a.namespace ?? '', a.name);
    case 'ClusterQueue':
    case 'LocalQueue':
    case 'Cohort':
      return href('queues');
    case 'Node':
      return href('gpus');
    default:
      return undefined;
  }
}

const MOST = 8;

function Needs(p: { items: Attention[] }): ReactNode {
  const [all, setAll] = useState(false);
  const rank = (a: Attention): number => (a.severity === 'danger' ? 0 : a.severity === 'warning' ? 1 : 2);
  const sorted = [...p.items].sort((a, b) => rank(a) - rank(b));
  const shown = all ? sorted : sorted.slice(0, MOST);
  return (
    <Card className="b-needs">
      <CardHeader>
        <CardTitle component="h2">
          {s.attention} {p.items.length > 0 && <span className="b-quiet">{p.items.length}</span>}
        </CardTitle>
      </CardHeader>
      <CardBody>
        {p.items.length === 0 ? (
          <p className="b-allwell">
            <CheckCircleIcon className="b-good" /> {s.allWell}
          </p>
        ) : (
          <ul className="b-list">
            {shown.map((a, i) => {
              const to = linkOf(a);
              const bad = a.severity === 'danger';
              return (
                <li key={`${a.kind}/${a.namespace}/${a.name}/${i}`}>
                  {bad ? (
                    <ExclamationCircleIcon className="b-bad" aria-label={s.severity.danger} />
                  ) : a.severity === 'warning' ? (
                    <ExclamationTriangleIcon className="b-warn" aria-label={s.severity.warning} />
                  ) : (
                    <InfoCircleIcon className="b-quiet" aria-label={s.severity.info} />
                  )}
                  <div>
                    <p>{a.text}</p>
                    {a.name && (
                      <p className="b-small">
                        {to ? (
                          <Link to={to}>
                            {a.namespace ? `${a.namespace}/` : ''}
                            {a.name}
                          </Link>
                        ) : (
                          <span className="b-quiet">
                            {a.kind} {a.namespace ? `${a.namespace}/` : ''}
                            {a.name}
                          </span>
                        )}
                      </p>
                    )}
                  </div>
                </li>
              );
            })}
          </ul>
        )}
        {sorted.length > MOST && (
          <Button variant="link" isInline onClick={() => setAll(!all)} aria-expanded={all}>
            {all ? s.fewerNeeds : s.moreNeeds(sorted.length - MOST)}
          </Button>
        )}
      </CardBody>
    </Card>
  );
}

export default function Overview(): ReactNode {
  const fleet = useObject(fleets, 'current');
  const types = fleet.object?.types ?? [];
  return (
    <Screen title={strings.nav.overview} lead={s.lead}>
      <Ready of={fleet} what={s.what} cluster lines={10}>
        {() =>
          types.length === 0 ? (
            <Empty title={s.noGpus} icon={ChipIcon}>
              {s.noGpusWhy}
            </Empty>
          ) : (
            <div className="b-overview">
              <Tiles types={types} />
              <div className="b-overview-main">
                {types.map((t) => (
                  <TypeCard key={t.flavor + (t.product ?? '')} type={t} />
                ))}
                <History />
              </div>
              <div className={`b-overview-side${(fleet.object?.attention ?? []).length > 0 ? ' b-some' : ''}`}>
                <Needs items={fleet.object?.attention ?? []} />
              </div>
            </div>
          )
        }
      </Ready>
    </Screen>
  );
}
