import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { Dialog } from './ui/dialog.tsx';

/** Pages of the navigation, each with the key that leads to it after `g`. */
export const destinations = [
  { to: '/', label: 'Attention', key: 'a' },
  { to: '/queues', label: 'Queues', key: 'q' },
  { to: '/dead', label: 'Dead events', key: 'd' },
  { to: '/endpoints', label: 'Endpoints', key: 'e' },
  { to: '/traces', label: 'Traces', key: 't' },
  { to: '/services', label: 'Services', key: 's' },
  { to: '/accounts', label: 'Accounts', key: 'c' },
  { to: '/addresses', label: 'Addresses', key: 'b' },
  { to: '/audit', label: 'Audit', key: 'l' },
  { to: '/events', label: 'Republish', key: 'p' },
] as const;

/** Time within which the second key of a pair follows, in milliseconds. */
const pairMs = 1_500;

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  const isInput = target instanceof HTMLElement && target.matches('input, textarea, select, dialog, dialog *');
  return isInput || event.ctrlKey || event.metaKey || event.altKey;
}

/** Listens for the shortcuts, but not where somebody types or while a dialog is open. */
export function useShortcuts(showHelp: () => void): void {
  const navigate = useNavigate();
  const goPressedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || document.querySelector('dialog[open]')) return;
      const goes = event.timeStamp - goPressedAt.current < pairMs;
      goPressedAt.current = event.key === 'g' && !goes ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const destination = goes && destinations.find(({ key }) => key === event.key);
      if (destination) void navigate({ to: destination.to });
      else if (event.key === '?') showHelp();
      else if (event.key === '/') document.querySelector<HTMLElement>('.filters input, .filters select')?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate, showHelp]);
}

/** List of the shortcuts. */
export function ShortcutHelp({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard" close={close}>
      <dl className="shortcuts">
        {destinations.map(({ key, label }) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Filters of the page</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Close a dialog</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>This list</dd>
        </div>
      </dl>
      <footer>
        <button type="button" className="primary" onClick={close}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
