import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { call } from '../api.ts';
import type { NamedQueue } from '../queues.ts';
import { Id } from './copy.tsx';
import { count, shortId } from './format.ts';

/**
 * Returns the names of the newest 100 accounts and their sandboxes by id, which covers most lists. Accounts with the same name get the end of
 * their id appended.
 */
export function useAccountNames(): Map<string, string> {
  const { data } = useQuery({
    queryKey: ['account names'],
    queryFn: ({ signal }) => call('GET /admin/accounts', { query: { limit: 100 }, signal }),
    staleTime: 60_000,
  });
  return useMemo(() => {
    const named = (data?.data ?? []).flatMap(({ id, name, sandbox_id }) => [
      { id, name },
      ...(sandbox_id ? [{ id: sandbox_id, name: `${name} (sandbox)` }] : []),
    ]);
    const uses = Map.groupBy(named, ({ name }) => name);
    return new Map(named.map(({ id, name }) => [id, uses.get(name)!.length > 1 ? `${name} ${shortId(id)}` : name]));
  }, [data]);
}

/** Name lookups run one at a time, so that a list with many unknown accounts does not delay the polls. */
let lastLookUp: Promise<unknown> = Promise.resolve();

function inTurn<Value>(lookUp: () => Promise<Value>): Promise<Value> {
  const result = lastLookUp.then(lookUp);
  lastLookUp = result.catch(() => undefined);
  return result;
}

/** Returns the name of any account or sandbox. Looks up names that are not among the newest; undefined until the response arrives. */
function useAccountName(id: string | null | undefined): string | undefined {
  const names = useAccountNames();
  const isOlder = Boolean(id) && names.size > 0 && !names.has(id!);
  const { data } = useQuery({
    queryKey: ['account name', id],
    queryFn: ({ signal }) =>
      inTurn(() => call('GET /admin/accounts/{account_id}', { params: { account_id: id! }, signal })),
    enabled: isOlder,
    staleTime: Number.POSITIVE_INFINITY,
    retryOnMount: false,
  });
  return (id && names.get(id)) ?? (data && `${data.name} ${shortId(data.id)}`);
}

/** The actor of a change, with a link to all changes by the actor. */
export function ActorLink({ actor }: { actor: string }) {
  return (
    <Link to="/audit" search={{ actor }}>
      {actor}
    </Link>
  );
}

/** An account's name, or the end of its id until the name is known; a dash if there is no account. */
export function AccountLink({ id }: { id: string | null | undefined }) {
  const name = useAccountName(id);
  if (!id) return <span className="none">–</span>;
  return (
    <Link to="/accounts/$id" params={{ id }} title={id} className={name ? undefined : 'id'}>
      {name ?? shortId(id)}
    </Link>
  );
}

/** A link to a queue. */
export function ToQueue(props: NamedQueue & { by?: 'account' | 'endpoint'; children: ReactNode }) {
  const { service, queue, by = 'account', children } = props;
  return (
    <Link to="/queues/$service/$queue" params={{ service, queue }} search={{ by }}>
      {children}
    </Link>
  );
}

/** A queue's service and name as a link. */
export function QueueLink({ service, queue }: NamedQueue) {
  return (
    <ToQueue service={service} queue={queue}>
      <span className="service">{service}/</span>
      {queue}
    </ToQueue>
  );
}

/** The number of a queue's entries as a link; 0 is dimmed. */
export function QueueCount({ service, queue, value }: NamedQueue & { value: number }) {
  if (value === 0) return <span className="none">0</span>;
  return (
    <ToQueue service={service} queue={queue}>
      {count(value)}
    </ToQueue>
  );
}

/** The number of a queue's dead events as a link; 0 is dimmed. */
export function DeadCount(props: NamedQueue & { account?: string; value: number }) {
  const { service, queue, account, value } = props;
  if (value === 0) return <span className="none">0</span>;
  return (
    <Link to="/dead" search={{ service, queue, account }} className="bad">
      {count(value)}
    </Link>
  );
}

/** A link to a trace; empty if there is none. */
export function TraceLink({ id, children }: { id: string | undefined; children?: ReactNode }) {
  if (!id) return null;
  return (
    <Link to="/traces/$id" params={{ id }} title={id} className="in-text">
      {children ?? 'trace'}
    </Link>
  );
}

/** A link to a webhook endpoint. Its text is `children`, or the end of the id with a copy button. */
export function EndpointLink({ id, children }: { id: string; children?: ReactNode }) {
  if (!children) {
    return (
      <Id value={id} isShort>
        <EndpointLink id={id}>
          <span className="id">{shortId(id)}</span>
        </EndpointLink>
      </Id>
    );
  }
  return (
    <Link to="/endpoints/$id" params={{ id }} title={id}>
      {children}
    </Link>
  );
}

/**
 * The number of an account's or endpoint's entries in a queue, as a link. Deliveries link to their endpoints, other entries to the account's
 * traces. 0 is dimmed.
 */
export function PartCount(props: { service: string; account: string; endpoint: string | null; value: number }) {
  const { service, account, endpoint, value } = props;
  if (value === 0) return <span className="none">0</span>;
  if (service !== 'webhooks') {
    return (
      <Link to="/traces" search={{ account }}>
        {count(value)}
      </Link>
    );
  }
  if (endpoint) return <EndpointLink id={endpoint}>{count(value)}</EndpointLink>;
  return (
    <Link to="/endpoints" search={{ account }}>
      {count(value)}
    </Link>
  );
}
