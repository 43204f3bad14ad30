// One choice of many, with a field to search in.

import { Divider } from '@patternfly/react-core/dist/esm/components/Divider';
import { MenuSearch, MenuSearchInput } from '@patternfly/react-core/dist/esm/components/Menu';
import { MenuToggle } from '@patternfly/react-core/dist/esm/components/MenuToggle';
import { SearchInput } from '@patternfly/react-core/dist/esm/components/SearchInput';
import { Select, SelectList, SelectOption } from '@patternfly/react-core/dist/esm/components/Select';
import { useState, type ReactNode } from 'react';

export interface Choice {
  value: string;
  label: string;
  description?: string | undefined;
}

const SHOWN = 60;

export function Picker(p: {
  label: string; // what is chosen: "Project"
  value: string;
  shown: ReactNode; // on the closed picker
  choices: Choice[];
  search: string; // label of the field
  none: string; // nothing matches
  icon?: ReactNode;
  plain?: boolean;
  full?: boolean;
  footer?: (close: () => void) => ReactNode;
  onPick(value: string): void;
  id?: string;
}): ReactNode {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const wanted = text.toLowerCase();
  const found = p.choices.filter(
    (c) => c.label.toLowerCase().includes(wanted) || (c.description ?? '').toLowerCase().includes(wanted),
  );
  const change = (o: boolean): void => {
    setOpen(o);
    if (!o) {
      setText('');
    }
  };
  return (
    <Select
      isOpen={open}
      isScrollable
      maxMenuHeight="24rem"
      popperProps={{ appendTo: 'inline' }}
      selected={p.value}
      onOpenChange={change}
      onSelect={(_e, v) => {
        p.onPick(String(v));
        change(false);
      }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          onClick={() => change(!open)}
          isExpanded={open}
          isFullWidth={p.full ?? false}
          {...(p.id ? { id: p.id } : {})}
          {...(p.plain ? { variant: 'plainText' as const } : {})}
          {...(p.icon ? { icon: p.icon } : {})}
          className="b-picker"
        >
          <span className="b-hidden">{p.label}: </span>
          <span className="b-picker-text">{p.shown}</span>
        </MenuToggle>
      )}
    >
      {p.choices.length > 7 && (
        <>
          <MenuSearch>
            <MenuSearchInput>
              <SearchInput
                value={text}
                aria-label={p.search}
                placeholder={p.search}
                onChange={(_e, v) => setText(v)}
                onClear={() => setText('')}
              />
            </MenuSearchInput>
          </MenuSearch>
          <Divider />
        </>
      )}
      <SelectList aria-label={p.label}>
        {found.slice(0, SHOWN).map((c) => (
          <SelectOption key={c.value} value={c.value} isSelected={c.value === p.value} description={c.description}>
            {c.label}
          </SelectOption>
        ))}
        {found.length === 0 && (
          <SelectOption isDisabled key="none">
            {p.none}
          </SelectOption>
        )}
      </SelectList>
      {p.footer?.(() => change(false))}
    </Select>
  );
}
