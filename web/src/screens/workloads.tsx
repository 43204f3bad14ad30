// Workloads: the list, with filters; and one of them (workload.tsx).

import { SearchInput } from '@patternfly/react-core/dist/esm/components/SearchInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useState, type ReactNode } from 'react';
import { href, Link, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useList, useNow } from '../data/hooks.ts';
import { workloads } from '../data/kinds.ts';
import type { Workload } from '../data/types.ts';
import { strings } from '../strings.ts';
import { announce } from '../ui/announce.tsx';
import { asked, compareResources, isGpu, num } from '../ui/names.ts';
import { Picker } from '../ui/picker.tsx';
import { Screen } from '../ui/screen.tsx';
import { StateLabel } from '../ui/statelabel.tsx';
import { Empty, Loading, Ready } from '../ui/states.tsx';
import { length, millis } from '../ui/time.ts';
import { VTable, type Column, type Sorting } from '../ui/vtable.tsx';
import { asks, finished, ownerName, priorityClass, stateOf, STATES, why, type WorkState } from '../ui/workload.ts';

const Detail = lazy(() => import('./workload.tsx'));
const s = strings.workloads;

export interface Row {
  id: string;
  w: Workload;
  name: string;
  ns: string;
  queue: string;
  state: WorkState;
  rank: number;
  priority: number;
  asks: string;
  gpus: number;
  born: number;
  text: string;
}

// Objects are the same until they change, so what is derived from them is kept by them.
const derived = new WeakMap<Workload, Row>();

export function asksText(w: Workload): string {
  const all = [...asks(w)].filter(([r]) => isGpu(r)).sort(([a], [b]) => compareResources(a, b));
  const list = all.length > 0 ? all : [...asks(w)].sort(([a], [b]) => compareResources(a, b));
  return list.map(([r, n]) => asked(r, n)).join(', ');
}

function rowOf(w: Workload): Row {
  let r = derived.get(w);
  if (!r) {
    const state = stateOf(w);
    const name = ownerName(w);
    const ns = w.metadata.namespace ?? '';
    const queue = w.spec.queueName ?? '';
    r = {
      id: w.metadata.uid ?? `${ns}/${w.metadata.name}`,
      w,
      name,
      ns,
      queue,
      state,
      rank: STATES.indexOf(state),
      priority: w.spec.priority ?? 0,
      asks: asksText(w),
      gpus: [...asks(w)].reduce((a, [res, n]) => a + (isGpu(res) ? n : 0), 0),
      born: millis(w.metadata.creationTimestamp) ?? 0,
      text: `${name} ${w.metadata.name} ${ns} ${queue}`.toLowerCase(),
    };
    derived.set(w, r);
  }
  return r;
}

type Filter = 'current' | 'running' | 'waiting' | 'finished' | 'all';

const FILTER: Record<Filter, (r: Row) => boolean> = {
  current: (r) => !finished(r.state),
  running: (r) => r.state === 'running' || r.state === 'starting' || r.state === 'stopping',
  waiting: (r) => r.state === 'waiting' || r.state === 'reserved' || r.state === 'held',
  finished: (r) => finished(r.state),
  all: () => true,
};

const byText = (f: (r: Row) => string) => (a: Row, b: Row) => f(a).localeCompare(f(b), undefined, { numeric: true });

function columnsFor(now: number, oneProject: boolean): Column<Row>[] {
  const all: Column<Row>[] = [
    {
      key: 'name',
      label: s.name,
      width: oneProject ? '28%' : '22%',
      sort: byText((r) => r.name),
      cell: (r) => (
        <Link to={href('workloads', r.ns, r.w.metadata.name)} title={r.w.metadata.name}>
          {r.name}
        </Link>
      ),
    },
    { key: 'state', label: s.stateColumn, width: '10rem', sort: (a, b) => a.rank - b.rank, cell: (r) => <StateLabel state={r.state} /> },
    ...(oneProject
      ? []
      : [{ key: 'ns', label: s.project, width: '12%', sort: byText((r: Row) => r.ns), cell: (r: Row) => r.ns }]),
    { key: 'queue', label: s.queue, width: '12%', sort: byText((r) => r.queue), cell: (r) => r.queue },
    { key: 'asks', label: s.asks, width: '20%', sort: (a, b) => a.gpus - b.gpus, cell: (r) => <span title={r.asks}>{r.asks}</span> },
    {
      key: 'priority',
      label: s.priority,
      width: '8rem',
      num: true,
      sort: (a, b) => a.priority - b.priority,
      cell: (r) => (
        <span title={priorityClass(r.w) ?? ''}>
          {priorityClass(r.w) && <span className="b-quiet">{priorityClass(r.w)} </span>}
          {num(r.priority)}
        </span>
      ),
    },
    {
      key: 'age',
      label: s.age,
      width: '7rem',
      num: true,
      sort: (a, b) => b.born - a.born,
      cell: (r) => length(now - r.born),
    },
  ];
  return all;
}

function List(): ReactNode {
  const { project } = useScope();
  const { query } = usePlace();
  const list = useList(workloads, project);
  const now = useNow(10_000);
  const filter = (query.get('state') ?? 'current') as Filter;
  const text = useDeferredValue((query.get('q') ?? '').toLowerCase());
  const queue = query.get('queue') ?? '';
  const [sorting, setSorting] = useState<Sorting>({ key: 'age', down: false });

  const rows = useMemo(() => list.items.map(rowOf), [list.items]);
  const queues = useMemo(() => [...new Set(rows.map((r) => r.queue).filter(Boolean))].sort(), [rows]);
  const counts = useMemo(() => {
    const c: Record<Filter, number> = { current: 0, running: 0, waiting: 0, finished: 0, all: 0 };
    for (const r of rows) {
      for (const k of Object.keys(c) as Filter[]) {
        if (FILTER[k](r)) {
          c[k]++;
        }
      }
    }
    return c;
  }, [rows]);
  const columns = useMemo(() => columnsFor(now, project !== undefined), [now, project]);
  const shown = useMemo(() => {
    const keep = FILTER[filter] ?? FILTER.current;
    const out = rows.filter((r) => keep(r) && (!queue || r.queue === queue) && (!text || r.text.includes(text)));
    const by = columns.find((c) => c.key === sorting.key)?.sort;
    if (by) {
      const sign = sorting.down ? -1 : 1;
      out.sort((a, b) => sign * by(a, b) || a.born - b.born || (a.id < b.id ? -1 : 1));
    }
    return out;
    // The columns change with the time, which sorts nothing anew.
  }, [rows, filter, queue, text, sorting, project]);
  const card = useCallback(
    (r: Row) => (
      <>
        <span className="b-vcard-row">
          <Link to={href('workloads', r.ns, r.w.metadata.name)} className="b-cut">
            {r.name}
          </Link>
          <StateLabel state={r.state} />
        </span>
        <span className="b-cut b-small">
          {r.asks} · {length(now - r.born)}
        </span>
        <span className="b-cut b-small b-quiet">
          {r.ns} · {r.queue || s.noQueue} {r.state === 'waiting' ? `· ${why(r.w)}` : ''}
        </span>
      </>
    ),
    [now],
  );
  useEffect(() => {
    if (list.loaded) {
      announce(s.shown(shown.length));
    }
  }, [shown.length, list.loaded]);

  return (
    <Screen title={strings.nav.workloads} lead={s.lead}>
      <Ready of={list.phase === 'loading' && list.items.length > 0 ? [] : list} what={s.what} lines={10}>
        {() => (
          <>
            <div className="b-tools">
              <SearchInput
                aria-label={s.search}
                placeholder={s.search}
                value={query.get('q') ?? ''}
                onChange={(_e, v) => setQuery({ q: v })}
                onClear={() => setQuery({ q: undefined })}
              />
              <ToggleGroup isCompact aria-label={s.stateColumn}>
                {(Object.keys(FILTER) as Filter[]).map((k) => (
                  <ToggleGroupItem
                    key={k}
                    buttonId={`state-${k}`}
                    text={`${s.filter[k]} ${num(counts[k])}`}
                    isSelected={filter === k}
                    onChange={() => setQuery({ state: k === 'current' ? undefined : k })}
                  />
                ))}
              </ToggleGroup>
              {(queues.length > 1 || queue) && (
                <Picker
                  label={s.queue}
                  value={queue}
                  shown={queue || s.allQueues}
                  choices={[{ value: '', label: s.allQueues }, ...queues.map((q) => ({ value: q, label: q }))]}
                  search={s.findQueue}
                  none={strings.states.none}
                  onPick={(v) => setQuery({ queue: v || undefined })}
                />
              )}
            </div>
            {rows.length === 0 ? (
              <Empty title={s.none} icon={CubesIcon}>
                {s.noneWhy}
              </Empty>
            ) : shown.length === 0 ? (
              <Empty title={s.noHit}>{s.noHitWhy}</Empty>
            ) : (
              <VTable
                label={s.what}
                rows={shown}
                idOf={(r) => r.id}
                columns={columns}
                sorting={sorting}
                onSort={setSorting}
                card={card}
              />
            )}
          </>
        )}
      </Ready>
    </Screen>
  );
}

export default function Workloads(): ReactNode {
  const { parts } = usePlace();
  const [, ns, name] = parts;
  if (ns && name) {
    return (
      <Suspense fallback={<Loading what={s.one} lines={8} />}>
        <Detail key={`${ns}/${name}`} ns={ns} name={name} />
      </Suspense>
    );
  }
  return <List />;
}
