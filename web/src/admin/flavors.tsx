/* ResourceFlavors: which nodes they mean, and whether they can be booked. */
import { useList, useObject } from '../data/hooks.ts';
import { nodes, reservationPolicies, resourceFlavors } from '../data/kinds.ts';
import { B } from '../strings.ts';
import { Empty, Ready } from '../ui/states.tsx';

const t = B.admin.flavors;

export function Flavors() {
  const all = useList(resourceFlavors);
  const machines = useList(nodes);
  const pool = useObject(reservationPolicies, 'default').object?.spec?.pool?.flavors ?? [];
  const count = (labels: Record<string, string>) => machines.items.filter((n) =>
    Object.entries(labels).every(([k, v]) => n.metadata.labels?.[k] === v)).length;
  return (
    <Ready of={all} what={t.what} cluster>
      {all.items.length === 0 ? <Empty title={t.none} /> : (
        <table className="bk-table bk-stack">
          <caption className="b-hidden">{B.admin.tabs.flavors}</caption>
          <thead>
            <tr>
              <th scope="col">{B.admin.quotas.name}</th>
              <th scope="col">{t.labels}</th>
              <th scope="col">{t.taints}</th>
              <th scope="col">{t.topology}</th>
              <th scope="col" className="bk-num">{t.nodes}</th>
              <th scope="col">{t.inPool}</th>
            </tr>
          </thead>
          <tbody>
            {[...all.items].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map((f) => {
              const labels = f.spec?.nodeLabels ?? {};
              const taints = (f.spec?.nodeTaints ?? []) as { key?: string; value?: string; effect?: string }[];
              return (
                <tr key={f.metadata.name}>
                  <th scope="row">{f.metadata.name}</th>
                  <td data-label={t.labels}>{Object.entries(labels).map(([k, v]) => <span className="bk-sub" key={k}>{k}={v}</span>)}{Object.keys(labels).length === 0 && B.dash}</td>
                  <td data-label={t.taints}>{taints.map((x) => `${x.key}${x.value ? `=${x.value}` : ''}:${x.effect}`).join(', ') || B.dash}</td>
                  <td data-label={t.topology}>{f.spec?.topologyName ?? B.dash}</td>
                  <td data-label={t.nodes} className="bk-num">{machines.error ? B.dash : count(labels)}</td>
                  <td data-label={t.inPool}>{pool.length === 0 || pool.includes(f.metadata.name) ? t.yes : t.no}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Ready>
  );
}
