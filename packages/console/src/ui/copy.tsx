import { type ReactNode, useState } from 'react';
import { shortId } from './format.ts';

/** Copies a text. Returns false where the browser has no clipboard: without HTTPS on another host. */
async function copyText(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    return false;
  }
}

/** A value to take along, with a button that copies it. */
export function Copyable({ value, label }: { value: string; label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async () => setState((await copyText(value)) ? 'copied' : 'failed');
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

/** An id with a button that copies all of it: whole, or its end where `isShort`. `children` replaces its text, such as by a link. */
export function Id({ value, isShort, children }: { value: string; isShort?: boolean; children?: ReactNode }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async () => setState((await copyText(value)) ? 'copied' : 'failed');
  const label = { idle: `Copy ${value}`, copied: 'Copied', failed: 'The browser refused; select the text' }[state];
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
