/*
 * Which zone times are shown in: a native list, so that it works with any keyboard, reader and thumb, and beside it the
 * offset that holds, both where it changes.
 */
import * as React from 'react';
import { FormSelect, FormSelectOption, FormSelectOptionGroup } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { B } from '../strings.ts';
import { allZones, viewerZone } from './zone.ts';

interface Props {
  id: string;
  zone: string;
  policyZone?: string | undefined;
  offset?: string;
  onChange: (zone: string) => void;
}

export function ZonePicker({ id, zone, policyZone, offset, onChange }: Props) {
  const regions = React.useMemo(() => {
    const by = new Map<string, string[]>();
    for (const z of allZones()) {
      const region = z.includes('/') ? z.slice(0, z.indexOf('/')) : B.zone.other;
      by.set(region, [...(by.get(region) ?? []), z]);
    }
    return [...by.entries()];
  }, []);
  const near = [...new Set([viewerZone(), 'UTC', policyZone ?? 'UTC', zone])];
  return (
    <div className="bk-zone">
      <FormSelect id={id} value={zone} aria-label={B.zone.label} onChange={(_e, v) => onChange(v)}>
        <FormSelectOptionGroup label={B.zone.near}>
          {near.map((z) => (
            <FormSelectOption key={z} value={z}
              label={z === viewerZone() ? B.zone.yours(z) : z === policyZone ? B.zone.policy(z) : z} />
          ))}
        </FormSelectOptionGroup>
        {regions.map(([region, list]) => (
          <FormSelectOptionGroup key={region} label={region}>
            {list.filter((z) => !near.includes(z)).map((z) => <FormSelectOption key={z} value={z} label={z.replaceAll('_', ' ')} />)}
          </FormSelectOptionGroup>
        ))}
      </FormSelect>
      {offset && <span className="bk-offset">{offset}</span>}
    </div>
  );
}
