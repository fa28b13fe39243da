import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { onceAtATime, withTimeout } from '@customer-platform/service-kit';

/** Resolves a host name to all of its addresses; rejects where there is none. */
export type ResolveName = (name: string) => Promise<string[]>;

/** DNS responses that mean "not in DNS": then the hosts file is read. */
const notInDns = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/**
 * Longest wait for the IPv6 addresses of a name that has IPv4 ones, which are tried first anyway: some name servers never say that there are none.
 */
const furtherMs = 250;
/** Queries of one look-up to each name server, the first of which has half of the time. */
const tries = 2;

/**
 * Makes a resolver that asks DNS, and the hosts file for what DNS does not have. Never the system's look-up: that waits for a silent name
 * server on a thread of the process, and the next look-ups, the database's among them, wait behind it. IPv4 addresses come first.
 * Look-ups of one name at one time share one query. Rejects with the DNS error, after `timeoutMs` with ETIMEOUT.
 */
export function createNameResolver(
  timeoutMs: number,
  options: { servers?: string[]; hostsFile?: string } = {},
): ResolveName {
  const { servers, hostsFile = '/etc/hosts' } = options;
  return onceAtATime(async (name) => {
    // One for each look-up: it learns from its replies how long to wait for the next, and names of which one customer's server speaks at once
    // would have it give up those of another's slower one.
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
  // Names under localhost mean the loopback addresses without being asked for (RFC 6761).
  if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const [ipv4, ipv6] = [resolver.resolve4(name), resolver.resolve6(name)];
  // It may fail before it is awaited.
  ipv6.catch(() => undefined);
  const hasIpv4 = await ipv4.then(Boolean, () => false);
  const replies = await Promise.allSettled([ipv4, hasIpv4 ? withTimeout(furtherMs, ipv6) : ipv6]);
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

/** Returns the addresses that a hosts file gives a name, which is in lower case. */
function addressesIn(hosts: string, name: string): string[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.split('#', 1)[0]!.trim().toLowerCase().split(/\s+/);
    return isIP(address) > 0 && names.includes(name) ? [address] : [];
  });
}
