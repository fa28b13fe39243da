import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network and the length of its prefix. */
export type AddressRange = readonly [Address, number];

/** Prefix length of `::ffff:0:0/96`, the IPv6 range of mapped IPv4 addresses. */
const mappingBits = 96;

/** Hops of X-Forwarded-For that are looked at, from the last on: a caller within the trusted ranges could write hundreds, of which each takes microseconds. */
const mostHops = 16;

/**
 * Parses an address or a CIDR range; an IPv4 range mapped into IPv6 becomes the IPv4 range. Throws an Error for
 * anything else, and for a mapped range of fewer than 96 bits, which matches no caller.
 */
export function parseRange(text: string): AddressRange {
  const [network, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(ipaddr.parse(text));
  if (!(network instanceof ipaddr.IPv6) || !network.isIPv4MappedAddress()) return [network, bits];
  if (bits < mappingBits)
    throw new Error(`${text} matches no caller; write it as an IPv4 range, such as 203.0.113.0/24`);
  return [network.toIPv4Address(), bits - mappingBits];
}

function wholeAddress(address: Address): AddressRange {
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Returns whether an address lies in one of the ranges; an IPv4 address mapped into IPv6 counts as the IPv4 address.
 */
export function isInRanges(address: string, ranges: readonly AddressRange[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as never, bits));
}

/**
 * Returns a reader of client addresses: the peer, or, if the peer is a trusted proxy, the nearest address in
 * X-Forwarded-For that is not one; of more than 16 trusted ones, the sixteenth. Anything left of it may be forged and is not read.
 */
export function clientAddressReader(trustedProxies: readonly AddressRange[]): (request: IncomingMessage) => string {
  return (request) => {
    const peer = withoutMapping(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0 || !isInRanges(peer, trustedProxies)) return peer;
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return peer;
    let nearest = peer;
    for (const hop of String(forwarded).split(',').slice(-mostHops).reverse()) {
      const address = addressOf(hop.trim());
      if (address === undefined) return nearest;
      nearest = address;
      if (!isInRanges(nearest, trustedProxies)) return nearest;
    }
    return nearest;
  };
}

/** Returns the address of one hop, which some proxies write with a port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function addressOf(hop: string): string | undefined {
  const bare = hop.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  return ipaddr.isValid(bare) ? ipaddr.process(bare).toString() : undefined;
}

function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Prefix length of an IPv6 network, whose holder has all addresses in it. */
const networkBits = 64;

/** Returns the key that an address is counted under: itself, or its IPv6 network, such as `2001:db8:0:1::/64`. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.map((part, index) => (index < networkBits / 16 ? part : 0));
  return `${new ipaddr.IPv6(network).toString()}/${networkBits}`;
}
