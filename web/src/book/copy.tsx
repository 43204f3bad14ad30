/*
 * Text to copy: a line, or a block of YAML. The button says that it was done.
 */
import * as React from 'react';
import { Button } from '@patternfly/react-core/dist/esm/components/Button';
import CheckIcon from '@patternfly/react-icons/dist/esm/icons/check-icon';
import CopyIcon from '@patternfly/react-icons/dist/esm/icons/copy-icon';
import { B } from '../strings.ts';

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [done, setDone] = React.useState(false);
  React.useEffect(() => {
    const t = done ? setTimeout(() => setDone(false), 2500) : undefined;
    return () => clearTimeout(t);
  }, [done]);
  const copy = () => {
    void write(text).then(setDone);
  };
  return (
    <Button variant="link" isInline icon={done ? <CheckIcon /> : <CopyIcon />} onClick={copy} aria-live="polite">
      {done ? B.copied : label}
    </Button>
  );
}

/* Where the page is not served securely the clipboard is not there; an element that is selected does as well. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const t = document.createElement('textarea');
    t.value = text;
    (document.querySelector('[role="dialog"]') ?? document.body).append(t);
    t.select();
    const ok = document.execCommand('copy');
    t.remove();
    return ok;
  }
}

export function CopyLine({ text, label }: { text: string; label: string }) {
  return (
    <div className="bk-copy">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

export function YamlBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="bk-yaml">
      <div className="bk-yaml-head">
        <span>{label}</span>
        <CopyButton text={text} label={B.copyYaml} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label}>{text}</pre>
    </div>
  );
}
