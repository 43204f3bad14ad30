// Signing in, with a token or by a one-time link (/dashboard/signin#code=...).

import { Alert } from '@patternfly/react-core/dist/esm/components/Alert';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import { Card, CardBody } from '@patternfly/react-core/dist/esm/components/Card';
import { Form, FormGroup, FormHelperText } from '@patternfly/react-core/dist/esm/components/Form';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/esm/components/HelperText';
import { InputGroup, InputGroupItem } from '@patternfly/react-core/dist/esm/components/InputGroup';
import { Spinner } from '@patternfly/react-core/dist/esm/components/Spinner';
import { TextInput } from '@patternfly/react-core/dist/esm/components/TextInput';
import { Title } from '@patternfly/react-core/dist/esm/components/Title';
import EyeIcon from '@patternfly/react-icons/dist/esm/icons/eye-icon';
import EyeSlashIcon from '@patternfly/react-icons/dist/esm/icons/eye-slash-icon';
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { ApiError, json } from '../data/client.ts';
import { strings } from '../strings.ts';
import { Brand, ThemeSwitch } from './masthead.tsx';
import { BASE, navigate } from './router.tsx';
import { useSession } from './session.tsx';

const s = strings.signIn;

// The code of a link; it is taken out of the address at once, so that it stays in no history.
function takeCode(): string | undefined {
  const m = /^#code=([\w.~-]+)$/.exec(location.hash);
  if (location.hash) {
    history.replaceState(null, '', location.pathname + location.search);
  }
  return m?.[1];
}

// Why signing in at an issuer failed, in a word, taken out of the address as well.
function takeFailure(): string {
  const why = new URLSearchParams(location.search).get('signin');
  if (why === null) {
    return '';
  }
  history.replaceState(null, '', location.pathname);
  return why === 'old' ? s.issuerOld : why === 'refused' ? s.issuerRefused : s.issuerFailed;
}

export function SignIn(): ReactNode {
  const { signIn, lost } = useSession();
  const [token, setToken] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const [byLink, setByLink] = useState(false);
  const [issuer, setIssuer] = useState('');
  const began = useRef(false);

  useEffect(() => {
    let gone = false;
    json<{ issuer: string | null }>('/dashboard/ways').then(
      (w) => !gone && setIssuer(w.issuer ?? ''),
      () => undefined, // by a token, then
    );
    return () => {
      gone = true;
    };
  }, []);

  useEffect(() => {
    document.title = `${s.title} · ${strings.product}`;
    if (began.current) {
      return;
    }
    began.current = true;
    setError(takeFailure());
    const code = takeCode();
    if (!code) {
      return;
    }
    setByLink(true);
    signIn({ code })
      .then(() => navigate(`${BASE}/`, { replace: true }))
      .catch((e: unknown) => {
        setByLink(false);
        setError(e instanceof ApiError && !e.unreachable && e.code !== 429 ? s.linkUsed : (e as Error).message);
      });
  }, [signIn]);

  const submit = (e: FormEvent): void => {
    e.preventDefault();
    const t = token.trim();
    if (!t || busy) {
      return;
    }
    setBusy(true);
    setError('');
    signIn({ token: t })
      .then(() => {
        if (location.pathname.startsWith(`${BASE}/signin`)) {
          navigate(`${BASE}/`, { replace: true });
        }
      })
      .catch((err: unknown) => {
        setBusy(false);
        setError(err instanceof ApiError && err.code === 401 ? s.wrong : (err as Error).message);
      });
  };

  return (
    <div className="b-signin">
      <main className="b-signin-main">
        <div className="b-signin-brand">
          <Brand />
        </div>
        <Card isLarge>
          <CardBody>
            <Title headingLevel="h1" size="2xl">
              {s.title}
            </Title>
            <p className="b-lead">{s.lead}</p>
            {lost && !error && <Alert component="p" isInline isPlain variant="info" title={s.again} />}
            {error && <Alert component="p" isInline variant="danger" title={error} data-testid="signin-error" isLiveRegion />}
            {byLink ? (
              <p className="b-signin-wait" role="status">
                <Spinner size="md" aria-label={s.byLink} /> {s.byLink}
              </p>
            ) : (
              <Form onSubmit={submit}>
                {issuer && (
                  <>
                    <Button component="a" href="/dashboard/session/start" isBlock data-testid="signin-issuer">
                      {s.issuer(issuer)}
                    </Button>
                    <p className="b-signin-or">{s.or}</p>
                  </>
                )}
                <FormGroup label={s.token} fieldId="token" isRequired>
                  <InputGroup>
                    <InputGroupItem isFill>
                      <TextInput
                        id="token"
                        type={shown ? 'text' : 'password'}
                        value={token}
                        autoComplete="off"
                        spellCheck="false"
                        aria-describedby="token-help"
                        onChange={(_e, v) => setToken(v)}
                      />
                    </InputGroupItem>
                    <InputGroupItem>
                      <Button
                        variant="control"
                        aria-label={shown ? s.hide : s.show}
                        onClick={() => setShown(!shown)}
                        icon={shown ? <EyeSlashIcon /> : <EyeIcon />}
                      />
                    </InputGroupItem>
                  </InputGroup>
                  <FormHelperText>
                    <HelperText id="token-help">
                      <HelperTextItem>{s.tokenHelp}</HelperTextItem>
                    </HelperText>
                  </FormHelperText>
                </FormGroup>
                <Button type="submit" variant={issuer ? 'secondary' : 'primary'} isBlock isDisabled={!token.trim()} isLoading={busy} spinnerAriaLabel={s.busy}>
                  {s.go}
                </Button>
              </Form>
            )}
          </CardBody>
        </Card>
        <div className="b-signin-foot">
          <ThemeSwitch />
        </div>
      </main>
    </div>
  );
}
