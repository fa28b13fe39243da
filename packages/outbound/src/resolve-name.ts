import { lookup, Resolver } from 'node:dns/promises';

/** Resolves a host name to all of its addresses; rejects where there is none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** DNS responses that mean "not in DNS" and come at once, so that the system's own look-up (hosts file, search domains) is worth a try. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/**
 * Makes a resolver that asks DNS without the thread pool: a name server that hangs takes no thread from the look-ups of
 * other names. IPv4 addresses come first. Look-ups of one name at one time share one query. Each of two attempts takes at
 * most `timeoutMs / 2`. Rejects with the DNS error.
 */
export function createNameResolver(timeoutMs: number): ResolveName {
  const resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 2)), tries: 2 });
  const running = new Map<string, Promise<string[]>>();
  return (name) => {
    const shared = running.get(name);
    if (shared !== undefined) return shared;
    const query = resolveWith(resolver, name).finally(() => running.delete(name));
    running.set(name, query);
    return query;
  };
}

async function resolveWith(resolver: Resolver, name: string): Promise<string[]> {
  if (isLocalhost(name)) return ['127.0.0.1', '::1'];
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
  const lasting = failures.find((error) => !notInDns.has((error as NodeJS.ErrnoException).code ?? ''));
  if (lasting) throw lasting;
  const found = await lookup(name, { all: true });
  return found.map((entry) => entry.address);
}

/** Names under localhost mean the loopback addresses without being asked for (RFC 6761). */
function isLocalhost(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, '');
  return bare === 'localhost' || bare.endsWith('.localhost');
}
