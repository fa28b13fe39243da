import { type ReactNode, useState } from 'react';
import { shortId } from './format.ts';

/** Copies a string. Returns false if the browser has no clipboard, as on another host without HTTPS. */
async function copyText(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    return false;
  }
}

/** A value with a button that copies it. */
export function Copyable({ value, label }: { value: string; label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async () => setState((await copyText(value)) ? 'copied' : 'failed');
  return (
    <span className="copyable">
      <code>{value}</code>
      <button type="button" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {state === 'copied' ? 'Copied' : 'Copy'}
      </button>
      {state === 'failed' && <span className="hint">Copying failed. Select the text.</span>}
    </span>
  );
}

/** An id with a button that copies it. With `isShort`, shows only the id's end. `children` replaces the text, such as with a link. */
export function Id({ value, isShort, children }: { value: string; isShort?: boolean; children?: ReactNode }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async () => setState((await copyText(value)) ? 'copied' : 'failed');
  const label = { idle: `Copy ${value}`, copied: 'Copied', failed: 'Copying failed. Select the text' }[state];
  return (
    <span className={isShort ? 'copied-id line' : 'copied-id'}>
      {children ?? (
        <span className="id" title={value}>
          {isShort ? shortId(value) : value}
        </span>
      )}
      <button type="button" className="copy" aria-label={label} title={label} onClick={() => void copy()}>
        {state === 'idle' ? <CopyIcon /> : state === 'copied' ? '✓' : '✗'}
      </button>
    </span>
  );
}

function CopyIcon() {
  return (
    <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3V2.5h-8v8H3" />
    </svg>
  );
}
