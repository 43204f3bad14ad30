/*
 * What: a card for each kind of GPU and slice, with how many of it, and the way round: by the memory that is needed.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { NumberInput } from '@patternfly/react-core/dist/esm/components/NumberInput';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { B } from '../strings.ts';
import { bySize, productOf } from '../calendar/rows.ts';
import { namedGb } from '../ui/names.ts';
import { shareText } from './cost.ts';
import { byMemory, countOf, freeOver, isWholeGpu, shortResource, withCount, type Draft, type Fault } from './draft.ts';
import type { Availability } from './types.ts';

interface Props {
  draft: Draft;
  set: (d: Partial<Draft>) => void;
  items: Availability[];
  faults: Fault[];
}

export const resourceName = (resource: string): string =>
  isWholeGpu(resource) ? B.cal.wholeGpu : shortResource(resource);

function Card({ item, draft, set }: { item: Availability; draft: Draft; set: Props['set'] }) {
  const count = countOf(draft.lines, item.flavor, item.resource);
  const free = freeOver(item, draft.start, draft.end);
  const name = resourceName(item.resource);
  const share = Number(item.gpuShare ?? (isWholeGpu(item.resource) ? 1 : 0));
  const put = (n: number) =>
    set({ lines: withCount(draft.lines, item.flavor, item.resource, Math.max(0, Math.min(n || 0, item.total))) });
  const full = free !== undefined && free <= 0;
  return (
    <li className="bk-card" data-chosen={count > 0} data-full={full} data-testid={`card-${shortResource(item.resource)}`}>
      <div className="bk-card-text">
        <span className="bk-card-name">{name}</span>
        <span className="bk-card-sub">
          {[item.memoryGiB ? B.book.memory(namedGb(item)) : '', share > 0 && share < 1 ? B.book.share(shareText(share)) : '']
            .filter(Boolean).join(' · ')}
        </span>
        <span className={full ? 'bk-card-none' : 'bk-card-free'}>
          {free === undefined ? B.book.inAll(item.total) : B.book.freeThen(Math.max(0, free), item.total)}
        </span>
      </div>
      <NumberInput value={count} min={0} max={item.total} widthChars={2}
        inputAriaLabel={B.book.countOf(name)} minusBtnAriaLabel={B.book.less(name)} plusBtnAriaLabel={B.book.more(name)}
        onMinus={() => put(count - 1)} onPlus={() => put(count + 1)}
        onChange={(e) => put(Math.floor(Number((e.target as HTMLInputElement).value)))} />
    </li>
  );
}

function ByMemory({ draft, set, items }: Pick<Props, 'draft' | 'set' | 'items'>) {
  const [need, setNeed] = React.useState('');
  const [said, say] = React.useState('');
  const find = () => {
    const item = byMemory(items, Number(need), draft.start, draft.end);
    if (!item || !(Number(need) > 0)) {
      say(B.book.noneThatBig);
      return;
    }
    set({ lines: [{ resource: item.resource, flavor: item.flavor, count: 1 }] });
    say(B.book.smallest(resourceName(item.resource), namedGb(item)));
  };
  return (
    <div className="bk-inline">
      <label htmlFor="book-memory">{B.book.byMemory}</label>
      <TextInput id="book-memory" type="number" min={1} max={100000} value={need} className="bk-few"
        onChange={(_e, v) => setNeed(v)}
        onKeyDown={(e) => {
          if (e.key === 'Enter') {
            e.preventDefault();
            find();
          }
        }} />
      <span>{B.book.gib}</span>
      <Button variant="secondary" onClick={find} isDisabled={!need}>{B.book.find}</Button>
      <span role="status" className="bk-faint">{said}</span>
    </div>
  );
}

export function What({ draft, set, items, faults }: Props) {
  const sorted = React.useMemo(() => items.filter((i) => i.total > 0).sort(bySize), [items]);
  const flavors = [...new Set(sorted.map((i) => i.flavor))].sort();
  return (
    <FormGroup label={B.book.what} role="group" fieldId="book-what">
      <ByMemory draft={draft} set={set} items={sorted} />
      {flavors.map((f) => (
        <React.Fragment key={f}>
          {flavors.length > 1 && <h2 className="bk-flavor">{productOf(sorted.find((i) => i.flavor === f) as Availability)} ({f})</h2>}
          <ul className="bk-cards">
            {sorted.filter((i) => i.flavor === f).map((i) => (
              <Card key={`${i.flavor}${i.resource}`} item={i} draft={draft} set={set} />
            ))}
          </ul>
        </React.Fragment>
      ))}
      {faults.includes('noLines') && (
        <FormHelperText>
          <HelperText><HelperTextItem>{B.book.fault.noLines}</HelperTextItem></HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  );
}
