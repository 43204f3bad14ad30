// GPUs: every card, how it is cut, who has what, and how it does.

import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import { SearchInput } from '@patternfly/react-core/dist/esm/components/SearchInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/esm/components/ToggleGroup';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ChipIcon from '@patternfly/react-icons/dist/esm/icons/microchip-icon';
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon';
import { useMemo, type ReactNode } from 'react';
import { Link, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useObject } from '../data/hooks.ts';
import { fleets } from '../data/kinds.ts';
import type { FleetCard } from '../data/types.ts';
import { strings } from '../strings.ts';
import { num } from '../ui/names.ts';
import { useSome } from '../ui/more.tsx';
import { Screen } from '../ui/screen.tsx';
import { linkOfInstance, Meter, ownerOf, SliceMap } from '../ui/slicemap.tsx';
import { Empty, Ready } from '../ui/states.tsx';

const s = strings.gpus;

function Health(p: { card: FleetCard }): ReactNode {
  const h = p.card.health ?? 'Unknown';
  if (h === 'Healthy') {
    return (
      <Label color="green" variant="outline" isCompact icon={<CheckCircleIcon />}>
        {s.health.Healthy}
      </Label>
    );
  }
  return h === 'Unhealthy' ? (
    <Label color="red" isCompact icon={<ExclamationCircleIcon />}>
      {s.health.Unhealthy}
    </Label>
  ) : (
    <Label color="grey" variant="outline" isCompact icon={<QuestionCircleIcon />}>
      {s.health.Unknown}
    </Label>
  );
}

function Card(p: { card: FleetCard; mine: string | undefined }): ReactNode {
  const c = p.card;
  const unit = (v: number | undefined, u: string): string => (v === undefined ? '' : `${num(v)} ${u}`);
  return (
    <article className="b-gpu" aria-label={s.card(c.index, c.node)} data-testid={`gpu-${c.index}`}>
      <header>
        <h3>
          {s.gpu(c.index)} <span className="b-quiet">{c.model}</span>
        </h3>
        {!!c.migEnabled && (
          <Label isCompact variant="outline" color="blue">
            {s.mig}
          </Label>
        )}
        <Health card={c} />
      </header>
      {c.trouble && (
        <p className="b-gpu-trouble">
          <ExclamationCircleIcon className="b-bad" aria-hidden="true" /> {c.trouble}
        </p>
      )}
      <SliceMap card={c} mine={p.mine} />
      <div className="b-gpu-meters">
        <Meter label={s.utilization} value={c.utilization} max={100} text={unit(c.utilization, '%')} />
        <Meter
          label={s.memory}
          value={c.memoryUsed}
          max={c.memoryGiB ?? 1}
          text={`${num(c.memoryUsed ?? 0)} / ${num(c.memoryGiB ?? 0)} GiB`}
        />
        <Meter label={s.temperature} value={c.temperature} max={100} text={unit(c.temperature, '°C')} />
        <Meter label={s.power} value={c.power} max={700} text={unit(c.power, 'W')} />
      </div>
    </article>
  );
}

function Table(p: { cards: FleetCard[] }): ReactNode {
  const [some, more] = useSome(p.cards);
  const cell = (v: number | undefined, u: string): string => (v === undefined ? '–' : `${num(v)} ${u}`);
  return (
    <div className="b-scroll-x b-panel" tabIndex={0} role="region" aria-label={s.table}>
      <table className="b-table">
        <caption className="b-hidden">{s.table}</caption>
        <thead>
          <tr>
            <th scope="col">{s.node}</th>
            <th scope="col">{s.gpuColumn}</th>
            <th scope="col">{s.model}</th>
            <th scope="col">{s.healthColumn}</th>
            <th scope="col">{s.cut}</th>
            <th scope="col" className="b-num">
              {s.utilization}
            </th>
            <th scope="col" className="b-num">
              {s.memory}
            </th>
            <th scope="col" className="b-num">
              {s.temperature}
            </th>
            <th scope="col" className="b-num">
              {s.power}
            </th>
          </tr>
        </thead>
        <tbody>
          {some.map((c) => (
            <tr key={c.uuid || `${c.node}/${c.index}`}>
              <td>{c.node}</td>
              <th scope="row">{c.index}</th>
              <td>{c.model}</td>
              <td>
                <Health card={c} /> {c.trouble}
              </td>
              <td>
                {(c.instances ?? []).length === 0 ? (
                  <span className="b-quiet">{s.emptyCard}</span>
                ) : (
                  <ul className="b-plainlist">
                    {(c.instances ?? []).map((i) => {
                      const to = linkOfInstance(i);
                      return (
                        <li key={`${i.start}${i.profile}`}>
                          <b>{i.profile || s.whole}</b> {to ? <Link to={to}>{ownerOf(i)}</Link> : ownerOf(i)}
                        </li>
                      );
                    })}
                  </ul>
                )}
              </td>
              <td className="b-num">{cell(c.utilization, '%')}</td>
              <td className="b-num">
                {c.memoryUsed === undefined ? '–' : `${num(c.memoryUsed)} / ${num(c.memoryGiB ?? 0)} GiB`}
              </td>
              <td className="b-num">{cell(c.temperature, '°C')}</td>
              <td className="b-num">{cell(c.power, 'W')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </div>
  );
}

type Show = 'all' | 'free' | 'busy' | 'trouble';

function isFree(c: FleetCard): boolean {
  const used = (c.instances ?? []).reduce((a, i) => a + (i.used ? (i.profile ? (i.size ?? 1) : (c.slices ?? 8)) : 0), 0);
  return c.health !== 'Unhealthy' && used < (c.slices ?? 8);
}

const SHOW: Record<Show, (c: FleetCard) => boolean> = {
  all: () => true,
  free: isFree,
  busy: (c) => (c.instances ?? []).some((i) => i.used),
  trouble: (c) => c.health === 'Unhealthy' || !!c.trouble,
};

export default function Gpus(): ReactNode {
  const { project } = useScope();
  const { query } = usePlace();
  const fleet = useObject(fleets, 'current');
  const text = query.get('q') ?? '';
  const show = (query.get('show') ?? 'all') as Show;
  const view = query.get('view') ?? 'map';
  const cards = fleet.object?.cards ?? [];

  const shown = useMemo(() => {
    const t = text.toLowerCase();
    const hit = (c: FleetCard): boolean =>
      !t ||
      [c.node, c.model, c.uuid, c.flavor, ...(c.instances ?? []).flatMap((i) => [i.profile, i.namespace, i.pod, i.workload])]
        .filter(Boolean)
        .some((x) => (x as string).toLowerCase().includes(t));
    return cards
      .filter((c) => (SHOW[show] ?? SHOW.all)(c) && hit(c))
      .sort((a, b) => a.node.localeCompare(b.node, undefined, { numeric: true }) || a.index - b.index);
  }, [cards, text, show]);

  const nodes = useMemo(() => {
    const m = new Map<string, FleetCard[]>();
    for (const c of shown) {
      const l = m.get(c.node);
      if (l) {
        l.push(c);
      } else {
        m.set(c.node, [c]);
      }
    }
    return [...m];
  }, [shown]);
  const [someNodes, moreNodes] = useSome(nodes, 40);

  return (
    <Screen title={strings.nav.gpus} lead={s.lead}>
      <Ready of={fleet} what={s.what} cluster lines={10}>
        {() =>
          cards.length === 0 ? (
            <Empty title={s.none} icon={ChipIcon}>
              {(fleet.object?.types ?? []).length > 0 ? s.noCards : s.noneWhy}
            </Empty>
          ) : (
            <>
              <div className="b-tools">
                <SearchInput
                  aria-label={s.search}
                  placeholder={s.search}
                  value={text}
                  onChange={(_e, v) => setQuery({ q: v })}
                  onClear={() => setQuery({ q: undefined })}
                />
                <ToggleGroup isCompact aria-label={s.show}>
                  {(Object.keys(SHOW) as Show[]).map((k) => (
                    <ToggleGroupItem
                      key={k}
                      buttonId={`show-${k}`}
                      text={`${s.shows[k]} ${cards.filter(SHOW[k]).length}`}
                      isSelected={show === k}
                      onChange={() => setQuery({ show: k === 'all' ? undefined : k })}
                    />
                  ))}
                </ToggleGroup>
                <span className="b-grow" />
                <ToggleGroup isCompact aria-label={s.view}>
                  <ToggleGroupItem
                    buttonId="view-map"
                    text={s.asMap}
                    isSelected={view !== 'table'}
                    onChange={() => setQuery({ view: undefined })}
                  />
                  <ToggleGroupItem
                    buttonId="view-table"
                    text={s.asTable}
                    isSelected={view === 'table'}
                    onChange={() => setQuery({ view: 'table' })}
                  />
                </ToggleGroup>
              </div>
              {shown.length === 0 ? (
                <Empty title={s.noHit} />
              ) : view === 'table' ? (
                <Table cards={shown} />
              ) : (
                someNodes.map(([node, list]) => (
                  <section key={node} aria-label={s.onNode(node)}>
                    <h2 className="b-node">
                      {node} <span className="b-quiet">{s.cards(list.length)}</span>
                    </h2>
                    <div className="b-gpus">
                      {list.map((c) => (
                        <Card key={c.uuid || c.index} card={c} mine={project} />
                      ))}
                    </div>
                  </section>
                ))
              )}
              {view !== 'table' && moreNodes}
            </>
          )
        }
      </Ready>
    </Screen>
  );
}
