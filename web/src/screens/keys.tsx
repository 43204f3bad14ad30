// Keys: what lets programs use a project's models, who made each, and until when it is valid.

import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Modal, ModalFooter, ModalHeader } from '@patternfly/react-core/dist/esm/components/Modal';
import KeyIcon from '@patternfly/react-icons/dist/esm/icons/key-icon';
import { useState, type ReactNode } from 'react';
import { useScope } from '../app/scope.tsx';
import '../book/book.css';
import { patchObject } from '../data/client.ts';
import { useAllowed, useList, useNow } from '../data/hooks.ts';
import { modelKeys } from '../data/kinds.ts';
import { KeyDialog } from '../serve/key_dialog.tsx';
import type { ModelKey } from '../serve/types.ts';
import { B, strings } from '../strings.ts';
import { useSome } from '../ui/more.tsx';
import { num } from '../ui/names.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';
import { exact, millis, moment, relative } from '../ui/time.ts';
import { toast, toastError } from '../ui/toasts.tsx';

const s = strings.serve.keys;

type State = 'valid' | 'expired' | 'revoked';

const DAY = 86_400_000;

// Without an end a key is valid for 90 days.
function endOf(k: ModelKey): number {
  return millis(k.spec.expiresAt) ?? (millis(k.metadata.creationTimestamp) ?? 0) + 90 * DAY;
}

function stateOf(k: ModelKey, now: number): State {
  return k.spec.revoked ? 'revoked' : endOf(k) <= now ? 'expired' : 'valid';
}

function limitsOf(k: ModelKey): string {
  const l = k.spec.limits ?? {};
  return [l.requestsPerMinute && s.perMinute(num(l.requestsPerMinute)), l.tokensPerMinute && s.tokensPerMinute(num(l.tokensPerMinute)), l.streams && s.streams(l.streams)]
    .filter(Boolean)
    .join(', ');
}

function Revoke(p: { of: ModelKey; onClose(): void }): ReactNode {
  const go = (): void => {
    patchObject(modelKeys, p.of.metadata.name, p.of.metadata.namespace, { spec: { revoked: true } }).then(
      () => toast(s.revoked(p.of.metadata.name)),
      (e: unknown) => toastError(B.mine.failed, e),
    );
    p.onClose();
  };
  return (
    <Modal isOpen onClose={p.onClose} variant="small" aria-labelledby="revoke-title">
      <ModalHeader title={s.revokeTitle(p.of.metadata.name)} labelId="revoke-title" description={s.revokeLead} />
      <ModalFooter>
        <Button variant="danger" onClick={go}>
          {s.revoke}
        </Button>
        <Button variant="link" onClick={p.onClose}>
          {B.cancel}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

function Row(p: { of: ModelKey; now: number; zone: string; many: boolean; onRevoke: (() => void) | undefined }): ReactNode {
  const k = p.of;
  const state = stateOf(k, p.now);
  const tone = state === 'valid' ? 'good' : 'quiet';
  return (
    <tr>
      <th scope="row">
        <code>{k.spec.prefix ? `${k.spec.prefix}…` : k.metadata.name}</code>
        <span className="bk-sub">{k.spec.purpose}</span>
      </th>
      {p.many && <td data-label={strings.common.project}>{k.metadata.namespace}</td>}
      <td data-label={s.state}>
        <span className={`b-state b-state-${tone}`}>{s.states[state]}</span>
      </td>
      <td data-label={s.user}>{k.spec.user || B.dash}</td>
      <td data-label={s.models}>{(k.spec.models ?? []).join(', ') || s.allModels}</td>
      <td data-label={s.limits}>{limitsOf(k) || B.dash}</td>
      <td data-label={s.expires} title={exact(endOf(k), p.zone)}>
        {moment(endOf(k), p.zone, p.now)}
      </td>
      <td data-label={s.lastUsed}>{k.status?.lastUsed ? relative(k.status.lastUsed, p.now) : s.never}</td>
      <td className="bk-actions">
        {p.onRevoke && state === 'valid' && (
          <Button variant="secondary" size="sm" isDanger onClick={p.onRevoke} aria-label={s.revokeOf(k.spec.prefix ?? k.metadata.name)}>
            {s.revoke}
          </Button>
        )}
      </td>
    </tr>
  );
}

export default function Keys(): ReactNode {
  const { project, zone } = useScope();
  const all = useList(modelKeys, project);
  const now = useNow(15_000);
  const may = useAllowed('create', modelKeys, project);
  const mayRevoke = useAllowed('patch', modelKeys, project);
  const [open, setOpen] = useState(false);
  const [doomed, setDoomed] = useState<ModelKey>();
  const list = [...all.items].sort((a, b) => (millis(b.metadata.creationTimestamp) ?? 0) - (millis(a.metadata.creationTimestamp) ?? 0));
  const [some, more] = useSome(list);
  const many = !project;
  const add =
    project && may !== false ? (
      <Button variant="primary" onClick={() => setOpen(true)}>
        {s.add}
      </Button>
    ) : undefined;
  return (
    <Screen title={strings.nav.keys} lead={s.lead} actions={add}>
      <Ready of={all} what={s.what} lines={6}>
        {() =>
          list.length === 0 ? (
            <Empty title={s.none} icon={KeyIcon}>
              {project ? s.noneHow : s.pickProject}
            </Empty>
          ) : (
            <div className="bk-page">
              <table className="bk-table bk-stack">
                <caption className="b-hidden">{strings.nav.keys}</caption>
                <thead>
                  <tr>
                    <th scope="col">{s.key}</th>
                    {many && <th scope="col">{strings.common.project}</th>}
                    <th scope="col">{s.state}</th>
                    <th scope="col">{s.user}</th>
                    <th scope="col">{s.models}</th>
                    <th scope="col">{s.limits}</th>
                    <th scope="col">{s.expires}</th>
                    <th scope="col">{s.lastUsed}</th>
                    <th scope="col">
                      <span className="b-hidden">{s.revoke}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {some.map((k) => (
                    <Row key={k.metadata.uid} of={k} now={now} zone={zone} many={many} onRevoke={mayRevoke === false ? undefined : () => setDoomed(k)} />
                  ))}
                </tbody>
              </table>
              {more}
            </div>
          )
        }
      </Ready>
      {open && project && <KeyDialog ns={project} onClose={() => setOpen(false)} />}
      {doomed && <Revoke of={doomed} onClose={() => setDoomed(undefined)} />}
    </Screen>
  );
}
