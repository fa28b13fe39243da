import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { useAttention } from './attention.ts';
import { EnvironmentTag, Logo } from './brand.tsx';
import { Palette } from './palette.tsx';
import { environment, environmentKind, product, useVersion } from './platform.ts';
import { useQueues } from './queues.ts';
import { endSession } from './session.ts';
import { destinations, groups, Help, useShortcuts } from './shortcuts.tsx';
import { useTheme } from './theme.ts';
import { ActionProvider } from './ui/action.tsx';
import { countOf, duration } from './ui/format.ts';
import { useLastError } from './ui/lists.tsx';
import { useNow } from './ui/time.tsx';
import { ToastProvider } from './ui/toast.tsx';

/** Age of the queues in seconds after which the page warns that its data is old. */
const maxAgeSeconds = 6;

/** Header, navigation and status around every page. */
export function Frame() {
  const [shown, setShown] = useState<'help' | 'palette' | null>(null);
  const showHelp = useCallback(() => setShown('help'), []);
  const showPalette = useCallback(() => setShown('palette'), []);
  const close = useCallback(() => setShown(null), []);
  useShortcuts(showHelp, showPalette);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const lastPath = useRef(path);
  useEffect(() => {
    if (lastPath.current !== path) setMenuOpen(false);
    lastPath.current = path;
  }, [path]);
  const toggleMenu = () => setMenuOpen(!isMenuOpen);
  return (
    <ToastProvider>
      <ActionProvider>
        <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
          Skip to content
        </button>
        <Header {...{ isMenuOpen, toggleMenu, showHelp, showPalette }} />
        <div className="frame">
          <Navigation isOpen={isMenuOpen}>
            <Tools showHelp={showHelp} />
          </Navigation>
          <main id="content" tabIndex={-1}>
            <Freshness />
            <Outlet />
          </main>
        </div>
        {shown === 'help' && <Help close={close} />}
        {shown === 'palette' && <Palette close={close} />}
      </ActionProvider>
    </ToastProvider>
  );
}

function Header(props: { isMenuOpen: boolean; toggleMenu: () => void; showHelp: () => void; showPalette: () => void }) {
  const { isMenuOpen, toggleMenu, showHelp, showPalette } = props;
  const version = useVersion();
  return (
    <header className={`bar ${environmentKind(environment)}`}>
      <button type="button" className="menu" aria-expanded={isMenuOpen} onClick={toggleMenu}>
        Menu
      </button>
      <Link to="/" className="product" aria-label={product}>
        <Logo />
        <span>{product}</span>
      </Link>
      {environment !== '' && <EnvironmentTag />}
      {version && <span className="version muted">{version}</span>}
      <button type="button" className="search" onClick={showPalette}>
        Find… <kbd>Ctrl K</kbd>
      </button>
      <Tools showHelp={showHelp} />
    </header>
  );
}

/** Buttons for the console itself. They are in the header, or in the menu on narrow screens. */
function Tools({ showHelp }: { showHelp: () => void }) {
  const [theme, nextTheme] = useTheme();
  return (
    <div className="tools">
      <button type="button" onClick={nextTheme}>
        Theme: {theme}
      </button>
      <button type="button" onClick={showHelp}>
        Help <kbd>?</kbd>
      </button>
      <button type="button" onClick={() => endSession(null)}>
        Sign out
      </button>
    </div>
  );
}

function Navigation({ isOpen, children }: { isOpen: boolean; children: ReactNode }) {
  const { items } = useAttention();
  return (
    <nav aria-label="Pages" className={isOpen ? 'open' : undefined}>
      {groups.map((group) => (
        <div key={group}>
          {group !== '' && <p className="group">{group}</p>}
          <ul aria-label={group || undefined}>
            {destinations
              .filter((each) => each.group === group)
              .map(({ to, label }) => (
                <li key={to}>
                  <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
                    {label}
                    {to === '/' && items.length > 0 && (
                      <span
                        className="badge"
                        title={countOf(items.length, 'problem needs attention', 'problems need attention')}
                      >
                        {items.length}
                      </span>
                    )}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
      <div className="in-menu">{children}</div>
    </nav>
  );
}

/** Warns that the shown data is old while the control plane does not respond. */
function Freshness() {
  const queues = useQueues();
  const { dataUpdatedAt, failureReason } = queues;
  const lastError = useLastError('queues', queues);
  const age = (useNow() - dataUpdatedAt) / 1_000;
  const problem = lastError ?? failureReason;
  if (!problem || (dataUpdatedAt > 0 && age < maxAgeSeconds)) return null;
  return (
    <p className="notice bad" role="alert">
      {problem.message} {dataUpdatedAt > 0 && `The data on this page is ${duration(age)} old.`}
    </p>
  );
}
