/*
 * ClusterQueues, Cohorts and LocalQueues with their quotas; each can be edited, with a look at what it would do.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Label } from '@patternfly/react-core/dist/esm/components/Label';
import { useScope } from '../app/scope.tsx';
import { deed } from '../data/access.ts';
import { useList, useMayEach } from '../data/hooks.ts';
import { clusterQueues, cohorts, localQueues, type Kind } from '../data/kinds.ts';
import type { ClusterQueue, KubeObject, LocalQueue, ResourceGroup } from '../data/types.ts';
import { B } from '../strings.ts';
import { useSome } from '../ui/more.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { QuotaEdit, type QuotaKind } from './quota_edit.tsx';

const t = B.admin.quotas;
const byName = <O extends KubeObject>(list: O[]): O[] => [...list].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
const ofBooking = (o: KubeObject): string | undefined => o.metadata.labels?.['berth.dev/reservation'];

function Quotas1({ groups, used }: { groups: ResourceGroup[] | undefined; used?: ClusterQueue['status'] }) {
  const list = (groups ?? []).flatMap((g) => g.flavors.flatMap((f) => f.resources.map((q) => ({ f: f.name, q }))));
  if (list.length === 0) {
    return <>{B.admin.none}</>;
  }
  const use = (flavor: string, resource: string) =>
    used?.flavorsUsage?.find((u) => u.name === flavor)?.resources.find((r) => r.name === resource)?.total;
  return (
    <ul className="bk-quota-list">
      {list.map(({ f, q }) => (
        <li key={`${f}${q.name}`}>
          <span className="bk-caps">{q.name}</span>
          <span className="bk-num">{used ? `${use(f, q.name) ?? 0} / ` : ''}{q.nominalQuota}</span>
        </li>
      ))}
    </ul>
  );
}

const KIND_OF: Record<QuotaKind, Kind<unknown>> = { ClusterQueue: clusterQueues, Cohort: cohorts, LocalQueue: localQueues };

interface EditState {
  kind: QuotaKind;
  object: KubeObject;
}

/* Who may edit it; what was made for a booking Berth puts back, so nobody may. */
type MayEdit = (kind: QuotaKind, o: KubeObject) => boolean;

function useMayEdit(local: LocalQueue[]): { may: MayEdit; none: boolean } {
  const projects = [...new Set(local.map((q) => q.metadata.namespace ?? ''))].sort().join();
  const asks = React.useMemo(() => [deed('patch', clusterQueues), deed('patch', cohorts),
    ...projects.split(',').filter(Boolean).map((ns) => deed('patch', localQueues, ns))], [projects]);
  const answers = useMayEach(asks);
  return {
    may: (kind, o) => !ofBooking(o) &&
      answers[asks.findIndex((a) => a.resource === KIND_OF[kind].plural && a.namespace === o.metadata.namespace)] !== false,
    none: answers.every((a) => a === false),
  };
}

function EditButton({ kind, object, may, onEdit }: EditState & { may: MayEdit; onEdit: (e: EditState) => void }) {
  return may(kind, object) && (
    <Button variant="secondary" size="sm" onClick={() => onEdit({ kind, object })} aria-label={B.admin.editOf(object.metadata.name)}>
      {B.admin.edit}
    </Button>
  );
}

function Queues({ list, may, onEdit }: { list: ClusterQueue[]; may: MayEdit; onEdit: (e: EditState) => void }) {
  const [some, more] = useSome(byName(list));
  return (
    <>
      <table className="bk-table bk-stack">
        <caption>{t.queues}</caption>
        <thead>
          <tr>
            <th scope="col">{t.name}</th>
            <th scope="col">{t.cohort}</th>
            <th scope="col">{t.nominal}</th>
            <th scope="col" className="bk-num">{t.running}</th>
            <th scope="col" className="bk-num">{t.pending}</th>
            <th scope="col">{t.stop}</th>
            <th scope="col"><span className="b-hidden">{B.admin.edit}</span></th>
          </tr>
        </thead>
        <tbody>
          {some.map((q) => (
            <tr key={q.metadata.name} data-testid={`queue-${q.metadata.name}`}>
              <th scope="row">{q.metadata.name}{ofBooking(q) && <span className="bk-sub"><Label isCompact variant="outline">{ofBooking(q)}</Label> {t.booking}</span>}</th>
              <td data-label={t.cohort}>{q.spec.cohortName || B.dash}</td>
              <td data-label={t.nominal}><Quotas1 groups={q.spec.resourceGroups} used={q.status ?? {}} /></td>
              <td data-label={t.running} className="bk-num">{q.status?.admittedWorkloads ?? 0}</td>
              <td data-label={t.pending} className="bk-num">{q.status?.pendingWorkloads ?? 0}</td>
              <td data-label={t.stop}>{t.stops[q.spec.stopPolicy ?? 'None'] ?? q.spec.stopPolicy}</td>
              <td className="bk-actions"><EditButton kind="ClusterQueue" object={q} may={may} onEdit={onEdit} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

export function Quotas() {
  const { project } = useScope();
  const queues = useList(clusterQueues), pools = useList(cohorts), local = useList(localQueues, project);
  const [edit, setEdit] = React.useState<EditState | undefined>();
  const [someLocal, moreLocal] = useSome(byName(local.items));
  const mayEdit = useMayEdit(local.items);
  const latest = [...queues.items, ...pools.items, ...local.items].find((o) => o.metadata.uid === edit?.object.metadata.uid);
  const names = [...new Set([...pools.items.map((c) => c.metadata.name), ...queues.items.map((q) => q.spec.cohortName ?? '')])].filter(Boolean).sort();
  return (
    <div className="bk-page">
      {mayEdit.none && <p className="bk-faint" data-testid="read-only">{B.admin.readOnly}</p>}
      <Ready of={queues} what={t.what} cluster>
        {queues.items.length === 0 ? <Empty title={t.none}>{t.noneHow}</Empty> : <Queues list={queues.items} may={mayEdit.may} onEdit={setEdit} />}
      </Ready>
      {!queues.error && (
        <Ready of={pools} what={t.cohorts} cluster>
          {pools.items.length > 0 && (
            <table className="bk-table bk-stack">
              <caption>{t.cohorts}</caption>
              <thead>
                <tr>
                  <th scope="col">{t.name}</th>
                  <th scope="col">{t.parent}</th>
                  <th scope="col">{t.nominal}</th>
                  <th scope="col"><span className="b-hidden">{B.admin.edit}</span></th>
                </tr>
              </thead>
              <tbody>
                {byName(pools.items).map((c) => (
                  <tr key={c.metadata.name}>
                    <th scope="row">{c.metadata.name}</th>
                    <td data-label={t.parent}>{c.spec?.parentName || B.dash}</td>
                    <td data-label={t.nominal}><Quotas1 groups={c.spec?.resourceGroups} /></td>
                    <td className="bk-actions"><EditButton kind="Cohort" object={c} may={mayEdit.may} onEdit={setEdit} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Ready>
      )}
      <Ready of={local} what={t.local}>
        {local.items.length > 0 && (
          <>
            <table className="bk-table bk-stack">
              <caption>{t.local}</caption>
              <thead>
                <tr>
                  <th scope="col">{t.name}</th>
                  <th scope="col">{B.mine.project}</th>
                  <th scope="col">{t.clusterQueue}</th>
                  <th scope="col" className="bk-num">{t.running}</th>
                  <th scope="col" className="bk-num">{t.pending}</th>
                  <th scope="col"><span className="b-hidden">{B.admin.edit}</span></th>
                </tr>
              </thead>
              <tbody>
                {someLocal.map((q) => (
                  <tr key={`${q.metadata.namespace}/${q.metadata.name}`}>
                    <th scope="row">{q.metadata.name}</th>
                    <td data-label={B.mine.project}>{q.metadata.namespace}</td>
                    <td data-label={t.clusterQueue}>{q.spec.clusterQueue}</td>
                    <td data-label={t.running} className="bk-num">{q.status?.admittedWorkloads ?? 0}</td>
                    <td data-label={t.pending} className="bk-num">{q.status?.pendingWorkloads ?? 0}</td>
                    <td className="bk-actions"><EditButton kind="LocalQueue" object={q} may={mayEdit.may} onEdit={setEdit} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
            {moreLocal}
          </>
        )}
      </Ready>
      {edit && <QuotaEdit kind={edit.kind} object={edit.object} latest={latest} cohortNames={names} onClose={() => setEdit(undefined)} />}
    </div>
  );
}
