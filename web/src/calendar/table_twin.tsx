/*
 * The same period as tables, for those who rather read than look: what is free, and what is booked.
 */
import { B } from '../strings.ts';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { phaseText } from '../book/phase.ts';
import { useSome } from '../ui/more.tsx';
import { barLabel } from './gantt.tsx';
import type { Bar, Group } from './rows.ts';
import { cellState } from './rows.ts';
import type { Scale } from './scale.ts';
import { HOUR, rangeText, timeText } from './zone.ts';

/* A day in eight parts; a week and a month by days. */
function partsOf(scale: Scale): { from: number; to: number; text: string }[] {
  if (scale.view !== 'day') {
    return scale.headings.map((h) => ({ from: h.from, to: h.to, text: h.sub ? `${h.text} (${h.sub})` : h.text }));
  }
  const out = [];
  for (let at = scale.from; at < scale.to; at += 3 * HOUR) {
    const to = Math.min(at + 3 * HOUR, scale.to);
    out.push({ from: at, to, text: `${timeText(at, scale.zone)}–${timeText(to, scale.zone)}` });
  }
  return out;
}

interface Props {
  scale: Scale;
  groups: Group[];
  onOpen: (bar: Bar) => void;
}

export function TableTwin({ scale, groups, onOpen }: Props) {
  const parts = partsOf(scale);
  const rows = groups.flatMap((g) => g.rows);
  const bars = rows.flatMap((row) => row.bars.map((bar) => ({ row, bar })))
    .sort((a, b) => a.bar.from - b.bar.from || (a.row.key < b.row.key ? -1 : 1));
  const [some, more] = useSome(bars);
  return (
    <div className="bk-page">
      <div className="bk-scroll-x" role="region" aria-label={B.cal.freeCaption(scale.title)} tabIndex={0}>
        <table className="bk-table">
          <caption>{B.cal.freeCaption(scale.title)}</caption>
          <thead>
            <tr>
              <th scope="col">{B.cal.resource}</th>
              {parts.map((p) => <th key={p.from} scope="col" className="bk-num">{p.text}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">{B.cal.resourceName(row.label)}<span className="bk-sub">{row.flavor}</span></th>
                {parts.map((p) => {
                  const s = cellState(row, p.from, p.to);
                  return (
                    <td key={p.from} className="bk-num">
                      {s.free === undefined ? B.dash : B.cal.freeShort(s.free, s.total ?? row.total)}
                      {s.closed && ` (${s.closed.text})`}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="bk-scroll-x" role="region" aria-label={B.cal.bookedCaption(scale.title)} tabIndex={0}>
        <table className="bk-table">
          <caption>{B.cal.bookedCaption(scale.title)}</caption>
          <thead>
            <tr>
              <th scope="col">{B.book.when}</th>
              <th scope="col">{B.cal.resource}</th>
              <th scope="col" className="bk-num">{B.cal.units}</th>
              <th scope="col">{B.book.purpose}</th>
              <th scope="col">{B.mine.owner}</th>
              <th scope="col">{B.mine.state}</th>
            </tr>
          </thead>
          <tbody>
            {bars.length === 0 && <tr><td colSpan={6}>{B.cal.nothingBooked}</td></tr>}
            {some.map(({ row, bar }) => (
              <tr key={`${row.key}${bar.key}`}>
                <td>{rangeText(bar.from, bar.to, scale.zone)}</td>
                <td>{B.cal.resourceName(row.label)}<span className="bk-sub">{row.flavor}</span></td>
                <td className="bk-num">{bar.count}</td>
                <td>
                  {bar.visible ? <Button variant="link" isInline onClick={() => onOpen(bar)}>{barLabel({ ...bar, count: 1 })}</Button>
                    : B.cal.others}
                </td>
                <td>{bar.visible ? `${bar.owner ?? B.dash} · ${bar.namespace ?? ''}` : B.dash}</td>
                <td>{phaseText(bar.phase)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {more}
      </div>
    </div>
  );
}
