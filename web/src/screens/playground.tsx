// Playground: a conversation with a model that a project serves.

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/esm/components/FormSelect';
import { TextArea } from '@patternfly/react-core/dist/esm/components/TextArea';
import CommentsIcon from '@patternfly/react-icons/dist/esm/icons/comments-icon';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { href, Link, setQuery, usePlace } from '../app/router.tsx';
import { useScope } from '../app/scope.tsx';
import { useSession } from '../app/session.tsx';
import { useList } from '../data/hooks.ts';
import { inferenceServices } from '../data/kinds.ts';
import { requestName } from '../serve/service.ts';
import '../serve/serve.css';
import { askModel, keyForPage, takeBack, type PageKey, type Turn } from '../serve/talk.ts';
import { strings } from '../strings.ts';
import { announce } from '../ui/announce.tsx';
import { Screen } from '../ui/screen.tsx';
import { Empty, Ready } from '../ui/states.tsx';

const s = strings.serve.play;

function Talk(p: { url: string; ns: string; model: string }): ReactNode {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [text, setText] = useState('');
  const [answer, setAnswer] = useState<string>();
  const [waits, setWaits] = useState(false);
  const [error, setError] = useState('');
  const key = useRef<PageKey>(undefined);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => {
    const leave = (): void => {
      stop.current?.abort();
      takeBack(key.current);
      key.current = undefined;
    };
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, []);
  const send = async (): Promise<void> => {
    const asked: Turn[] = [...turns, { role: 'user', content: text.trim() }];
    const abort = new AbortController();
    let said = '';
    stop.current = abort;
    setTurns(asked);
    setText('');
    setError('');
    setAnswer('');
    try {
      if (!key.current || key.current.until < Date.now() + 60_000) {
        takeBack(key.current);
        key.current = await keyForPage(p.ns, strings.nav.playground);
      }
      await askModel(p.url, key.current.secret, p.model, asked, {
        text: (piece) => {
          said += piece;
          setWaits(false);
          setAnswer(said);
        },
        waiting: () => said === '' && setWaits(true),
      }, abort.signal);
    } catch (e) {
      if (!abort.signal.aborted) {
        setError(e instanceof TypeError ? s.unreachable(p.url) : e instanceof Error ? e.message : String(e));
      }
    }
    setWaits(false);
    setAnswer(undefined);
    if (said) {
      setTurns([...asked, { role: 'assistant', content: said }]);
      announce(said);
    }
  };
  const busy = answer !== undefined;
  return (
    <div className="sv-talk">
      <ol className="sv-turns" aria-label={s.conversation}>
        {turns.map((t, i) => (
          <li key={i} className={`sv-turn sv-${t.role}`}>
            <span className="sv-role">{s.role[t.role]}</span>
            <div className="sv-text">{t.content}</div>
          </li>
        ))}
        {busy && (
          <li className="sv-turn sv-assistant" aria-busy="true">
            <span className="sv-role">{s.role.assistant}</span>
            <div className="sv-text">{answer || (waits ? s.starting : s.waiting)}</div>
          </li>
        )}
      </ol>
      {error && <Alert component="p" isInline variant="danger" title={s.failed} isLiveRegion>{error}</Alert>}
      <form
        className="sv-say"
        onSubmit={(e) => {
          e.preventDefault();
          if (text.trim() && !busy) {
            void send();
          }
        }}
      >
        <TextArea aria-label={s.message} placeholder={s.message} value={text} rows={3} maxLength={100_000} onChange={(_e, v) => setText(v)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              e.currentTarget.form?.requestSubmit();
            }
          }}
        />
        <div className="sv-actions">
          {busy ? (
            <Button variant="secondary" onClick={() => stop.current?.abort()}>
              {s.stop}
            </Button>
          ) : (
            <Button variant="primary" type="submit" isDisabled={!text.trim()}>
              {s.send}
            </Button>
          )}
          <Button variant="link" isDisabled={busy || turns.length === 0} onClick={() => setTurns([])}>
            {s.another}
          </Button>
        </div>
      </form>
    </div>
  );
}

export default function Playground(): ReactNode {
  const { project } = useScope();
  const { query } = usePlace();
  const url = useSession().session?.gateway;
  const all = useList(inferenceServices, project);
  const list = [...all.items].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  const wanted = query.get('model');
  const chosen = list.find((o) => `${o.metadata.namespace}/${requestName(o)}` === wanted) ?? list[0];
  return (
    <Screen title={strings.nav.playground} lead={s.lead}>
      <Ready of={all} what={strings.serve.services.what} lines={6}>
        {() =>
          !url ? (
            <Empty title={s.noGateway} icon={CommentsIcon}>
              {s.noGatewayHow}
            </Empty>
          ) : !chosen ? (
            <Empty title={strings.serve.services.none} icon={CommentsIcon} actions={<Link to={href('models')}>{strings.serve.services.toModels}</Link>}>
              {strings.serve.services.noneHow}
            </Empty>
          ) : (
            <>
              <div className="b-tools">
                <FormSelect aria-label={s.model} value={`${chosen.metadata.namespace}/${requestName(chosen)}`} onChange={(_e, v) => setQuery({ model: v })}>
                  {list.map((o) => {
                    const full = `${o.metadata.namespace}/${requestName(o)}`;
                    return <FormSelectOption key={full} value={full} label={project ? requestName(o) : full} />;
                  })}
                </FormSelect>
              </div>
              <Talk key={chosen.metadata.uid} url={url} ns={chosen.metadata.namespace ?? ''} model={requestName(chosen)} />
            </>
          )
        }
      </Ready>
    </Screen>
  );
}
