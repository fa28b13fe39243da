import { useState } from 'react';

/** A value to take along, with a button that copies it. */
export function Copyable({ value, label }: { value: string; label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      setState('copied');
    } catch {
      // Without HTTPS on another host the browser has no clipboard: the text can be selected.
      setState('failed');
    }
  };
  return (
    <span className="copyable">
      <code>{value}</code>
      <button type="button" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {state === 'copied' ? 'Copied' : 'Copy'}
      </button>
      {state === 'failed' && <span className="hint">The browser refused; select the text.</span>}
    </span>
  );
}
