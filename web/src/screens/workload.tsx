// One Workload: its life, why it waits and when it may start, where it runs, events, logs, and what can be done.

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/esm/components/Breadcrumb';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Card, CardBody, CardHeader, CardTitle } from '@patternfly/react-core/dist/esm/components/Card';
import { Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { Radio } from '@patternfly/react-core/dist/esm/components/Radio';
import { Tab, Tabs, TabTitleText } from '@patternfly/react-core/dist/esm/components/Tabs';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { href, Link, navigate, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { toYaml } from '../book/yaml.ts';
import { deleteObject, getObject, patchObject } from '../data/client.ts';
import { useAllowed, useList, useNow, useObject } from '../data/hooks.ts';
import { events, explanations, fleets, jobs, pods, workloadPriorityClasses, workloads } from '../data/kinds.ts';
import type { CoreEvent, Pod, Workload } from '../data/types.ts';
import { strings } from '../strings.ts';
import { startClock, startWords } from '../ui/estimate.ts';
import { Log } from '../ui/log.tsx';
import { asked, compareResources, num, resourceName } from '../ui/names.ts';
import { Picker } from '../ui/picker.tsx';
import { Screen } from '../ui/screen.tsx';
import { Meter } from '../ui/slicemap.tsx';
import { StateLabel } from '../ui/statelabel.tsx';
import { Empty, Loading, Ready } from '../ui/states.tsx';
import { exact, length, millis, moment, relative } from '../ui/time.ts';
import { ErrorText, toast, toastError } from '../ui/toasts.tsx';
import { asks, evictions, finished, owner, ownerName, priorityClass, stages, stateOf, why } from '../ui/workload.ts';

const s = strings.workloads;

function Life(p: { w: Workload; until: number | undefined }): ReactNode {
  const { zone } = useScope();
  const ticking = useNow(1000);
  const now = p.until ?? ticking;
  const all = stages(p.w, now);
  const state = stateOf(p.w);
  // Short stages stay visible beside long ones: lengths are drawn by their square root.
  const size = (ms: number): number => Math.sqrt(Math.max(1000, ms));
  const again = evictions(p.w);
  return (
    <>
      <ol className="b-life" aria-label={s.life}>
        {all.map((x) => (
          <li
            key={x.kind}
            className={`b-life-${x.kind}${x.open ? ' b-life-open' : ''}`}
            style={{ flexGrow: size(x.to - x.from) }}
            title={`${s.stage[x.kind]}: ${moment(x.from, zone)} – ${x.open ? strings.common.now : moment(x.to, zone)}`}
          >
            <span className="b-life-bar" aria-hidden="true" />
            <span className="b-life-name">{s.stage[x.kind]}</span>
            <span className="b-life-time">
              {length(x.to - x.from)}
              {x.open && p.until === undefined ? s.soFar : ''}
            </span>
          </li>
        ))}
        {finished(state) && (
          <li className={`b-life-end b-life-${state}`}>
            <span className="b-life-bar" aria-hidden="true" />
            <span className="b-life-name">{s.state[state]}</span>
          </li>
        )}
      </ol>
      {again.length > 0 && (
        <p className="b-small b-quiet">{again.map((e) => s.evicted(e.count, e.reason)).join(', ')}</p>
      )}
    </>
  );
}

function Why(p: { w: Workload }): ReactNode {
  const { zone } = useScope();
  const m = p.w.metadata;
  const e = useObject(explanations, m.name, m.namespace);
  const now = useNow(5000);
  const x = e.object?.status;
  return (
    <Card className="b-why">
      <CardHeader>
        <CardTitle component="h2">{s.whyTitle}</CardTitle>
      </CardHeader>
      <CardBody>
        {!x ? (
          e.error ? (
            <p>{why(p.w) || e.error.message}</p>
          ) : (
            <Loading what={s.whyTitle} lines={3} />
          )
        ) : (
          <>
            <p>{x.summary || why(p.w) || s.noReason}</p>
            <dl className="b-facts b-facts-row">
              {x.position?.clusterQueue !== undefined && (
                <div>
                  <dt>{s.position}</dt>
                  <dd>
                    {s.nth(x.position.clusterQueue, x.clusterQueue ?? '')}
                    {x.position.ahead ? <span className="b-quiet"> {s.ahead(x.position.ahead)}</span> : null}
                  </dd>
                </div>
              )}
              <div>
                <dt>{s.estimate}</dt>
                <dd>
                  {startWords(x.estimate, now) ? (
                    <>
                      {startWords(x.estimate, now)}{' '}
                      <span className="b-quiet">
                        {[startClock(x.estimate, zone), s.basis(x.estimate?.basis ?? '')].filter(Boolean).join(' · ')}
                      </span>
                    </>
                  ) : (
                    <span>{x.estimate?.text || s.noEstimate}</span>
                  )}
                  {x.estimate?.note && <p className="b-small b-quiet">{x.estimate.note}</p>}
                </dd>
              </div>
            </dl>
            {(x.lacks ?? []).map((l, i) => (
              <section key={i} className="b-lack">
                <h3>
                  {l.missing || l.needed
                    ? s.lack(l.missing ?? l.needed ?? '', resourceName(l.resource ?? ''), l.flavor ?? '')
                    : `${l.flavor}: ${l.reason}`}
                </h3>
                {l.limitedBy && <p className="b-small b-quiet">{s.limitedBy(l.limitedBy)}</p>}
                {(l.holders ?? []).length > 0 && (
                  <ul className="b-plainlist">
                    {(l.holders ?? []).map((h, k) => (
                      <li key={k}>
                        {h.name ? (
                          <Link to={href('workloads', h.namespace ?? '', h.name)}>
                            {h.namespace}/{h.name}
                          </Link>
                        ) : (
                          <span>{s.somebody}</span>
                        )}{' '}
                        <span className="b-quiet">
                          {s.holds(h.amount ?? '')}
                          {h.ends ? `, ${s.ends(s.about(relative(h.ends, now)))}` : ''}
                          {h.overdue ? `, ${s.overdue}` : ''}
                          {h.keeps ? ` · ${s.keeps[h.keeps] ?? h.keeps}` : ''}
                        </span>
                      </li>
                    ))}
                    {(l.holderCount ?? 0) > (l.holders ?? []).length && (
                      <li className="b-quiet">{s.moreHolders((l.holderCount ?? 0) - (l.holders ?? []).length, l.heldByOthers ?? '')}</li>
                    )}
                  </ul>
                )}
              </section>
            ))}
            {(x.preemption ?? []).length > 0 && (
              <section className="b-lack">
                <h3>{s.whyNobody}</h3>
                <ul className="b-plainlist">
                  {(x.preemption ?? []).map((r, i) => (
                    <li key={i}>
                      {r.workloads !== undefined && `${s.held(r.workloads)}: `}
                      {r.message} <span className="b-quiet">{r.until ? s.until(relative(r.until, now)) : ''}</span>
                    </li>
                  ))}
                </ul>
                {(x.borrowing ?? []).map((b) => b.remedy && <p key={`${b.flavor}/${b.resource}`}>{s.remedy(b.remedy)}</p>)}
              </section>
            )}
          </>
        )}
      </CardBody>
    </Card>
  );
}

interface Placed {
  podSet?: string;
  index?: number;
  node?: string;
  devices?: { gpu?: string; profile?: string; start?: number; size?: number }[];
}

// The places, or the ControllerRevisions that have them: there are too many for the annotation then.
function places(w: Workload): { places: Placed[]; revisions: string[] } {
  try {
    const v: unknown = JSON.parse(w.metadata.annotations?.['berth.dev/placement'] ?? '[]');
    if (Array.isArray(v)) return { places: v as Placed[], revisions: [] };
    return { places: [], revisions: (v as { revisions?: string[] }).revisions ?? [] };
  } catch {
    return { places: [], revisions: [] };
  }
}

function Facts(p: { w: Workload }): ReactNode {
  const { zone } = useScope();
  const w = p.w;
  const cls = priorityClass(w);
  const fleet = useObject(fleets, 'current').object;
  const cardName = (uuid: string): string => {
    const c = fleet?.cards?.find((x) => x.uuid === uuid);
    return c ? strings.gpus.gpu(c.index) : uuid.slice(-8);
  };
  const plan = w.status?.admission ? places(w) : { places: [], revisions: [] }; // one that waits again has those of its last run
  const put = plan.places;
  const o = owner(w);
  const fact = (label: string, value: ReactNode): ReactNode => (
    <div key={label}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
  return (
    <Card>
      <CardHeader>
        <CardTitle component="h2">{s.facts}</CardTitle>
      </CardHeader>
      <CardBody>
        <dl className="b-facts">
          {fact(s.made, <span title={exact(w.metadata.creationTimestamp ?? '', zone)}>{moment(w.metadata.creationTimestamp ?? '', zone)}</span>)}
          {o && fact(s.ownedBy, `${o.kind} ${o.name}`)}
          {fact(s.project, w.metadata.namespace)}
          {fact(s.queue, w.spec.queueName || s.noQueue)}
          {w.status?.admission && fact(s.clusterQueue, <Link to={`${href('queues')}?queue=${encodeURIComponent(w.status.admission.clusterQueue)}`}>{w.status.admission.clusterQueue}</Link>)}
          {fact(s.priority, `${num(w.spec.priority ?? 0)}${cls ? ` (${cls})` : ''}`)}
          {fact(
            s.asks,
            [...asks(w)]
              .sort(([a], [b]) => compareResources(a, b))
              .map(([r, n]) => asked(r, n))
              .join(', '),
          )}
          {fact(s.podsAsked, num((w.spec.podSets ?? []).reduce((a, x) => a + x.count, 0)))}
          {plan.revisions.length > 0 && fact(s.placement, s.placedIn(plan.revisions))}
          {put.length > 0 &&
            fact(
              s.placement,
              <ul className="b-plainlist">
                {put.slice(0, 16).map((x, i) => (
                  <li key={i}>
                    {x.node}
                    {(x.devices ?? []).map((d, k) => (
                      <span key={k} className="b-quiet">
                        {' · '}
                        {d.profile ? s.sliceAt(d.profile, d.start ?? 0) : s.wholeGpu} <Link to={`${href('gpus')}?q=${encodeURIComponent(d.gpu ?? '')}`}>{cardName(d.gpu ?? '')}</Link>
                      </span>
                    ))}
                  </li>
                ))}
                {put.length > 16 && <li className="b-quiet">{strings.overview.moreNeeds(put.length - 16)}</li>}
              </ul>,
            )}
        </dl>
      </CardBody>
    </Card>
  );
}

// What its parts of cards do, as far as nodes tell it.
function Use(p: { w: Workload }): ReactNode {
  const fleet = useObject(fleets, 'current').object;
  const ns = p.w.metadata.namespace;
  const own = ownerName(p.w);
  const mine = (fleet?.cards ?? []).flatMap((c) =>
    (c.instances ?? [])
      .filter((i) => i.namespace === ns && (i.workload ? i.workload === p.w.metadata.name : (i.pod ?? '').startsWith(`${own}-`)))
      .map((i) => ({ c, i })),
  );
  if (mine.length === 0) {
    return null;
  }
  return (
    <Card>
      <CardHeader>
        <CardTitle component="h2">{s.use}</CardTitle>
      </CardHeader>
      <CardBody>
        <ul className="b-uses">
          {mine.map(({ c, i }) => (
            <li key={`${c.uuid}${i.start}`}>
              <Meter
                label={`${i.profile || s.wholeGpu} · ${strings.gpus.card(c.index, c.node)}`}
                value={i.utilization}
                max={100}
                text={strings.gpus.busy(num(i.utilization ?? 0))}
              />
            </li>
          ))}
        </ul>
      </CardBody>
    </Card>
  );
}

function timeOf(e: CoreEvent): number {
  return (
    millis(e.series?.lastObservedTime) ??
    millis(e.lastTimestamp) ??
    millis(e.eventTime) ??
    millis(e.firstTimestamp) ??
    millis(e.metadata.creationTimestamp) ??
    0
  );
}

function Events(p: { w: Workload; podNames: Set<string> }): ReactNode {
  const { zone } = useScope();
  const now = useNow(5000);
  const list = useList(events, p.w.metadata.namespace);
  const o = owner(p.w);
  const mine = useMemo(
    () =>
      list.items
        .filter((e) => {
          const i = e.involvedObject;
          return (
            (i?.kind === 'Workload' && i.name === p.w.metadata.name) ||
            (o && i?.kind === o.kind && i.name === o.name) ||
            (i?.kind === 'Pod' && p.podNames.has(i.name ?? ''))
          );
        })
        .sort((a, b) => timeOf(b) - timeOf(a)),
    [list.items, p.w.metadata.name, o, p.podNames],
  );
  return (
    <Ready of={list} what={s.events}>
      {() =>
        mine.length === 0 ? (
          <Empty title={s.noEvents}>{s.noEventsWhy}</Empty>
        ) : (
          <div className="b-scroll-x" tabIndex={0} role="region" aria-label={s.events}>
            <table className="b-table">
              <caption className="b-hidden">{s.events}</caption>
              <thead>
                <tr>
                  <th scope="col">{s.when}</th>
                  <th scope="col">{s.what1}</th>
                  <th scope="col">{s.who}</th>
                  <th scope="col">{s.message}</th>
                </tr>
              </thead>
              <tbody>
                {mine.slice(0, 200).map((e) => (
                  <tr key={e.metadata.uid ?? e.metadata.name}>
                    <td className="b-nowrap" title={exact(timeOf(e), zone)}>
                      {relative(timeOf(e), now)}
                    </td>
                    <td>
                      <span className={e.type === 'Warning' ? 'b-warn' : ''}>{e.reason}</span>
                      {(e.series?.count ?? e.count ?? 1) > 1 && <span className="b-quiet"> ×{e.series?.count ?? e.count}</span>}
                    </td>
                    <td className="b-quiet">{e.involvedObject?.kind}</td>
                    <td className="b-words">{e.message ?? e.note}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Ready>
  );
}

function Logs(p: { list: Pod[]; phase: Parameters<typeof Ready>[0]['of']; ns: string }): ReactNode {
  const [picked, setPicked] = useState('');
  const choices = useMemo(
    () =>
      p.list.flatMap((pod) =>
        (pod.spec?.containers ?? []).map((c) => ({
          value: `${pod.metadata.name}/${c.name}`,
          label: (pod.spec?.containers ?? []).length > 1 ? `${pod.metadata.name} · ${c.name}` : pod.metadata.name,
          description: pod.status?.phase,
        })),
      ),
    [p.list],
  );
  const value = choices.some((c) => c.value === picked) ? picked : (choices[0]?.value ?? '');
  const [pod, container] = value.split('/');
  return (
    <Ready of={p.phase} what={s.logs}>
      {() =>
        !pod ? (
          <Empty title={s.noPods}>{s.noPodsWhy}</Empty>
        ) : (
          <>
            {choices.length > 1 && (
              <div className="b-tools">
                <Picker
                  label={s.pod}
                  value={value}
                  shown={choices.find((c) => c.value === value)?.label}
                  choices={choices}
                  search={s.findPod}
                  none={strings.states.none}
                  onPick={setPicked}
                />
              </div>
            )}
            <Log key={value} ns={p.ns} pod={pod} container={container ?? ''} label={s.logOf(pod)} />
          </>
        )
      }
    </Ready>
  );
}

function Yaml(p: { w: Workload }): ReactNode {
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>();
  const m = p.w.metadata;
  useEffect(() => {
    const c = new AbortController();
    // Lists are trimmed; this is the whole object.
    getObject(workloads, m.name, m.namespace, c.signal).then(
      (o) => {
        delete (o.metadata as unknown as Record<string, unknown>)['managedFields'];
        setText(toYaml(o));
      },
      (e: unknown) => {
        if (!c.signal.aborted) {
          setError(e);
        }
      },
    );
    return () => c.abort();
  }, [m.name, m.namespace, m.resourceVersion]);
  return error ? (
    <ErrorText error={error} />
  ) : (
    <pre className="b-code b-yaml" tabIndex={0} aria-label={s.yaml}>
      {text}
    </pre>
  );
}

// Cancels as `berth cancel` does: the Job goes, with its pods; what is no Job is put on hold.
function CancelDialog(p: { w: Workload; onClose(): void }): ReactNode {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const o = owner(p.w);
  const isJob = o?.kind === 'Job' && o.apiVersion.startsWith('batch/');
  const ns = p.w.metadata.namespace ?? '';
  const name = ownerName(p.w);
  const go = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      if (isJob) {
        await deleteObject(jobs, name, ns);
      } else {
        await patchObject(workloads, p.w.metadata.name, ns, { spec: { active: false } });
      }
      toast(isJob ? s.cancelled(name) : s.heldNow(name));
      p.onClose();
      if (isJob) {
        navigate(href('workloads'));
      }
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Modal isOpen variant="small" onClose={p.onClose} aria-labelledby="cancel-title" aria-describedby="cancel-body">
      <ModalHeader title={isJob ? s.cancelTitle(name) : s.holdTitle(name)} labelId="cancel-title" titleIconVariant="warning" />
      <ModalBody id="cancel-body">
        <p>{isJob ? s.cancelWhat : s.holdWhat}</p>
        {error !== undefined && (
          <Alert component="p" isInline variant="danger" title={s.notDone}>
            <ErrorText error={error} />
          </Alert>
        )}
      </ModalBody>
      <ModalFooter>
        <Button variant="danger" isLoading={busy} isDisabled={busy} onClick={() => void go()} data-testid="cancel-confirm">
          {isJob ? s.cancelGo : s.holdGo}
        </Button>
        <Button variant="link" onClick={p.onClose}>
          {s.keep}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

function PriorityDialog(p: { w: Workload; onClose(): void }): ReactNode {
  const classes = useList(workloadPriorityClasses);
  const [picked, setPicked] = useState(priorityClass(p.w) ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const o = owner(p.w);
  const ns = p.w.metadata.namespace ?? '';
  const go = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const cls = classes.items.find((c) => c.metadata.name === picked);
    try {
      if (o?.kind === 'Job' && o.apiVersion.startsWith('batch/')) {
        // The Workload follows its Job.
        await patchObject(jobs, o.name, ns, { metadata: { labels: { 'kueue.x-k8s.io/priority-class': picked || null } } });
      } else {
        await patchObject(workloads, p.w.metadata.name, ns, {
          spec: {
            priority: cls?.value ?? 0,
            priorityClassRef: cls
              ? { group: 'kueue.x-k8s.io', kind: 'WorkloadPriorityClass', name: cls.metadata.name }
              : null,
          },
        });
      }
      toast(s.priorityDone(ownerName(p.w), picked || s.noClass));
      p.onClose();
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  const sorted = [...classes.items].sort((a, b) => b.value - a.value);
  return (
    <Modal isOpen variant="small" onClose={p.onClose} aria-labelledby="priority-title">
      <ModalHeader title={s.priorityTitle(ownerName(p.w))} labelId="priority-title" description={s.priorityWhat} />
      <ModalBody>
        <Ready of={classes} what={s.classes} cluster>
          {() => (
            <div role="radiogroup" aria-labelledby="priority-title" className="b-radios">
              {sorted.map((c) => (
                <Radio
                  key={c.metadata.name}
                  id={`class-${c.metadata.name}`}
                  name="class"
                  label={`${c.metadata.name} (${num(c.value)})`}
                  description={c.description}
                  isChecked={picked === c.metadata.name}
                  onChange={() => setPicked(c.metadata.name)}
                />
              ))}
              <Radio id="class-" name="class" label={s.noClass} isChecked={picked === ''} onChange={() => setPicked('')} />
            </div>
          )}
        </Ready>
        {error !== undefined && (
          <Alert component="p" isInline variant="danger" title={s.notDone}>
            <ErrorText error={error} />
          </Alert>
        )}
      </ModalBody>
      <ModalFooter>
        <Button
          isLoading={busy}
          isDisabled={busy || picked === (priorityClass(p.w) ?? '')}
          onClick={() => void go()}
          data-testid="priority-confirm"
        >
          {s.priorityGo}
        </Button>
        <Button variant="link" onClick={p.onClose}>
          {strings.common.cancel}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

function podsOf(w: Workload, all: Pod[]): Pod[] {
  const o = owner(w);
  const name = ownerName(w);
  const uid = w.metadata.ownerReferences?.map((r) => r.uid) ?? [];
  return all
    .filter(
      (p) =>
        (p.metadata.ownerReferences ?? []).some((r) => uid.includes(r.uid)) ||
        p.metadata.labels?.['kueue.x-k8s.io/pod-group-name'] === w.metadata.name ||
        (o?.kind === 'Pod' && p.metadata.name === o.name) ||
        // Operators make pods by way of other objects, whose names begin with that of the first.
        (o && o.kind !== 'Job' && o.kind !== 'Pod' && p.metadata.name.startsWith(`${name}-`)),
    )
    .sort((a, b) => a.metadata.name.localeCompare(b.metadata.name, undefined, { numeric: true }));
}

export default function WorkloadDetail(p: { ns: string; name: string }): ReactNode {
  const { query } = usePlace();
  const one = useObject(workloads, p.name, p.ns);
  const [kept, setKept] = useState<Workload | undefined>();
  const w = one.object ?? kept; // what went while we looked at it stays on the page
  const o = w ? owner(w) : undefined;
  const isJob = o?.kind === 'Job' && o.apiVersion.startsWith('batch/');
  const podList = useList(pods, p.ns, isJob && o ? { labels: `batch.kubernetes.io/job-name=${o.name}` } : { enabled: w !== undefined });
  const mayDelete = useAllowed('delete', jobs, p.ns);
  const mayPatchJob = useAllowed('patch', jobs, p.ns);
  const mayPatchWork = useAllowed('patch', workloads, p.ns);
  const [dialog, setDialog] = useState<'cancel' | 'priority' | undefined>();
  const opener = useRef<HTMLElement | null>(null);
  const tab = query.get('tab') ?? 'events';
  const missing = one.loaded && !one.object && kept !== undefined;
  const [goneAt, setGoneAt] = useState<number | undefined>();
  useEffect(() => setGoneAt(missing ? Date.now() : undefined), [missing]);
  const mine = useMemo(() => (w ? podsOf(w, podList.items) : []), [w, podList.items]);
  const podNames = useMemo(() => new Set(mine.map((x) => x.metadata.name)), [mine]);

  useEffect(() => {
    if (one.object) {
      setKept(one.object);
    }
  }, [one.object]);

  const crumbs = (
    <Breadcrumb>
      <BreadcrumbItem>
        <Link to={href('workloads')}>{strings.nav.workloads}</Link>
      </BreadcrumbItem>
      <BreadcrumbItem isActive>{w ? ownerName(w) : p.name}</BreadcrumbItem>
    </Breadcrumb>
  );
  if (!w) {
    return (
      <Screen title={p.name} above={crumbs}>
        <Ready of={one} what={s.one} lines={8}>
          {() => <Empty title={s.gone}>{s.goneWhy}</Empty>}
        </Ready>
      </Screen>
    );
  }
  const state = stateOf(w);
  const gone = one.loaded && !one.object;
  const done = finished(state);
  const mayCancel = isJob ? mayDelete : mayPatchWork;
  const mayPriority = isJob ? mayPatchJob : mayPatchWork;
  const close = (): void => {
    setDialog(undefined);
    opener.current?.focus();
  };
  const openDialog = (d: 'cancel' | 'priority') => (e: React.MouseEvent<HTMLElement>) => {
    opener.current = e.currentTarget;
    setDialog(d);
  };
  const resume = (): void => {
    patchObject(workloads, p.name, p.ns, { spec: { active: true } }).then(
      () => toast(s.resumed(ownerName(w))),
      (e: unknown) => toastError(s.notDone, e),
    );
  };
  const waits = state === 'waiting' || state === 'held' || state === 'reserved';
  return (
    <Screen
      title={ownerName(w)}
      above={crumbs}
      lead={
        <span className="b-inline">
          <StateLabel state={state} /> {w.metadata.namespace} · <span className="b-mono">{w.metadata.name}</span>
        </span>
      }
      actions={
        !gone && (
          <>
            {state === 'held' && (
              <Button variant="secondary" isAriaDisabled={mayPatchWork === false} onClick={resume}>
                {s.resume}
              </Button>
            )}
            <Button
              variant="secondary"
              isAriaDisabled={done || mayPriority === false}
              title={mayPriority === false ? s.notAllowed : ''}
              onClick={openDialog('priority')}
              data-testid="priority"
            >
              {s.priorityChange}
            </Button>
            <Button
              variant="secondary"
              isDanger
              isAriaDisabled={mayCancel === false || (done && !isJob)}
              title={mayCancel === false ? s.notAllowed : ''}
              onClick={openDialog('cancel')}
              data-testid="cancel"
            >
              {isJob ? (done ? s.remove : s.cancel) : s.hold}
            </Button>
          </>
        )
      }
    >
      <div className="b-stack">
        {gone && <Alert component="p" isInline variant="info" title={s.gone} />}
        <Card>
          <CardBody>
            <Life w={w} until={goneAt} />
            {state === 'failed' && <p className="b-bad">{why(w)}</p>}
          </CardBody>
        </Card>
        <div className="b-two">
          {waits && !gone && <Why w={w} />}
          {(state === 'running' || state === 'starting') && !gone && <Use w={w} />}
          <Facts w={w} />
        </div>
        <Card>
          <CardBody>
            <Tabs
              activeKey={tab}
              onSelect={(_e, k) => setQuery({ tab: k === 'events' ? undefined : String(k) })}
              aria-label={s.parts}
              mountOnEnter
              unmountOnExit
            >
              <Tab eventKey="events" title={<TabTitleText>{s.events}</TabTitleText>}>
                <Events w={w} podNames={podNames} />
              </Tab>
              <Tab eventKey="logs" title={<TabTitleText>{s.logs}</TabTitleText>} data-testid="tab-logs">
                <Logs list={mine} phase={podList} ns={p.ns} />
              </Tab>
              <Tab eventKey="yaml" title={<TabTitleText>{s.yaml}</TabTitleText>}>
                {!gone && <Yaml w={w} />}
              </Tab>
            </Tabs>
          </CardBody>
        </Card>
      </div>
      {dialog === 'cancel' && <CancelDialog w={w} onClose={close} />}
      {dialog === 'priority' && <PriorityDialog w={w} onClose={close} />}
    </Screen>
  );
}

