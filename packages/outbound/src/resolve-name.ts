import { lookup, Resolver } from 'node:dns/promises';

/** Resolves a host name to all of its addresses; rejects if there is none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** DNS errors that mean "not in DNS" and come at once, so that the system's own look-up (hosts file, search domains) is worth a try. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/**
 * Creates a resolver that queries DNS without the thread pool, so that a name server that hangs blocks no look-up of
 * another name. IPv4 addresses come first. Concurrent look-ups of one name share one query. Each of two attempts takes at
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
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (addresses.length > 0) return addresses;
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
  const lasting = failures.find((error) => !notInDns.has((error as NodeJS.ErrnoException).code ?? ''));
  if (lasting) throw lasting;
  const found = await lookup(name, { all: true });
  return found.map((entry) => entry.address);
}

/** Returns whether a name is under localhost, which is loopback without a DNS query (RFC 6761). */
function isLocalhost(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, '');
  return bare === 'localhost' || bare.endsWith('.localhost');
}
