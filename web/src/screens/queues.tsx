// Queues: who has which quota and who borrows it, what waits and when it may start, and who preempted whom.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Card, CardBody, CardHeader, CardTitle } from '@patternfly/react-core/dist/esm/components/Card';
import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import AngleDownIcon from '@patternfly/react-icons/dist/esm/icons/angle-down-icon';
import AngleRightIcon from '@patternfly/react-icons/dist/esm/icons/angle-right-icon';
import SitemapIcon from '@patternfly/react-icons/dist/esm/icons/sitemap-icon';
import { useMemo, useState, type ReactNode } from 'react';
import { href, Link, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useList, useNow } from '../data/hooks.ts';
import { clusterQueues, cohorts, events, explanations, localQueues } from '../data/kinds.ts';
import type { ClusterQueue, CoreEvent } from '../data/types.ts';
import { strings } from '../strings.ts';
import { startExact, startWords } from '../ui/estimate.ts';
import { amount, num, resourceName } from '../ui/names.ts';
import { Picker } from '../ui/picker.tsx';
import { pairKey, pairsOf, quotaTree, readPreempted, readPreemption, type Pair, type Preemption, type QuotaNode } from '../ui/quota.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { Legend, Strip, type Part } from '../ui/strip.tsx';
import { exact, millis, moment, relative } from '../ui/time.ts';

const s = strings.queues;
const MOST = 200;

function barOf(n: QuotaNode): Part[] {
  const own = Math.min(n.used, n.nominal);
  const free = Math.max(0, n.nominal - own - n.lent);
  return [
    { kind: 'used', label: s.ownUsed, value: own },
    { kind: 'lent', label: s.lent, value: n.kind === 'queue' ? n.lent : 0 },
    { kind: 'free', label: s.unused, value: n.kind === 'queue' ? free : Math.max(0, n.nominal - own) },
    { kind: 'borrowed', label: s.borrowed, value: n.borrowed },
  ];
}

function Stopped(p: { queue: ClusterQueue }): ReactNode {
  const active = p.queue.status?.conditions?.find((c) => c.type === 'Active');
  const stop = p.queue.spec.stopPolicy;
  if (stop && stop !== 'None') {
    return (
      <Label isCompact color="orange" variant="outline">
        {stop === 'Hold' ? s.onHold : s.draining}
      </Label>
    );
  }
  return active?.status === 'False' ? (
    <Label isCompact color="red" variant="outline" title={active.message ?? ''}>
      {s.inactive}
    </Label>
  ) : null;
}

// The booking a queue was made for.
function booked(n: QuotaNode): string {
  return n.queue?.metadata.labels?.['berth.dev/reservation'] ?? '';
}

function Tree(p: { roots: QuotaNode[]; pair: Pair; picked: string }): ReactNode {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows: QuotaNode[] = [];
  const walk = (n: QuotaNode): void => {
    rows.push(n);
    if (n.kind === 'cohort' && !closed.has(n.name)) {
      n.children.forEach(walk);
    }
  };
  p.roots.forEach(walk);
  const widest = Math.max(1e-9, ...rows.map((n) => Math.max(n.nominal, n.used)));
  const shares = rows.some((n) => n.share !== undefined);
  const say = (v: number): string => amount(p.pair.resource, v);
  const limit = (n: QuotaNode): string =>
    n.borrowingLimit === undefined ? '' : s.atMost(say(n.borrowingLimit));
  return (
    <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.tree}>
      <table className="b-table b-tree">
        <caption className="b-hidden">{s.treeOf(resourceName(p.pair.resource), p.pair.flavor)}</caption>
        <thead>
          <tr>
            <th scope="col">{s.queue}</th>
            <th scope="col" className="b-tree-bar">
              <span className="b-hidden">{strings.overview.picture}</span>
            </th>
            <th scope="col" className="b-num">
              {s.nominal}
            </th>
            <th scope="col" className="b-num">
              {s.used}
            </th>
            <th scope="col" className="b-num">
              {s.borrowed}
            </th>
            <th scope="col" className="b-num" title={s.lentWhy}>
              {s.lent}
            </th>
            {shares && (
              <th scope="col" className="b-num" title={s.shareWhy}>
                {s.share}
              </th>
            )}
            <th scope="col" className="b-num">
              {s.running}
            </th>
            <th scope="col" className="b-num">
              {s.waiting}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((n) => {
            const open = !closed.has(n.name);
            return (
              <tr key={`${n.kind}/${n.name}`} className={`b-tree-${n.kind}${p.picked === n.name && n.kind === 'queue' ? ' b-picked' : ''}`}>
                <th scope="row">
                  <span className="b-tree-name" style={{ paddingInlineStart: `${n.depth * 1.25}rem` }}>
                    {n.kind === 'cohort' ? (
                      <Button
                        variant="plain"
                        size="sm"
                        aria-expanded={open}
                        aria-label={s.members(n.name)}
                        icon={open ? <AngleDownIcon /> : <AngleRightIcon />}
                        onClick={() => {
                          const next = new Set(closed);
                          if (open) {
                            next.add(n.name);
                          } else {
                            next.delete(n.name);
                          }
                          setClosed(next);
                        }}
                      />
                    ) : null}
                    {n.kind === 'cohort' ? (
                      <span>
                        {n.name} <span className="b-quiet">{s.cohort}</span>
                      </span>
                    ) : (
                      <Link to={`${href('queues')}?${new URLSearchParams({ r: pairKey(p.pair), ...(p.picked === n.name ? {} : { queue: n.name }) }).toString()}`}>
                        {n.name}
                      </Link>
                    )}
                    {booked(n) && (
                      <Label isCompact color="purple" variant="outline">
                        {s.booking(booked(n))}
                      </Label>
                    )}
                    {n.queue && <Stopped queue={n.queue} />}
                    {n.parent && <span className="b-hidden">{s.inCohort(n.parent)}</span>}
                  </span>
                </th>
                <td className="b-tree-bar">
                  {n.nominal > 0 || n.used > 0 ? (
                    <div style={{ width: `${Math.max(2, (100 * Math.max(n.nominal, n.used)) / widest)}%` }}>
                      <Strip parts={barOf(n)} total={Math.max(n.nominal, n.used)} label={n.name} units={false} />
                    </div>
                  ) : (
                    <span className="b-quiet b-small">{n.covers ? s.noOwn : s.noQuota}</span>
                  )}
                </td>
                <td className="b-num">{say(n.nominal)}</td>
                <td className="b-num">{say(n.used)}</td>
                <td className="b-num" title={limit(n)}>
                  {n.borrowed > 0 ? <b>{say(n.borrowed)}</b> : 0}
                </td>
                <td className="b-num">{say(n.lent)}</td>
                {shares && (
                  <td className="b-num" title={n.weight === undefined ? '' : s.weight(num(n.weight))}>
                    {n.share === undefined ? '–' : num(n.share)}
                    {n.weight !== undefined && <span className="b-quiet"> ×{num(n.weight)}</span>}
                  </td>
                )}
                <td className="b-num">{num(n.admitted)}</td>
                <td className="b-num">{n.pending > 0 ? <b>{num(n.pending)}</b> : 0}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Policy(p: { queue: ClusterQueue }): ReactNode {
  const x = p.queue.spec;
  const one = (label: string, v: string | undefined): ReactNode =>
    v ? (
      <div>
        <dt>{label}</dt>
        <dd>{v}</dd>
      </div>
    ) : null;
  return (
    <dl className="b-facts b-facts-inline">
      {one(s.within, x.preemption?.withinClusterQueue ?? 'Never')}
      {one(s.reclaim, x.preemption?.reclaimWithinCohort ?? 'Never')}
      {one(s.borrowWithin, x.preemption?.borrowWithinCohort?.policy)}
      {one(s.strategy, x.queueingStrategy)}
    </dl>
  );
}

// Why there is no time: one that is in no queue has no estimate; the grounds of another stand on its own page.
function noStart(e?: { text?: string }): string {
  return !e?.text ? '–' : e.text.startsWith('unknown') ? strings.states.unknown : e.text;
}

function Pending(p: { queue: string }): ReactNode {
  const { project, zone } = useScope();
  const now = useNow(5000);
  const list = useList(explanations, project);
  const rows = useMemo(
    () =>
      list.items
        .filter((e) => {
          const st = e.status;
          return (st?.state === 'Waiting' || st?.state === 'Held' || st?.state === 'Reserved') && (!p.queue || st.clusterQueue === p.queue);
        })
        .sort(
          (a, b) =>
            (a.status?.clusterQueue ?? '').localeCompare(b.status?.clusterQueue ?? '') ||
            (a.status?.position?.clusterQueue ?? 1e9) - (b.status?.position?.clusterQueue ?? 1e9),
        ),
    [list.items, p.queue],
  );
  return (
    <Card>
      <CardHeader>
        <CardTitle component="h2">
          {p.queue ? s.waitsIn(p.queue) : s.waits} {rows.length > 0 && <span className="b-quiet">{num(rows.length)}</span>}
        </CardTitle>
      </CardHeader>
      <CardBody>
        <Ready of={list} what={s.waitsWhat} lines={4}>
          {() =>
            rows.length === 0 ? (
              <p className="b-quiet">{s.nothingWaits}</p>
            ) : (
              <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.waits}>
                <table className="b-table b-pending">
                  <caption className="b-hidden">{s.waits}</caption>
                  <thead>
                    <tr>
                      <th scope="col" className="b-num">
                        {s.position}
                      </th>
                      <th scope="col">{strings.workloads.name}</th>
                      <th scope="col">{s.queue}</th>
                      <th scope="col" className="b-num">
                        {strings.workloads.priority}
                      </th>
                      <th scope="col">{s.waitsFor}</th>
                      <th scope="col">{strings.workloads.estimate}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.slice(0, MOST).map((e) => {
                      const st = e.status;
                      const start = startWords(st?.estimate, now);
                      return (
                        <tr key={e.metadata.uid ?? `${e.metadata.namespace}/${e.metadata.name}`}>
                          <td className="b-num">{st?.position?.clusterQueue ?? '–'}</td>
                          <th scope="row">
                            <Link to={href('workloads', e.metadata.namespace ?? '', e.metadata.name)}>{st?.job || e.metadata.name}</Link>
                            <span className="b-quiet b-small b-under">{e.metadata.namespace}</span>
                          </th>
                          <td>{st?.clusterQueue || st?.localQueue}</td>
                          <td className="b-num">{num(st?.priority ?? 0)}</td>
                          <td className="b-words">{st?.state === 'Held' ? s.held : st?.summary}</td>
                          <td className="b-nowrap" title={startExact(st?.estimate, zone)}>
                            {start ? (
                              <>
                                {start}
                                <span className="b-quiet b-small b-under">{strings.workloads.basis(st?.estimate?.basis ?? '')}</span>
                              </>
                            ) : st?.estimate?.notBefore ? (
                              s.notBefore(relative(st.estimate.notBefore, now))
                            ) : (
                              <span className="b-quiet">{noStart(st?.estimate)}</span>
                            )}
                          </td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
                {rows.length > MOST && (
                  <p className="b-pad">
                    <Link to={`${href('workloads')}?state=waiting`}>{strings.overview.moreNeeds(rows.length - MOST)}</Link>
                  </p>
                )}
              </div>
            )
          }
        </Ready>
      </CardBody>
    </Card>
  );
}

function Preemptions(p: { queue: string }): ReactNode {
  const { project, zone } = useScope();
  const now = useNow(10_000);
  const victims = useList(events, project, { fields: 'reason=Preempted' });
  const askers = useList(events, project, { fields: 'reason=PreemptedWorkload' });
  const rows = useMemo(() => {
    const at = (e: CoreEvent): number =>
      millis(e.lastTimestamp) ?? millis(e.eventTime) ?? millis(e.metadata.creationTimestamp) ?? 0;
    const whoFor = new Map<string, { ns: string; name: string }>();
    for (const e of askers.items) {
      const uid = readPreempted(e.message ?? e.note ?? '');
      if (uid && e.involvedObject) {
        whoFor.set(uid, { ns: e.involvedObject.namespace ?? '', name: e.involvedObject.name ?? '' });
      }
    }
    const out: Preemption[] = [];
    for (const e of victims.items) {
      const r = readPreemption(e.message ?? e.note ?? '');
      if (r && e.involvedObject) {
        out.push({
          at: at(e),
          victim: { ns: e.involvedObject.namespace ?? '', name: e.involvedObject.name ?? '' },
          by: whoFor.get(e.involvedObject.uid ?? ''),
          byUid: r.uid,
          why: r.why,
          byPath: r.byPath,
          path: r.path,
        });
      }
    }
    const last = (path: string): string => path.split('/').pop() ?? '';
    return out
      .filter((x) => !p.queue || last(x.path) === p.queue || last(x.byPath) === p.queue)
      .sort((a, b) => b.at - a.at)
      .slice(0, 100);
  }, [victims.items, askers.items, p.queue]);
  const one = (o: { ns: string; name: string } | undefined, path: string): ReactNode => (
    <>
      {o ? <Link to={href('workloads', o.ns, o.name)}>{o.name.replace(/^job-/, '')}</Link> : <span>{strings.workloads.somebody}</span>}
      <span className="b-quiet b-small b-under">
        {o ? `${o.ns} · ` : ''}
        {path.split('/').pop()}
      </span>
    </>
  );
  return (
    <Card>
      <CardHeader>
        <CardTitle component="h2">{s.preemptions}</CardTitle>
      </CardHeader>
      <CardBody>
        <Ready of={victims} what={s.preemptionsWhat} lines={3}>
          {() =>
            rows.length === 0 ? (
              <p className="b-quiet">{s.noPreemptions}</p>
            ) : (
              <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.preemptions}>
                <table className="b-table">
                  <caption className="b-hidden">{s.preemptions}</caption>
                  <thead>
                    <tr>
                      <th scope="col">{strings.workloads.when}</th>
                      <th scope="col">{s.victim}</th>
                      <th scope="col">{s.by}</th>
                      <th scope="col">{s.why}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((x, i) => (
                      <tr key={`${x.at}${x.victim.name}${i}`}>
                        <td className="b-nowrap" title={exact(x.at, zone)}>
                          {relative(x.at, now)}
                          <span className="b-quiet b-small b-under">{moment(x.at, zone)}</span>
                        </td>
                        <th scope="row">{one(x.victim, x.path)}</th>
                        <td>{one(x.by, x.byPath)}</td>
                        <td className="b-words">{x.why}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Ready>
      </CardBody>
    </Card>
  );
}

// What somebody sees who may not see ClusterQueues: the queues of the project.
function LocalOnes(): ReactNode {
  const { project } = useScope();
  const list = useList(localQueues, project);
  return (
    <Card>
      <CardHeader>
        <CardTitle component="h2">{s.locals}</CardTitle>
      </CardHeader>
      <CardBody>
        <Ready of={list} what={s.localsWhat}>
          {() =>
            list.items.length === 0 ? (
              <Empty title={s.noLocals} icon={SitemapIcon}>
                {s.noLocalsWhy}
              </Empty>
            ) : (
              <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.locals}>
                <table className="b-table">
                  <caption className="b-hidden">{s.locals}</caption>
                  <thead>
                    <tr>
                      <th scope="col">{s.queue}</th>
                      <th scope="col">{strings.common.project}</th>
                      <th scope="col">{strings.workloads.clusterQueue}</th>
                      <th scope="col" className="b-num">
                        {s.running}
                      </th>
                      <th scope="col" className="b-num">
                        {s.waiting}
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.items.map((q) => (
                      <tr key={q.metadata.uid ?? q.metadata.name}>
                        <th scope="row">{q.metadata.name}</th>
                        <td>{q.metadata.namespace}</td>
                        <td>{q.spec.clusterQueue}</td>
                        <td className="b-num">{num(q.status?.admittedWorkloads ?? 0)}</td>
                        <td className="b-num">{num(q.status?.pendingWorkloads ?? 0)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Ready>
      </CardBody>
    </Card>
  );
}

function Quota(p: { picked: string }): ReactNode {
  const { query } = usePlace();
  const queues = useList(clusterQueues);
  const trees = useList(cohorts);
  const cohortItems = trees.items; // without the right to see cohorts the tree is drawn from what queues name
  const pairs = useMemo(() => pairsOf(queues.items, cohortItems), [queues.items, cohortItems]);
  const wanted = query.get('r') ?? '';
  const pair = pairs.find((x) => pairKey(x) === wanted) ?? pairs[0];
  const roots = useMemo(() => (pair ? quotaTree(queues.items, cohortItems, pair) : []), [queues.items, cohortItems, pair]);
  const queue = queues.items.find((q) => q.metadata.name === p.picked);
  if (queues.error?.forbidden) {
    return (
      <>
        <LocalOnes />
        <p className="b-quiet b-small">{s.onlyYours}</p>
      </>
    );
  }
  return (
    <Ready of={queues} what={s.what} cluster lines={8}>
      {() =>
        !pair ? (
          <Empty title={s.none} icon={SitemapIcon}>
            {s.noneWhy}
          </Empty>
        ) : (
          <Card>
            <CardHeader>
              <div className="b-card-head">
                <CardTitle component="h2">{s.tree}</CardTitle>
                <Picker
                  label={s.resource}
                  value={pairKey(pair)}
                  shown={`${resourceName(pair.resource)} · ${pair.flavor}`}
                  choices={pairs.map((x) => ({ value: pairKey(x), label: resourceName(x.resource), description: x.flavor }))}
                  search={s.findResource}
                  none={strings.states.none}
                  onPick={(v) => setQuery({ r: v })}
                />
                <span className="b-grow" />
                <Legend
                  items={[
                    { kind: 'used', label: s.ownUsed },
                    { kind: 'borrowed', label: s.borrowed },
                    { kind: 'lent', label: s.lent },
                    { kind: 'free', label: s.unused },
                  ]}
                />
              </div>
            </CardHeader>
            <CardBody>
              <Tree roots={roots} pair={pair} picked={p.picked} />
              {queue && (
                <div className="b-picked-queue">
                  <h3>{s.rulesOf(queue.metadata.name)}</h3>
                  <Policy queue={queue} />
                  <Button variant="link" isInline onClick={() => setQuery({ queue: undefined })}>
                    {s.showAll}
                  </Button>
                </div>
              )}
            </CardBody>
          </Card>
        )
      }
    </Ready>
  );
}

export default function Queues(): ReactNode {
  const { query } = usePlace();
  const picked = query.get('queue') ?? '';
  return (
    <Screen title={strings.nav.queues} lead={s.lead}>
      <div className="b-stack">
        <Quota picked={picked} />
        <Pending queue={picked} />
        <Preemptions queue={picked} />
      </div>
    </Screen>
  );
}
