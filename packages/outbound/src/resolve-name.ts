import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Resolves a host name to all of its addresses; rejects where there is none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** DNS responses that mean "not in DNS": then the hosts file is read. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/**
 * Makes a resolver that asks DNS, and the hosts file for what DNS does not have. Never the system's look-up: that waits for a silent name
 * server on a thread of the process, and the next look-ups, the database's among them, wait behind it. IPv4 addresses come first.
 * Look-ups of one name at one time share one query. Each of two attempts takes at most `timeoutMs / 2`. Rejects with the DNS error.
 */
export function createNameResolver(
  timeoutMs: number,
  options: { servers?: string[]; hostsFile?: string } = {},
): ResolveName {
  const { servers, hostsFile = '/etc/hosts' } = options;
  const resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 2)), tries: 2 });
  if (servers) resolver.setServers(servers);
  const running = new Map<string, Promise<string[]>>();
  return (name) => {
    const shared = running.get(name);
    if (shared !== undefined) return shared;
    const query = resolveWith(resolver, hostsFile, name).finally(() => running.delete(name));
    running.set(name, query);
    return query;
  };
}

async function resolveWith(resolver: Resolver, hostsFile: string, name: string): Promise<string[]> {
  const bare = name.toLowerCase().replace(/\.$/, '');
  // Names under localhost mean the loopback addresses without being asked for (RFC 6761).
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const replies = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = replies.flatMap((reply) => (reply.status === 'fulfilled' ? reply.value : []));
  if (addresses.length > 0) return addresses;
  const failures = replies.flatMap((reply) => (reply.status === 'rejected' ? [reply.reason as Error] : []));
  const lasting = failures.find((error) => !notInDns.has((error as NodeJS.ErrnoException).code ?? ''));
  if (lasting) throw lasting;
  const listed = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), bare);
  if (listed.length === 0) throw failures[0]!;
  return listed;
}

/** Returns the addresses that a hosts file gives a name, which is in lower case. */
function addressesIn(hosts: string, name: string): string[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.split('#', 1)[0]!.trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(name) ? [address] : [];
  });
}
