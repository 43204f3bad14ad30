// One card as its memory columns: a tile for each instance, where it sits, with who has it and how busy it is; what is
// not cut stays an empty outline. In words for who does not see it.

import type { ReactNode } from 'react';
import { href, Link } from '../app/router.tsx';
import type { FleetCard, FleetInstance } from '../data/types.ts';
import { strings } from '../strings.ts';
import { num } from './names.ts';

const s = strings.gpus;

export function ownerOf(i: FleetInstance): string {
  return i.namespace ? `${i.namespace}/${i.workload?.replace(/^job-/, '') ?? i.pod ?? ''}` : i.used ? s.somebody : s.notUsed;
}

// Where a click on a tile leads: to the Workload, or to those whose name the pod's begins with.
export function linkOfInstance(i: FleetInstance): string | undefined {
  if (!i.namespace) {
    return undefined;
  }
  if (i.workload) {
    return href('workloads', i.namespace, i.workload);
  }
  return i.pod ? `${href('workloads')}?q=${encodeURIComponent(i.pod.replace(/-[a-z0-9]{5}$/, ''))}` : undefined;
}

function wordsOf(i: FleetInstance, slices: number): string {
  const what = i.profile || s.whole;
  const where = i.profile ? `, ${s.columns(i.start + 1, i.start + (i.size || 1), slices)}` : '';
  const busy = i.utilization === undefined ? '' : `, ${s.busy(num(i.utilization))}`;
  return `${what}${where}: ${ownerOf(i)}${busy}`;
}

export function SliceMap(p: { card: FleetCard; mine?: string | undefined; compact?: boolean }): ReactNode {
  const c = p.card;
  const slices = Math.max(1, c.slices ?? 8);
  const instances = [...(c.instances ?? [])].sort((a, b) => a.start - b.start);
  const taken = new Array<boolean>(slices).fill(false);
  for (const i of instances) {
    const size = i.profile ? (i.size ?? 1) : slices;
    taken.fill(true, i.start, Math.min(slices, i.start + size));
  }
  const broken = c.health === 'Unhealthy';
  const free = taken.flatMap((t, k) => (t ? [] : [k]));
  return (
    <div className={`b-map${broken ? ' b-map-broken' : ''}`}>
      <div className="b-map-free" aria-hidden="true" style={{ gridTemplateColumns: `repeat(${slices}, minmax(0, 1fr))` }}>
        {taken.map((_, k) => (
          <span key={k} />
        ))}
      </div>
      <ul
        className="b-map-tiles"
        aria-label={s.mapOf(c.index, c.node)}
        style={{ gridTemplateColumns: `repeat(${slices}, minmax(0, 1fr))` }}
      >
        {instances.map((i) => {
          const size = i.profile ? (i.size ?? 1) : slices;
          const to = linkOfInstance(i);
          const words = wordsOf(i, slices);
          const kind = !i.used ? 'idle' : !i.namespace ? 'other' : p.mine && i.namespace !== p.mine ? 'theirs' : 'seen';
          const inner = (
            <>
              <span className="b-map-name" aria-hidden="true">
                {i.profile || s.whole}
              </span>
              <span className="b-map-owner" aria-hidden="true">
                {ownerOf(i)}
              </span>
              <span className="b-hidden">{words}</span>
              {i.utilization !== undefined && (
                <span className="b-map-busy" aria-hidden="true">
                  <span className="b-meter-fill" style={{ width: `${Math.min(100, i.utilization)}%` }} />
                </span>
              )}
            </>
          );
          return (
            <li
              key={`${i.start}-${i.profile}`}
              style={{ gridColumn: `${i.start + 1} / span ${size}` }}
              className={`b-map-tile b-map-${kind}`}
              title={words}
            >
              {to ? <Link to={to}>{inner}</Link> : <span className="b-map-plain">{inner}</span>}
            </li>
          );
        })}
        {instances.length === 0 && <li className="b-hidden">{broken ? s.brokenWords : s.emptyCard}</li>}
      </ul>
      {instances.length > 0 && free.length > 0 && (
        <p className="b-hidden">{s.freeColumns(free.length, slices)}</p>
      )}
    </div>
  );
}

// A small measure: its number, and a bar for those who see it.
export function Meter(p: { label: string; value: number | undefined; max: number; text: string }): ReactNode {
  return (
    <div className="b-meter">
      <span className="b-meter-label">{p.label}</span>
      <span className="b-meter-text">{p.value === undefined ? '–' : p.text}</span>
      <span className="b-meter-bar" aria-hidden="true">
        {p.value !== undefined && (
          <span className="b-meter-fill" style={{ width: `${Math.min(100, (100 * p.value) / (p.max || 1))}%` }} />
        )}
      </span>
    </div>
  );
}
