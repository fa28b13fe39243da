import { useNavigate } from '@tanstack/react-router';
import { Fragment, useEffect, useRef } from 'react';
import { words } from './language.ts';
import { Dialog } from './ui/dialog.tsx';

/** Groups of the navigation. The first has no name. */
export const groups = ['', 'Customers', 'Work', 'Records'] as const;

/** Pages of the navigation. Pressing `g` and then `key` opens a page. */
export const destinations = [
  { to: '/', label: 'Overview', key: 'o', group: '' },
  { to: '/accounts', label: 'Accounts', key: 'c', group: 'Customers' },
  { to: '/endpoints', label: 'Endpoints', key: 'e', group: 'Customers' },
  { to: '/traces', label: 'Traces', key: 't', group: 'Customers' },
  { to: '/addresses', label: 'Addresses', key: 'b', group: 'Customers' },
  { to: '/queues', label: 'Queues', key: 'q', group: 'Work' },
  { to: '/dead', label: 'Dead events', key: 'd', group: 'Work' },
  { to: '/services', label: 'Services', key: 's', group: 'Work' },
  { to: '/events', label: 'Republish', key: 'p', group: 'Work' },
  { to: '/audit', label: 'Audit', key: 'l', group: 'Records' },
] as const;

/** Most milliseconds between the two keys of a pair. */
const pairMs = 1_500;

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  const isInput = target instanceof HTMLElement && target.matches('input, textarea, select, dialog, dialog *');
  return isInput || event.ctrlKey || event.metaKey || event.altKey;
}

/**
 * Listens for shortcuts, except in inputs and while a dialog is open. Ctrl-K (on a Mac also Cmd-K) opens the palette in inputs too, unless a
 * dialog is open.
 */
export function useShortcuts(showHelp: () => void, showPalette: () => void): void {
  const navigate = useNavigate();
  const goPressedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (document.querySelector('dialog[open]')) return;
      const finds = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k';
      if (!finds && isTyping(event)) return;
      const goes = event.timeStamp - goPressedAt.current < pairMs;
      goPressedAt.current = event.key === 'g' && !goes ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const destination = goes && destinations.find(({ key }) => key === event.key);
      if (finds) showPalette();
      else if (destination) void navigate({ to: destination.to });
      else if (event.key === '?') showHelp();
      else if (event.key === '/') document.querySelector<HTMLElement>('.filters .fields :is(input, select)')?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate, showHelp, showPalette]);
}

const otherKeys: [keys: string[], does: string][] = [
  [['Ctrl', 'K'], 'Find an account, endpoint, request or page'],
  [['/'], 'Go to the filters of the page'],
  [['Esc'], 'Close a dialog'],
  [['?'], 'Show this help'],
];

/** Lists the shortcuts and the terms. */
export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Help" className="wide" close={close}>
      <div className="columns">
        <div>
          <h3>Keys</h3>
          <dl className="help">
            {[...destinations.map(({ key, label }) => [['g', key], label] as const), ...otherKeys].map(
              ([keys, does]) => (
                <Fragment key={does}>
                  <dt>
                    {keys.map((key) => (
                      <Fragment key={key}>
                        <kbd>{key}</kbd>{' '}
                      </Fragment>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </Fragment>
              ),
            )}
          </dl>
        </div>
        <div>
          <h3>Terms</h3>
          <dl className="help">
            {Object.entries(words).map(([word, meaning]) => (
              <Fragment key={word}>
                <dt>{word}</dt>
                <dd>{meaning}</dd>
              </Fragment>
            ))}
          </dl>
        </div>
      </div>
      <footer>
        <button type="button" className="primary" onClick={close}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
