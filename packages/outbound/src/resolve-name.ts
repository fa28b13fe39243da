import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { coalesceByKey, withTimeout } from '@customer-platform/service-kit';

/** Resolves a host name to all of its addresses. Rejects if it has none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** DNS errors that mean "not in DNS". After these the hosts file is read. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/**
 * Longest wait for the IPv6 addresses of a name that has IPv4 ones, which come first. Some name servers never answer that there are none.
 */
const ipv6WaitMs = 250;
/** Queries per look-up to each name server. The first one gets half of the time. */
const tries = 2;

/**
 * Creates a resolver that asks DNS, then the hosts file. The system's look-up is unsuitable: it blocks a thread while a
 * name server is silent, and other look-ups such as the database's queue behind it. IPv4 addresses come first.
 * Simultaneous look-ups of one name share one query. Rejects with the DNS error, or with ETIMEOUT after `timeoutMs`.
 */
export function createNameResolver(
  timeoutMs: number,
  options: { servers?: string[]; hostsFile?: string } = {},
): ResolveName {
  const { servers, hostsFile = '/etc/hosts' } = options;
  return coalesceByKey(async (name) => {
    // Each look-up has its own resolver, because a resolver adapts its timeouts to earlier replies. Replies of one
    // customer's fast name server would make it give up on another customer's slow one.
    const resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 2)), tries });
    if (servers) resolver.setServers(servers);
    const late = () => Object.assign(new Error(`no address within ${timeoutMs} ms`), { code: 'ETIMEOUT' });
    try {
      return await withTimeout(timeoutMs, resolveWith(resolver, hostsFile, name), late);
    } finally {
      resolver.cancel();
    }
  });
}

async function resolveWith(resolver: Resolver, hostsFile: string, name: string): Promise<string[]> {
  const bare = name.toLowerCase().replace(/\.$/, '');
  // Names under localhost mean the loopback addresses, without a query (RFC 6761).
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const [ipv4, ipv6] = [resolver.resolve4(name), resolver.resolve6(name)];
  // Handle the rejection here, since the query may fail before it is awaited.
  ipv6.catch(() => undefined);
  const hasIpv4 = await ipv4.then(Boolean, () => false);
  const replies = await Promise.allSettled([ipv4, hasIpv4 ? withTimeout(ipv6WaitMs, ipv6) : ipv6]);
  const addresses = replies.flatMap((reply) => (reply.status === 'fulfilled' ? reply.value : []));
  if (addresses.length > 0) return addresses;
  const failures = replies.flatMap((reply) =>
    reply.status === 'rejected' ? (reply.reason as NodeJS.ErrnoException) : [],
  );
  const lasting = failures.find(({ code }) => !notInDns.has(code ?? ''));
  if (lasting) throw lasting;
  const listed = addressesIn(await readFile(hostsFile, 'utf8').catch(() => ''), bare);
  if (listed.length === 0) throw failures[0]!;
  return listed;
}

/** Returns the addresses that a hosts file lists for a name in lower case. */
function addressesIn(hosts: string, name: string): string[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.split('#', 1)[0]!.trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(name) ? [address] : [];
  });
}
