import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Output } from '../api.ts';
import { dropAction, requeueAction } from '../dead-actions.ts';
import { type Action, ActionButton } from '../ui/action.tsx';
import { bytesOf, hexDump, maxDumpBytes, readable } from '../ui/bytes.ts';
import { Id } from '../ui/copy.tsx';
import { bytes, count } from '../ui/format.ts';
import { AccountLink, QueueLink } from '../ui/links.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { codes, Facts, Page, Section } from '../ui/page.tsx';
import { RelativeAndClock } from '../ui/time.tsx';

type DeadEvent = Output<'GET /admin/dead/{dead_id}'>;

/** One dead event with its content. It never changes, so it is loaded once. */
export function DeadEventPage({ id }: { id: string }) {
  const navigate = useNavigate();
  const { data, isLoading, error } = useResource('GET /admin/dead/{dead_id}', { params: { dead_id: id } }, false);
  // Both actions remove the event, so the page returns to the list.
  const leaving = (action: Action): Action => ({
    ...action,
    run: async (values) => {
      const result = await action.run(values);
      await navigate({ to: '/dead' });
      return result;
    },
  });
  const actions = data && (
    <>
      <ActionButton make={() => leaving(requeueAction(data))}>Requeue</ActionButton>
      <ActionButton isDangerous make={() => leaving(dropAction(data))}>
        Drop
      </ActionButton>
    </>
  );
  return (
    <Page title={data?.kind ?? data?.subject ?? 'Dead event'} actions={actions}>
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          <Facts
            facts={{
              Queue: <QueueLink {...data} />,
              Account: <AccountLink id={data.account} />,
              Reason: <span className="error-text">{data.reason}</span>,
              Attempts: <Attempts event={data} />,
              'First attempt': <RelativeAndClock at={data.first_at} />,
              Dead: <RelativeAndClock at={data.dead_at} />,
              Subject: <code>{data.subject}</code>,
              Id: <Id value={data.id} />,
            }}
          />
          <Headers headers={data.headers} />
          <Content event={data} />
        </>
      )}
    </Page>
  );
}

/** The number of attempts, as a link to the trace if the event has one. */
function Attempts({ event: { tries, headers } }: { event: DeadEvent }) {
  const id = /^00-([0-9a-f]{32})-/.exec(headers.traceparent ?? '')?.[1];
  if (id === undefined) return count(tries);
  return (
    <Link to="/traces/$id" params={{ id }}>
      {count(tries)}
    </Link>
  );
}

function Headers({ headers }: { headers: DeadEvent['headers'] }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <Section title="Headers">
      <Facts facts={codes(entries)} />
    </Section>
  );
}

function Content({ event }: { event: DeadEvent }) {
  const [isHex, setHex] = useState(event.text === null);
  const text = isHex || event.text === null ? hexDump(bytesOf(event.bytes)) : readable(event.text);
  const isCut = isHex && event.size_bytes > maxDumpBytes;
  return (
    <Section
      title={bytes(event.size_bytes)}
      actions={
        <>
          {event.text === null && <span className="hint">The bytes are not UTF-8.</span>}
          <span className="switch">
            <button type="button" aria-pressed={!isHex} disabled={event.text === null} onClick={() => setHex(false)}>
              text
            </button>
            <button type="button" aria-pressed={isHex} onClick={() => setHex(true)}>
              hex
            </button>
          </span>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll */}
      <pre tabIndex={0} className={isHex ? 'hex' : undefined}>
        {text}
      </pre>
      {isCut && <p className="hint">The first {bytes(maxDumpBytes)} are shown.</p>}
    </Section>
  );
}
