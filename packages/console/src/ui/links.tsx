import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { call } from '../api.ts';
import type { NamedQueue } from '../queues.ts';
import { Id } from './copy.tsx';
import { count, shortId } from './format.ts';

/**
 * Names of accounts and their sandboxes by id: of the newest 100, enough to recognise one in most lists. Where several have one name, each has
 * the end of its id behind it.
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

/** Look-ups of names go one after the other, so that a list of many unknown accounts does not hold up what is polled. */
let lastLookUp: Promise<unknown> = Promise.resolve();

function inTurn<Value>(lookUp: () => Promise<Value>): Promise<Value> {
  const result = lastLookUp.then(lookUp);
  lastLookUp = result.catch(() => undefined);
  return result;
}

/** Name of any account or sandbox: where it is not among the newest, as the control plane says, with the end of its id; undefined until then. */
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

/** Whoever made a change, with a link to all of theirs. */
export function ActorLink({ actor }: { actor: string }) {
  return (
    <Link to="/audit" search={{ actor }}>
      {actor}
    </Link>
  );
}

/** An account by its name, by the end of its id until that is known; a dash where there is none. */
export function AccountLink({ id }: { id: string | null | undefined }) {
  const name = useAccountName(id);
  if (!id) return <span className="none">–</span>;
  return (
    <Link to="/accounts/$id" params={{ id }} title={id} className={name ? undefined : 'id'}>
      {name ?? shortId(id)}
    </Link>
  );
}

/** Words that lead to a queue. */
export function ToQueue(props: NamedQueue & { by?: 'account' | 'endpoint'; children: ReactNode }) {
  const { service, queue, by = 'account', children } = props;
  return (
    <Link to="/queues/$service/$queue" params={{ service, queue }} search={{ by }}>
      {children}
    </Link>
  );
}

/** A queue by its service and name. */
export function QueueLink({ service, queue }: NamedQueue) {
  return (
    <ToQueue service={service} queue={queue}>
      <span className="service">{service}/</span>
      {queue}
    </ToQueue>
  );
}

/** Number of entries of a queue, which leads to them; a zero stands back. */
export function QueueCount({ service, queue, value }: NamedQueue & { value: number }) {
  if (value === 0) return <span className="none">0</span>;
  return (
    <ToQueue service={service} queue={queue}>
      {count(value)}
    </ToQueue>
  );
}

/** Number of dead events of a queue, which leads to them; a zero stands back. */
export function DeadCount(props: NamedQueue & { account?: string; value: number }) {
  const { service, queue, account, value } = props;
  if (value === 0) return <span className="none">0</span>;
  return (
    <Link to="/dead" search={{ service, queue, account }} className="bad">
      {count(value)}
    </Link>
  );
}

/** Link to a trace; nothing where there is none. */
export function TraceLink({ id, children }: { id: string | undefined; children?: ReactNode }) {
  if (!id) return null;
  return (
    <Link to="/traces/$id" params={{ id }} title={id} className="in-text">
      {children ?? 'trace'}
    </Link>
  );
}

/** A webhook endpoint by `children`, or by the end of its id with a button that copies it. */
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
 * Number of entries of an account or an endpoint in a queue: of deliveries it leads to the endpoints that they go to, of others to what the
 * account did. A zero stands back.
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
