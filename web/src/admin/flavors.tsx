/*
 * ResourceFlavors: which nodes they mean, and whether they can be booked; made, changed and deleted by who may, with a
 * look at what it would do.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { useAllowed, useList, useObject } from '../data/hooks.ts';
import { nodes, reservationPolicies, resourceFlavors } from '../data/kinds.ts';
import type { ResourceFlavor } from '../data/types.ts';
import { B } from '../strings.ts';
import { Empty, Ready } from '../ui/states.tsx';
import { FlavorDrop, FlavorEdit } from './flavor_edit.tsx';

const t = B.admin.flavors;

const taintText = (x: { key?: string; value?: string; effect?: string }): string =>
  `${x.key ?? ''}${x.value ? `=${x.value}` : ''}${x.effect ? `:${x.effect}` : ''}`;

export function Flavors() {
  const all = useList(resourceFlavors);
  const machines = useList(nodes);
  const pool = useObject(reservationPolicies, 'default').object?.spec?.pool?.flavors ?? [];
  const count = (labels: Record<string, string>) => machines.items.filter((n) =>
    Object.entries(labels).every(([k, v]) => n.metadata.labels?.[k] === v)).length;
  const mayEdit = useAllowed('patch', resourceFlavors), mayAdd = useAllowed('create', resourceFlavors);
  const mayDrop = useAllowed('delete', resourceFlavors);
  const [edit, setEdit] = React.useState<{ object: ResourceFlavor | undefined } | undefined>();
  const [doomed, setDoomed] = React.useState<ResourceFlavor | undefined>();
  const add = mayAdd === false ? undefined : <Button variant="primary" onClick={() => setEdit({ object: undefined })}>{t.add}</Button>;
  return (
    <Ready of={all} what={t.what} cluster>
      {all.items.length === 0 ? <Empty title={t.none} actions={add} /> : (
        <div className="bk-page">
          <div className="bk-tools">
            {add}
            {mayEdit === false && mayAdd === false && mayDrop === false && <span className="bk-faint" data-testid="read-only">{B.admin.readOnly}</span>}
          </div>
          <table className="bk-table bk-stack">
            <caption className="b-hidden">{B.admin.tabs.flavors}</caption>
            <thead>
              <tr>
                <th scope="col">{B.admin.quotas.name}</th>
                <th scope="col">{t.labels}</th>
                <th scope="col">{t.taints}</th>
                <th scope="col">{t.tolerations}</th>
                <th scope="col">{t.topology}</th>
                <th scope="col" className="bk-num">{t.nodes}</th>
                <th scope="col">{t.inPool}</th>
                <th scope="col"><span className="b-hidden">{B.admin.edit}</span></th>
              </tr>
            </thead>
            <tbody>
              {[...all.items].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map((f) => {
                const labels = f.spec?.nodeLabels ?? {}, name = f.metadata.name;
                return (
                  <tr key={name} data-testid={`flavor-${name}`}>
                    <th scope="row">{name}{f.metadata.deletionTimestamp && <span className="bk-sub">{t.going}</span>}</th>
                    <td data-label={t.labels}>{Object.entries(labels).map(([k, v]) => <span className="bk-sub" key={k}>{k}={v}</span>)}{Object.keys(labels).length === 0 && B.dash}</td>
                    <td data-label={t.taints}>{(f.spec?.nodeTaints ?? []).map(taintText).join(', ') || B.dash}</td>
                    <td data-label={t.tolerations}>{(f.spec?.tolerations ?? []).map((x) => taintText({ ...x, key: x.key || '*' })).join(', ') || B.dash}</td>
                    <td data-label={t.topology}>{f.spec?.topologyName ?? B.dash}</td>
                    <td data-label={t.nodes} className="bk-num">{machines.error ? B.dash : count(labels)}</td>
                    <td data-label={t.inPool}>{pool.length === 0 || pool.includes(name) ? t.yes : t.no}</td>
                    <td className="bk-actions">
                      {mayEdit !== false && <Button variant="secondary" size="sm" onClick={() => setEdit({ object: f })} aria-label={B.admin.editOf(name)}>{B.admin.edit}</Button>}{' '}
                      {mayDrop !== false && !f.metadata.deletionTimestamp && <Button variant="secondary" size="sm" isDanger onClick={() => setDoomed(f)} aria-label={B.admin.deleteOf(name)}>{B.admin.delete}</Button>}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {edit && <FlavorEdit object={edit.object} latest={all.items.find((f) => f.metadata.uid === edit.object?.metadata.uid)}
        nodes={machines.error ? undefined : count} onClose={() => setEdit(undefined)} />}
      {doomed && <FlavorDrop object={doomed} onClose={() => setDoomed(undefined)} />}
    </Ready>
  );
}
