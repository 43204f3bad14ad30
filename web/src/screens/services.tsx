// Services: the models that a project serves, their replicas and addresses, and what can be done with each.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Modal, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import { Slider } from '@patternfly/react-core/dist/esm/components/Slider';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import { useEffect, useState, type ReactNode } from 'react';
import { href, Link } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import '../book/book.css';
import { CopyButton } from '../book/copy.tsx';
import { deleteObject, patchObject } from '../data/client.ts';
import { useAllowed, useList } from '../data/hooks.ts';
import { inferenceServices } from '../data/kinds.ts';
import { modelOf, stateOf, STOP, whyOf, type ServiceState } from '../serve/service.ts';
import '../serve/serve.css';
import type { InferenceService } from '../serve/types.ts';
import { B, strings } from '../strings.ts';
import { useSome } from '../ui/more.tsx';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { toast, toastError } from '../ui/toasts.tsx';

const s = strings.serve.services;

const TONE: Record<ServiceState, string> = { ready: 'good', zero: 'quiet', starting: 'borrowed', queued: 'waiting', failed: 'broken', stopped: 'quiet' };

function patch(o: InferenceService, body: unknown, said: string): void {
  patchObject(inferenceServices, o.metadata.name, o.metadata.namespace, body).then(
    () => toast(said),
    (e: unknown) => toastError(B.mine.failed, e),
  );
}

// The share of requests that the latest revision has, while another one serves the rest.
function Canary(p: { of: InferenceService; may: boolean }): ReactNode {
  const traffic = p.of.status?.components?.predictor?.traffic ?? [];
  const set = p.of.spec.predictor.canaryTrafficPercent;
  const [value, setValue] = useState(set ?? 100);
  useEffect(() => setValue(set ?? 100), [set]);
  if (set === undefined || traffic.length < 2) {
    return null;
  }
  return (
    <div className="sv-canary">
      <Slider aria-label={s.canaryOf(p.of.metadata.name)} value={value} min={0} max={100} isDisabled={!p.may} onChange={(_e, v) => setValue(Math.round(v))} />
      <span>{s.canary(value)}</span>
      {p.may && value !== set && (
        <Button size="sm" variant="secondary" onClick={() => patch(p.of, { spec: { predictor: { canaryTrafficPercent: value } } }, s.canarySet(value))}>
          {strings.common.save}
        </Button>
      )}
      {p.may && set < 100 && (
        <Button size="sm" variant="link" isInline onClick={() => patch(p.of, { spec: { predictor: { canaryTrafficPercent: null } } }, s.promoted)}>
          {s.promote}
        </Button>
      )}
    </div>
  );
}

function Row(p: { of: InferenceService; many: boolean; may: boolean; mayDelete: boolean; onDelete(): void }): ReactNode {
  const o = p.of;
  const state = stateOf(o);
  const why = state === 'ready' || state === 'zero' ? '' : whyOf(o);
  const copies = o.status?.modelStatus?.copies;
  const stopped = state === 'stopped';
  const most = o.spec.predictor.maxReplicas ?? o.spec.predictor.minReplicas ?? 1;
  return (
    <tr>
      <th scope="row">
        {o.metadata.name}
        <span className="bk-sub sv-uri">{modelOf(o)}</span>
      </th>
      {p.many && <td data-label={strings.common.project}>{o.metadata.namespace}</td>}
      <td data-label={s.state}>
        <span className={`b-state b-state-${TONE[state]}`}>{s.states[state]}</span>
        {why && <span className="bk-sub">{why}</span>}
        <Canary of={o} may={p.may} />
      </td>
      <td data-label={s.replicas}>
        {s.replicasOf(copies?.totalCopies ?? 0, o.spec.predictor.minReplicas ?? 1, most)}
        {!!copies?.failedCopies && <span className="bk-sub">{s.failedCopies(copies.failedCopies)}</span>}
      </td>
      <td data-label={s.address}>
        {o.status?.url ? (
          <span className="sv-url">
            <code>{o.status.url}</code> <CopyButton text={o.status.url} label={s.copyOf(o.metadata.name)} />
          </span>
        ) : (
          B.dash
        )}
      </td>
      <td className="bk-actions sv-actions">
        <Link to={`${href('workloads')}?q=${encodeURIComponent(o.metadata.name)}`}>{s.work}</Link>
        {p.may && (
          <Button variant="secondary" size="sm" aria-label={stopped ? s.startOf(o.metadata.name) : s.stopOf(o.metadata.name)}
            onClick={() => patch(o, { metadata: { annotations: { [STOP]: stopped ? null : 'true' } } }, stopped ? s.started(o.metadata.name) : s.stopped(o.metadata.name))}>
            {stopped ? s.start : s.stop}
          </Button>
        )}
        {p.mayDelete && (
          <Button variant="secondary" size="sm" isDanger onClick={p.onDelete} aria-label={B.admin.deleteOf(o.metadata.name)}>
            {B.admin.delete}
          </Button>
        )}
      </td>
    </tr>
  );
}

export default function Services(): ReactNode {
  const { project } = useScope();
  const all = useList(inferenceServices, project);
  const may = useAllowed('patch', inferenceServices, project);
  const mayDelete = useAllowed('delete', inferenceServices, project);
  const [doomed, setDoomed] = useState<InferenceService>();
  const list = [...all.items].sort((a, b) => `${a.metadata.namespace}/${a.metadata.name}`.localeCompare(`${b.metadata.namespace}/${b.metadata.name}`));
  const [some, more] = useSome(list);
  const drop = (o: InferenceService): void => {
    deleteObject(inferenceServices, o.metadata.name, o.metadata.namespace).then(() => toast(B.admin.deleted(o.metadata.name)), (e: unknown) => toastError(B.mine.failed, e));
    setDoomed(undefined);
  };
  return (
    <Screen title={strings.nav.services} lead={s.lead}>
      <Ready of={all} what={s.what} lines={6}>
        {() =>
          list.length === 0 ? (
            <Empty title={s.none} icon={ServerIcon} actions={<Link to={href('models')}>{s.toModels}</Link>}>
              {s.noneHow}
            </Empty>
          ) : (
            <div className="bk-page">
              <table className="bk-table bk-stack">
                <caption className="b-hidden">{strings.nav.services}</caption>
                <thead>
                  <tr>
                    <th scope="col">{s.service}</th>
                    {!project && <th scope="col">{strings.common.project}</th>}
                    <th scope="col">{s.state}</th>
                    <th scope="col">{s.replicas}</th>
                    <th scope="col">{s.address}</th>
                    <th scope="col">
                      <span className="b-hidden">{s.actions}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {some.map((o) => (
                    <Row key={o.metadata.uid} of={o} many={!project} may={may !== false} mayDelete={mayDelete !== false} onDelete={() => setDoomed(o)} />
                  ))}
                </tbody>
              </table>
              {more}
            </div>
          )
        }
      </Ready>
      {doomed && (
        <Modal isOpen onClose={() => setDoomed(undefined)} variant="small" aria-labelledby="drop-title">
          <ModalHeader title={s.deleteTitle(doomed.metadata.name)} labelId="drop-title" description={s.deleteLead} />
          <ModalFooter>
            <Button variant="danger" onClick={() => drop(doomed)}>
              {B.admin.delete}
            </Button>
            <Button variant="link" onClick={() => setDoomed(undefined)}>
              {B.cancel}
            </Button>
          </ModalFooter>
        </Modal>
      )}
    </Screen>
  );
}
