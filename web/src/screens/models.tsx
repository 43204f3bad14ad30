// Models: what the catalog recommends, and on which GPUs and slices of the fleet each model fits.

import { SearchInput } from '@patternfly/react-core/dist/esm/components/SearchInput';
import { Switch } from '@patternfly/react-core/dist/esm/components/Switch';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import CatalogIcon from '@patternfly/react-icons/dist/esm/icons/catalog-icon';
import { useMemo, useState, type ReactNode } from 'react';
import { setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useAllowed, useList } from '../data/hooks.ts';
import { catalogModels, inferenceServices } from '../data/kinds.ts';
import '../book/book.css';
import { DeployDialog } from '../serve/deploy.tsx';
import { best, runs } from '../serve/fit.ts';
import { Details, Marks } from '../serve/fits.tsx';
import '../serve/serve.css';
import type { CatalogModel } from '../serve/types.ts';
import { strings } from '../strings.ts';
import { useSome } from '../ui/more.tsx';
import { num } from '../ui/names.ts';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';

const s = strings.serve.models;

const CONTEXTS = [2048, 4096, 8192, 16384, 32768, 65536, 131072];

function Model(p: { of: CatalogModel; onDeploy: (() => void) | undefined }): ReactNode {
  const m = p.of.spec;
  const b = best(p.of);
  return (
    <article className="sv-model" aria-label={m.name} data-testid={`model-${p.of.metadata.name}`}>
      <header>
        <h2>
          {m.name} <span className="b-quiet">{m.provider}</span>
        </h2>
        {p.onDeploy && (
          <Button variant="secondary" size="sm" onClick={p.onDeploy} aria-label={strings.serve.deploy.title(m.name)}>
            {strings.serve.deploy.deploy}
          </Button>
        )}
      </header>
      {m.description && <p>{m.description}</p>}
      <p className="sv-facts">
        {m.license && <span>{m.license}</span>}
        {(m.tasks ?? []).map((t) => (
          <span key={t}>{t}</span>
        ))}
        {m.parameters !== undefined && <span>{s.parameters(num(Math.round(m.parameters / 1e7) / 100))}</span>}
        {m.context !== undefined && <span>{s.context(num(m.context))}</span>}
        {m.memoryGiB !== undefined && <span>{s.needs(num(m.memoryGiB))}</span>}
      </p>
      <p>{b === undefined ? s.noGpus : runs(b) ? s.smallest(b.slice ?? s.whole, b.gpu) : b.verdict === 'no' ? s.nowhere : s.unknown}</p>
      <Marks of={p.of} />
      <Details of={p.of} />
    </article>
  );
}

function Choices(p: { id: string; label: string; all: string; value: string; of: string[]; text?(v: string): string }): ReactNode {
  return (
    <FormSelect aria-label={p.label} value={p.value} onChange={(_e, v) => setQuery({ [p.id]: v || undefined })} className="sv-choice">
      <FormSelectOption value="" label={p.all} />
      {p.of.map((v) => (
        <FormSelectOption key={v} value={v} label={p.text ? p.text(v) : v} />
      ))}
    </FormSelect>
  );
}

export default function Models(): ReactNode {
  const { query } = usePlace();
  const { project } = useScope();
  const may = useAllowed('create', inferenceServices, project);
  const [deploying, setDeploying] = useState<CatalogModel>();
  const text = query.get('q') ?? '';
  const task = query.get('task') ?? '';
  const license = query.get('license') ?? '';
  const context = query.get('context') ?? '';
  const only = query.get('fits') === '1';
  const all = useList(catalogModels, undefined, /^\d+$/.test(context) ? { query: `contextLength=${context}` } : {});
  const tasks = useMemo(() => [...new Set(all.items.flatMap((m) => m.spec.tasks ?? []))].sort(), [all.items]);
  const licenses = useMemo(() => [...new Set(all.items.flatMap((m) => m.spec.license ?? []))].sort(), [all.items]);
  const shown = useMemo(() => {
    const t = text.toLowerCase();
    return all.items.filter(
      (m) =>
        (!task || (m.spec.tasks ?? []).includes(task)) &&
        (!license || m.spec.license === license) &&
        (!only || runs(best(m))) &&
        (!t || `${m.spec.name} ${m.spec.provider ?? ''} ${m.spec.description ?? ''}`.toLowerCase().includes(t)),
    );
  }, [all.items, text, task, license, only]);
  const [some, more] = useSome(shown, 60);

  return (
    <Screen title={strings.nav.models} lead={s.lead}>
      <Ready of={all} what={s.what} cluster lines={8}>
        {() =>
          all.items.length === 0 ? (
            <Empty title={s.none} icon={CatalogIcon}>
              {s.noneHow}
            </Empty>
          ) : (
            <>
              <div className="b-tools">
                <SearchInput aria-label={s.search} placeholder={s.search} value={text} onChange={(_e, v) => setQuery({ q: v })} onClear={() => setQuery({ q: undefined })} />
                <Choices id="task" label={s.task} all={s.allTasks} value={task} of={tasks} />
                <Choices id="license" label={s.license} all={s.allLicenses} value={license} of={licenses} />
                <Choices id="context" label={s.contextLabel} all={s.longestContext} value={context} of={CONTEXTS.map(String)} text={(v) => s.context(num(Number(v)))} />
                <Switch id="only-fits" label={s.onlyFits} isChecked={only} onChange={(_e, v) => setQuery({ fits: v ? '1' : undefined })} />
              </div>
              {shown.length === 0 ? (
                <Empty title={s.noHit} />
              ) : (
                <div className="sv-models">
                  {some.map((m) => (
                    <Model key={m.metadata.name} of={m} onDeploy={may !== false && project ? () => setDeploying(m) : undefined} />
                  ))}
                </div>
              )}
              {more}
            </>
          )
        }
      </Ready>
      {deploying && project && <DeployDialog of={deploying} ns={project} onClose={() => setDeploying(undefined)} />}
    </Screen>
  );
}
