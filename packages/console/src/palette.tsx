import { useQuery } from '@tanstack/react-query';
import { type NavigateOptions, useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { call } from './api.ts';
import { destinations } from './shortcuts.tsx';
import { Dialog } from './ui/dialog.tsx';

/** A search result of the palette. */
interface Hit {
  key: string;
  kind: string;
  text: string;
  to: NavigateOptions;
}

/** Milliseconds without a key press before the search starts. */
const pauseMs = 150;
/** Most results of one kind. */
const most = 6;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const traceId = /^[0-9a-f]{32}$/i;

/** Debounces a value: returns it once it has not changed for `pauseMs`. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function pageHits(text: string): Hit[] {
  return destinations
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ to, label }) => ({ key: to, kind: 'Page', text: label, to: { to } }));
}

/** Returns a link for any id that may be a request's or trace's. If the trace does not exist, its page says so. */
function requestHits(text: string): Hit[] {
  if (!uuid.test(text) && !traceId.test(text)) return [];
  return [{ key: `trace ${text}`, kind: 'Request', text, to: { to: '/traces/$id', params: { id: text } } }];
}

/** Searches accounts by part of the name or by id, and endpoints by part of the URL or by id. */
async function search(text: string, signal: AbortSignal): Promise<Hit[]> {
  const query = uuid.test(text) ? { endpoint: text } : { url: text };
  const [accounts, endpoints] = await Promise.all([
    call('GET /admin/accounts', { query: { q: text, limit: most }, signal }),
    call('GET /admin/endpoints', { query: { ...query, limit: most }, signal }),
  ]);
  return [
    ...accounts.data.map(({ id, name }): Hit => {
      return { key: id, kind: 'Account', text: name, to: { to: '/accounts/$id', params: { id } } };
    }),
    ...endpoints.data.map(({ id, url }): Hit => {
      return { key: id, kind: 'Endpoint', text: url, to: { to: '/endpoints/$id', params: { id } } };
    }),
  ];
}

/** Finds accounts by name, endpoints by URL, requests by id, and pages. Ctrl-K opens it. */
export function Palette({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const listId = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const settled = useSettled(text.trim());
  const found = useQuery({
    queryKey: ['palette', settled],
    queryFn: ({ signal }) => search(settled, signal),
    enabled: settled.length >= 2,
    staleTime: 5_000,
  });
  const isCurrent = settled === text.trim();
  const hits = [...pageHits(text.trim()), ...requestHits(text.trim()), ...((isCurrent && found.data) || [])];
  const index = Math.min(chosen, hits.length - 1);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    close();
    void navigate(hit.to);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((index + step + hits.length) % Math.max(1, hits.length));
    else if (event.key === 'Enter') open(hits[index]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${listId}-${index}`)?.scrollIntoView({ block: 'nearest' });
  }, [listId, index]);
  return (
    <Dialog title="Find" className="palette" close={close}>
      <input
        autoFocus
        role="combobox"
        aria-label="Account name, endpoint URL, request id or page"
        aria-expanded={hits.length > 0}
        aria-controls={listId}
        aria-activedescendant={hits.length > 0 ? `${listId}-${index}` : undefined}
        placeholder="Account name, endpoint URL, request id or page"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div id={listId} role="listbox" aria-label="Results">
        {hits.map((hit, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          <div
            key={hit.key}
            id={`${listId}-${position}`}
            role="option"
            tabIndex={-1}
            aria-selected={position === index}
            onClick={() => open(hit)}
          >
            <span className="muted">{hit.kind}</span>
            <span>{hit.text}</span>
          </div>
        ))}
      </div>
      {found.error && (
        <p className="hint" role="alert">
          Accounts and endpoints could not be searched: {found.error.message}
        </p>
      )}
      {!found.error && hits.length === 0 && (
        <p className="hint">{isCurrent && !found.isFetching ? 'Nothing found.' : 'Searching…'}</p>
      )}
    </Dialog>
  );
}
