import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** A CIDR range: an address of one family and the length of its prefix in bits. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Readable names of ipaddr.js ranges; a range missing here is shown by its own name. */
const rangeNames: Record<string, string> = {
  linkLocal: 'link-local',
  carrierGradeNat: 'carrier-grade NAT',
  uniqueLocal: 'private (unique local)',
  deprecatedSiteLocal: 'private (site-local)',
  ipv4Mapped: 'IPv4-mapped',
  rfc6145: 'IPv4-translated',
  rfc6052: 'NAT64',
  teredo: 'Teredo',
};

/** Non-public ranges that ipaddr.js counts as unicast: the services of a cloud platform, and the retired 6bone. */
const extraRefused: [AddressRange, string][] = [
  [ipaddr.parseCIDR('168.63.129.16/32'), 'cloud platform'],
  [ipaddr.parseCIDR('3ffe::/16'), 'reserved'],
];

/** The only IPv6 range assigned for global use. Every other range is refused by default, including `::/96` and NAT64. */
const globalIpv6: AddressRange = ipaddr.parseCIDR('2000::/3');

/**
 * Parses a comma-separated list of CIDR ranges or single addresses ("127.0.0.0/8, ::1"). An empty string is an empty list.
 * Throws a RangeError that names the invalid part.
 */
export function parseAddressRanges(text: string): AddressRange[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '').map(parseRange);
}

function parseRange(part: string): AddressRange {
  const [address = '', bits, ...rest] = part.split('/');
  const family = isIP(address);
  const widest = family === 4 ? 32 : 128;
  const length = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (family === 0 || address.includes('%') || rest.length > 0 || length < 0 || length > widest) {
    throw new RangeError(`"${part}" is not an address range; write it as 10.1.0.0/16 or fd00::/8`);
  }
  return [ipaddr.parse(address), length];
}

/** Returns whether the address is in one of the ranges. A range of the other address family never matches. */
export function isInRanges(address: string, ranges: AddressRange[]): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  return ranges.some((range) => matches(parsed, range));
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, range: AddressRange): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}

/**
 * Returns the name of the range that makes an address forbidden ("private", "link-local", …). Returns null if the
 * address is allowed or global unicast. An address that is not known to be global is refused.
 */
export function refusalOfAddress(address: string, allowed: AddressRange[]): string | null {
  if (isIP(address) === 0) return 'malformed';
  if (address.includes('%')) return 'link-local';
  const parsed = ipaddr.parse(address);
  if (allowed.some((range) => matches(parsed, range))) return null;
  const extra = extraRefused.find(([range]) => matches(parsed, range));
  if (extra) return extra[1];
  const range = parsed.range();
  if (range !== 'unicast') return rangeNames[range] ?? range;
  if (parsed.kind() === 'ipv6' && !matches(parsed, globalIpv6)) return 'IPv4-compatible or unassigned';
  return null;
}

/** Returns the schema of a setting that `parse` reads. The process reports errors of `parse` at start. */
export function parsed<Value>(parse: (text: string) => Value) {
  return z.string().transform((text, context) => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}

/** WEBHOOKS_ALLOWED_RANGES: one setting for every client that calls customers' addresses. */
export const allowedRangesSetting = parsed(parseAddressRanges)
  .default([])
  .meta({ description: 'Private ranges that targets may be in, such as 10.1.0.0/16. There, http is allowed too.' });
