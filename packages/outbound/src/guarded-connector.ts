import { constants } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';
import { ApiError, codePoints } from '@customer-platform/contracts/core';
import { type PrefetchCall, untilAborted, withTimeout } from '@customer-platform/service-kit';
import { buildConnector } from 'undici';
import { type AddressRange, isInRanges, refusalOfAddress } from './address-ranges.ts';
import { BoundedSocket } from './bounded-socket.ts';
import type { ResolveName } from './resolve-name.ts';

/** Class of a failed connection. */
export type ConnectFailure = 'blocked' | 'dns' | 'refused' | 'timeout' | 'tls' | 'http';

/** Error of a connection that failed. `failure` is the class of the cause; the message names the address. */
export class ConnectError extends Error {
  readonly failure: ConnectFailure;
  readonly code: string;

  constructor(failure: ConnectFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.failure = failure;
    this.code = `CONNECT_${failure.toUpperCase()}`;
  }
}

/** Rules for the targets of connections: the resolver, and the ranges allowed besides public ones. */
export type TargetGuard = {
  allowedRanges: AddressRange[];
  resolve: ResolveName;
  /** Allows plain http to public addresses too, for websites. By default http is only for allowed ranges. */
  allowsPlainHttp?: true;
};

/**
 * Progress of a connection attempt by its failure. An unreachable network counts as refused. If a name has addresses of
 * both families, the address that this host has a route to gives the more useful error.
 */
const stages: Record<ConnectFailure, number> = { dns: 0, blocked: 1, refused: 2, timeout: 3, http: 4, tls: 5 };

const maxUrlLength = 2048;
/** Maximum addresses tried per connection, which bounds the time for a name with many addresses. */
const maxAddresses = 4;
/** Maximum addresses read from a DNS response. */
const maxResolved = 64;
const fallbackTimeoutMs = 3000;
const checkTimeoutMs = 3000;

/**
 * Checks a URL by its text alone. Returns why it must not be a target (one sentence beginning with "url") or null if it
 * may be. If the answer depends on DNS, returns the name to look up.
 */
function judgeUrlText(text: string, guard: TargetGuard): { refusal: string | null } | { name: string } {
  const url = parseTargetUrl(text, guard);
  if (typeof url === 'string') return { refusal: url };
  const host = hostOf(url);
  return isIP(host) ? { refusal: judgeAddresses(url, [host], guard) } : { name: host };
}

/**
 * Returns why a URL must not be a target (one sentence beginning with "url"), or null if it may be. A target has https,
 * at most 2,048 characters, no user or password, and a public or allowed address in any spelling. http is only for
 * allowed addresses. An https name that does not resolve within 3 s is accepted, because the connector checks again at
 * every connection attempt.
 */
export async function checkTargetUrl(text: string, guard: TargetGuard): Promise<string | null> {
  const judgement = judgeUrlText(text, guard);
  if ('refusal' in judgement) return judgement.refusal;
  // A name that does not resolve is not refused here: the connector fails to connect to it.
  const addresses = await resolveWithin(judgement.name, guard.resolve, checkTimeoutMs).catch(() => []);
  return judgeAddresses(new URL(text), addresses, guard);
}

/**
 * Returns why a URL must not be read as a page (a sentence beginning with "url"), or null. Same rules as
 * checkTargetUrl, except that http is allowed like https.
 */
export function checkPageUrl(text: string, guard: TargetGuard): Promise<string | null> {
  return checkTargetUrl(text, { ...guard, allowsPlainHttp: true });
}

type UrlCall = { guard: TargetGuard; prefetch(work: (call: PrefetchCall) => Promise<void>): void };

/**
 * Refuses a URL that must not be a target. Checks the text at once, and looks up a name outside the transaction. `path` is the URL's path in the
 * body, such as `settings.url`. Throws invalid_request with the path's first name as its field.
 */
export function refusePrivateTarget(url: string, path: string, { guard, prefetch }: UrlCall): void {
  const refuse = (refusal: string | null) => {
    if (refusal === null) return;
    throw new ApiError('invalid_request', refusal.replace(/^url/, path), { field: path.split('.')[0] });
  };
  const judgement = judgeUrlText(url, guard);
  if ('refusal' in judgement) refuse(judgement.refusal);
  else prefetch(async () => refuse(await checkTargetUrl(url, guard)));
}

function judgeAddresses(url: URL, addresses: string[], guard: TargetGuard): string | null {
  if (url.protocol === 'http:' && !guard.allowsPlainHttp) {
    const allowed = addresses.some((address) => isInRanges(address, guard.allowedRanges));
    return allowed
      ? null
      : 'url must begin with https:// (http is only for the address ranges that the operator allowed)';
  }
  const refusals = addresses.map((address) => refusalOfAddress(address, guard.allowedRanges));
  if (addresses.length === 0 || refusals.includes(null)) return null;
  // A private address that a name resolves to must not leak. The message shows an address only if the URL contains it.
  const where = isIP(hostOf(url)) ? `${addresses[0]} (${refusals[0]})` : 'an address that is not public';
  return `url leads to ${where}; it must lead to a public address`;
}

function parseTargetUrl(text: string, { allowsPlainHttp }: TargetGuard): URL | string {
  if (text.length > 2 * maxUrlLength || codePoints(text) > maxUrlLength)
    return `url must be at most ${maxUrlLength} characters`;
  // The URL parser silently drops tabs and newlines, but the stored URL must equal the called one.
  if (/[\p{Cc}\u0020\u00a0]/u.test(text)) return 'url must not contain spaces or control characters';
  if (hasLongAuthority(text)) return 'url must name a host of at most 253 characters';
  const url = URL.parse(text);
  if (!url) return `url must be an absolute URL such as https://example.com/${allowsPlainHttp ? 'help' : 'hook'}`;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `url must begin with ${allowsPlainHttp ? 'https:// or http://' : 'https://'}`;
  }
  if (url.username !== '' || url.password !== '') return 'url must not contain a user or a password';
  if (url.hostname === '' || url.port === '0') return 'url must name a host and a port from 1 to 65535';
  return url;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Returns the first addresses of a name. Throws a ConnectError if it has none or does not resolve in time. Throws an aborted signal's reason. */
async function resolveWithin(name: string, resolve: ResolveName, timeoutMs: number, signal?: AbortSignal) {
  const late = () => new ConnectError('timeout', `${name} took over ${timeoutMs} ms to resolve`);
  const failed = (error: Error) => {
    throw new ConnectError('dns', `${name} could not be resolved`, error);
  };
  const resolving = untilAborted(signal, () => resolve(name).catch(failed));
  const addresses = await withTimeout(timeoutMs, resolving, late);
  if (addresses.length === 0) throw new ConnectError('dns', `${name} has no address`);
  return addresses.slice(0, maxResolved);
}

/** An undici connector. `signal` aborts a connection attempt at once with the signal's reason, and closes an open connection. */
export type GuardedConnector = (target: DialTarget, callback: buildConnector.Callback) => void;

export type GuardedConnectorOptions = TargetGuard & {
  /** Timeout of one connection attempt, including the TLS handshake. */
  connectTimeoutMs: number;
  /** Opens the connection to the checked address given as `hostname`. Default: `createDial`. */
  dial?: Dial;
  /** A certificate authority in PEM to trust besides the system's. */
  certificateAuthority?: string;
};

/**
 * Creates an undici connector that resolves the name itself and connects only to addresses that it has checked. It
 * tries the addresses in order and never resolves the name twice. If all fail, it returns the error of the address that
 * got furthest. SNI and the certificate check use the name. Plain http is only for allowed ranges, unless
 * `allowsPlainHttp`. A protocol that starts TLS itself gets a plain socket. Fails with a ConnectError.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): GuardedConnector {
  const { connectTimeoutMs, dial = createDial(options.certificateAuthority) } = options;
  const connect = async (target: DialTarget): Promise<Socket> => {
    const addresses = await vettedAddresses(target, options);
    let furthest: ConnectError | null = null;
    for (const [index, address] of addresses.entries()) {
      // After a TLS error the last address gets the short timeout too. Otherwise the request's deadline would hide the TLS error.
      const isOther = index < addresses.length - 1 || furthest?.failure === 'tls';
      try {
        const timeoutMs = isOther ? Math.min(fallbackTimeoutMs, connectTimeoutMs) : connectTimeoutMs;
        return await dialOnce(dial, { ...target, timeoutMs }, address);
      } catch (error) {
        if (!(error instanceof ConnectError) || target.signal?.aborted) throw error;
        if (!furthest || stages[error.failure] > stages[furthest.failure]) furthest = error;
      }
    }
    throw furthest;
  };
  return (target, callback) => {
    connect(target).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function vettedAddresses(target: DialTarget, options: GuardedConnectorOptions): Promise<string[]> {
  const addresses = isIP(target.hostname)
    ? [target.hostname]
    : await resolveWithin(target.hostname, options.resolve, options.connectTimeoutMs, target.signal);
  const refused: string[] = [];
  const vetted = addresses.filter((address) => {
    const refusal = refusalOfAddress(address, options.allowedRanges);
    const isPlain =
      target.protocol === 'http:' && !options.allowsPlainHttp && !isInRanges(address, options.allowedRanges);
    if (refusal || isPlain) refused.push(`${address} (${refusal ?? 'not allowed without TLS'})`);
    return refusal === null && !isPlain;
  });
  if (vetted.length > 0) return vetted.slice(0, maxAddresses);
  throw new ConnectError('blocked', `${target.hostname} leads only to refused addresses: ${refused.join(', ')}`);
}

function dialOnce(dial: Dial, target: Parameters<Dial>[0], address: string): Promise<Socket> {
  const isTls = target.protocol === 'https:';
  const { servername: asked, ...rest } = target;
  const name = asked || (isIP(target.hostname) ? '' : target.hostname);
  // SNI carries names without their trailing dot, and never addresses.
  const servername = name.replace(/\.$/, '');
  const pinned = { ...rest, hostname: address, ...(isTls && servername ? { servername } : {}) };
  const dialed = () =>
    new Promise<Socket>((resolve, reject) => {
      dial(pinned, (...[error, socket]) => {
        if (error) reject(new ConnectError(failureOf(error, isTls), `${address}: ${error.message}`, error));
        else resolve(socket);
      });
    });
  return untilAborted(target.signal, dialed);
}

function failureOf(error: Error, isTls: boolean): ConnectFailure {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'].includes(code))
    return 'refused';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'http';
  return isTls ? 'tls' : 'http';
}

/**
 * TLS options for customers' servers. A server chooses the group of a finite-field key exchange, and one of 10,000 bits blocks the event loop for 500
 * ms. Renegotiation is off, because it lets the server start another handshake at any time.
 */
export const tlsOptions = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  // TLS 1.3 has fixed groups, and some of them are expensive too.
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** Target of a connection attempt, with an address as `hostname`. `signal` aborts the attempt, and later the connection. */
export type DialTarget = buildConnector.Options & { signal?: AbortSignal };

/** Opens a connection within `timeoutMs`. For https this includes the TLS handshake. */
export type Dial = (target: DialTarget & { timeoutMs: number }, callback: buildConnector.Callback) => void;

/** Creates the function that opens a connector's connections. It trusts the certificate authority `ca` (PEM), by default the system's. */
export function createDial(ca?: string): Dial {
  // Created with the first https connection: a client that starts TLS itself, such as for mail, needs no context.
  let connectSecure: buildConnector.connector | undefined;
  const makeSecure = () => {
    const secureContext = createSecureContext({ ...tlsOptions, ...(ca ? { ca } : {}) });
    return buildConnector({ allowH2: false, maxCachedSessions: 1000, timeout: 0, secureContext });
  };
  return ({ signal, timeoutMs, ...target }, callback) => {
    const isTls = target.protocol === 'https:';
    const port = Number(target.port) || (isTls ? 443 : 80);
    const socket = connect({ host: target.hostname, port, ...socketOptions, ...(signal ? { signal } : {}) });
    const timer = setTimeout(() => socket.destroy(failure('ETIMEDOUT', `not made within ${timeoutMs} ms`)), timeoutMs);
    let isOver = false;
    const end: buildConnector.Callback = (...result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      callback(...result);
    };
    socket.on('error', (error) => end(error, null));
    socket.once('connect', () => {
      if (!isTls) return end(null, socket);
      const bounded = new BoundedSocket(socket);
      connectSecure ??= makeSecure();
      connectSecure({ ...target, httpSocket: bounded as unknown as Socket }, (...result) => {
        bounded.allow(Number.POSITIVE_INFINITY);
        end(...result);
      });
      // The connector reports only errors, but a connection may close without one. setImmediate lets a pending error come first.
      bounded.once('close', () => {
        if (!isOver) setImmediate(() => end(failure('ECONNRESET', 'ended before it was secure'), null));
      });
    });
  };
}

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`the connection was ${what}`), { code });
}

/**
 * Longest authority of a URL that is parsed, in UTF-16 units. A name has at most 253 characters and a port five. The
 * parser encodes names in quadratic time: 2,000 letters block the event loop for 10 ms.
 */
const maxAuthority = 260;

/**
 * Parses a URL that a customer or a customer's server chose. Returns null if it is invalid or its host is too long for
 * a name. `base` resolves a relative URL.
 */
export function parseUrl(text: string, base?: string): URL | null {
  return hasLongAuthority(text) ? null : URL.parse(text, base);
}

/** Returns whether a URL's authority (user, host and port) is too long for a name. */
export function hasLongAuthority(text: string): boolean {
  // As the URL parser does: ignore leading blanks, line breaks and tabs, and accept any number of slashes and backslashes.
  const bare = text.replace(/[\t\n\r]/g, '').replace(/^[\0- ]+/, '');
  const start = /^(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,})/i.exec(bare)?.[0].length;
  if (start === undefined) return false;
  const end = bare.slice(start, start + maxAuthority + 1).search(/[/\\?#]/);
  return end === -1 && bare.length - start > maxAuthority;
}
