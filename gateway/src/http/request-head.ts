import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { contextHeader } from '@customer-platform/service-kit';
import ipaddr from 'ipaddr.js';

/** A request's target in the one form that is both matched and forwarded. */
export interface RequestPath {
  /** The path's segments, still percent-encoded: `['v1', 'calendar', 'appointments']`. */
  segments: string[];
  /** Path and query as forwarded. */
  target: string;
}

/** Printable ASCII without the characters that URL parsers read differently. */
const plain = /^[!"$-.0-9:;<=>@-[\]-~]+$/;

/**
 * Parses a request's target. Returns undefined for an ambiguous target: an empty segment (`//`, trailing slash), `.` or
 * `..` in any spelling, an encoded NUL, an invalid escape, a fragment or a non-ASCII character. Decodes and encodes
 * escapes, so that gateway and service cannot read different paths. An encoded slash stays in its segment, which only a
 * parameter such as an external id can match.
 */
export function readRequestPath(url: string): RequestPath | undefined {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? '' : url.slice(mark);
  if (path.charCodeAt(0) !== 47 || (query !== '' && !/^[!"$-~]+$/.test(query))) return undefined;
  const segments = path.split('/');
  segments.shift();
  let isEscaped = false;
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!;
    if (!plain.test(segment)) return undefined;
    if (segment.includes('%')) {
      const rewritten = rewriteEscapes(segment);
      if (rewritten === undefined) return undefined;
      segments[index] = rewritten;
      isEscaped = true;
    } else if (segment === '.' || segment === '..') return undefined;
  }
  return { segments, target: isEscaped ? `/${segments.join('/')}${query}` : url };
}

function rewriteEscapes(segment: string): string | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    return undefined; // not an escape, or not UTF-8: matches nothing
  }
  if (decoded === '.' || decoded === '..' || decoded.includes('\0')) return undefined;
  return encodeURIComponent(decoded);
}

/** An absolute target: its host, and its path with the query. Does not match user information. */
const absolute = /^https?:\/\/(?<host>(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{0,5})?)(?<path>[/?].*)?$/i;

/**
 * Gives a request with an absolute target, `http://host/v1/me`, its origin form, `/v1/me`, and the target's host (RFC 9112, 3.2.2). Returns false for
 * any other kind of target, for an ambiguous path, and for `*` unless the method is OPTIONS.
 */
export function toOriginForm(request: IncomingMessage): boolean {
  const { url, method, headers } = request;
  if (url!.startsWith('/')) return true;
  if (url === '*') return method === 'OPTIONS';
  const { host, path = method === 'OPTIONS' ? '*' : '/' } = absolute.exec(url!)?.groups ?? {};
  if (host === undefined) return false;
  headers.host = host;
  request.url = path.startsWith('?') ? `/${path}` : path;
  const bare = request.url.split('?', 1)[0]!.replace(/\/$/, '');
  return bare === '' || bare === '*' || readRequestPath(bare) !== undefined;
}

/** Challenge in every 401. */
export const bearerChallenge = { 'WWW-Authenticate': 'Bearer' };

/** Returns the token of `Authorization: Bearer <token>`, unchecked, or undefined without one. */
export function bearerToken({ headers: { authorization } }: IncomingMessage): string | undefined {
  return authorization !== undefined && /^bearer +\S/i.test(authorization) ? authorization.slice(7).trim() : undefined;
}

/** Returns the 401 for a request whose token is missing or wrong. */
export function tokenRefusal(request: IncomingMessage, name: string, setting: string): ApiError {
  const options = { headers: bearerChallenge };
  if (bearerToken(request) !== undefined) return new ApiError('invalid_key', `The ${name} token is wrong`, options);
  return new ApiError('key_required', `Send the ${name} token: Authorization: Bearer <${setting}>`, options);
}

/** Client headers that are never forwarded: identity headers, connection headers, and headers that proxies add. */
const withheld = new Set([
  'authorization',
  'baggage',
  'connection',
  contextHeader,
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'request-id',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'upgrade',
  'via',
  'x-real-ip',
]);

/** Headers that delimit the body. They are kept even if `Connection` names them, since the body needs its bounds. */
const framing = new Set(['content-length', 'transfer-encoding']);

/**
 * Returns the headers of a request for its service: the client's and the gateway's. Leaves out
 * withheld ones and those named by `Connection`. They replace the request's headers before the proxy handles it, so that no client header
 * can remove them.
 */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  ours: { context: string | undefined; requestId: string; trace: Record<string, string> | undefined },
): IncomingHttpHeaders {
  const named = namedByConnection(headers.connection);
  const forwarded: IncomingHttpHeaders = {};
  for (const name in headers) {
    if (withheld.has(name) || name.startsWith('x-forwarded-') || name.startsWith('platform-')) continue;
    if (named?.has(name)) continue;
    forwarded[name] = headers[name];
  }
  if (ours.context !== undefined) forwarded[contextHeader] = ours.context;
  forwarded['request-id'] = ours.requestId;
  if (ours.trace) Object.assign(forwarded, ours.trace);
  return forwarded;
}

function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const names = connection.toLowerCase().split(',');
  return new Set(names.map((name) => name.trim()).filter((name) => !framing.has(name)));
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network and the length of its prefix. */
export type AddressRange = readonly [Address, number];

/** Prefix length of `::ffff:0:0/96`, the IPv6 range of mapped IPv4 addresses. */
const mappingBits = 96;

/** Maximum hops of X-Forwarded-For checked, from the last on. Each takes microseconds, and a trusted caller could send hundreds. */
const maxHops = 16;

/**
 * Parses an address or a CIDR range. An IPv4 range mapped into IPv6 becomes the IPv4 range. Throws an Error for
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

/** Returns whether an address is in one of the ranges. An IPv4 address mapped into IPv6 counts as the IPv4 address. */
export function isInRanges(address: string, ranges: readonly AddressRange[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as never, bits));
}

/**
 * Returns a reader of client addresses. The address is the peer's, or, behind a trusted proxy, the nearest address in X-Forwarded-For that is not
 * one. After 16 trusted hops it is the sixteenth. Addresses to the left may be forged and are not read.
 */
export function clientAddressReader(trustedProxies: readonly AddressRange[]): (request: IncomingMessage) => string {
  return (request) => {
    const peer = withoutMapping(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0 || !isInRanges(peer, trustedProxies)) return peer;
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return peer;
    let nearest = peer;
    for (const hop of String(forwarded).split(',').slice(-maxHops).reverse()) {
      const address = addressOf(hop.trim());
      if (address === undefined) return nearest;
      nearest = address;
      if (!isInRanges(nearest, trustedProxies)) return nearest;
    }
    return nearest;
  };
}

/** Returns the address of one hop. Some proxies add a port: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
function addressOf(hop: string): string | undefined {
  const bare = hop.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  return ipaddr.isValid(bare) ? ipaddr.process(bare).toString() : undefined;
}

function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Prefix length of an IPv6 network. One holder has all addresses in it. */
const networkBits = 64;

/** Returns the key under which an address is counted: the address, or its IPv6 network, such as `2001:db8:0:1::/64`. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.map((part, index) => (index < networkBits / 16 ? part : 0));
  return `${new ipaddr.IPv6(network).toString()}/${networkBits}`;
}
