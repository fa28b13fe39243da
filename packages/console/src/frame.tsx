import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useAttention } from './attention.ts';
import { useQueues } from './queues.ts';
import { endSession } from './session.ts';
import { destinations, ShortcutHelp, useShortcuts } from './shortcuts.tsx';
import { useTheme } from './theme.ts';
import { ActionProvider } from './ui/action.tsx';
import { duration } from './ui/format.ts';
import { useLastError } from './ui/lists.tsx';
import { useNow } from './ui/time.tsx';

/** Age of the shown queues in seconds from which the page says that they are old. */
const maxAgeSeconds = 6;

/** Navigation and status around every page. */
export function Frame() {
  const [isHelpShown, setHelpShown] = useState(false);
  const showHelp = useCallback(() => setHelpShown(true), []);
  useShortcuts(showHelp);
  return (
    <ActionProvider>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <div className="frame">
        <Navigation showHelp={showHelp} />
        <main id="content" tabIndex={-1}>
          <Freshness />
          <Outlet />
        </main>
      </div>
      {isHelpShown && <ShortcutHelp close={() => setHelpShown(false)} />}
    </ActionProvider>
  );
}

function Navigation({ showHelp }: { showHelp: () => void }) {
  const { items } = useAttention();
  const [isOpen, setOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const lastPath = useRef(path);
  useEffect(() => {
    if (lastPath.current !== path) setOpen(false);
    lastPath.current = path;
  }, [path]);
  const [theme, nextTheme] = useTheme();
  return (
    <nav aria-label="Pages" className={isOpen ? 'open' : undefined}>
      <div className="brand">
        <strong>Console</strong>
        <button type="button" className="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </div>
      <ul>
        {destinations.map(({ to, label }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {label}
              {to === '/' && items.length > 0 && <span className="badge">{items.length}</span>}
            </Link>
          </li>
        ))}
      </ul>
      <div className="tools">
        <button type="button" onClick={nextTheme}>
          Theme: {theme}
        </button>
        <button type="button" onClick={showHelp}>
          Keyboard <kbd>?</kbd>
        </button>
        <button type="button" onClick={() => endSession(null)}>
          Sign out
        </button>
      </div>
    </nav>
  );
}

/** Says that what is shown is old because the control plane does not respond; nothing while it does. */
function Freshness() {
  const queues = useQueues();
  const { dataUpdatedAt, failureReason } = queues;
  const lastError = useLastError('queues', queues);
  const age = (useNow() - dataUpdatedAt) / 1_000;
  const problem = lastError ?? failureReason;
  if (!problem || (dataUpdatedAt > 0 && age < maxAgeSeconds)) return null;
  return (
    <p className="notice bad" role="alert">
      {problem.message} {dataUpdatedAt > 0 && `What is shown is ${duration(age)} old.`}
    </p>
  );
}
