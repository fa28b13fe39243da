import { untilAborted, withTimeout } from '@customer-platform/service-kit';
import type { Dispatcher } from 'undici';
import { BodyTooLarge, maxInformational, readBody, UnknownEncoding } from './bodies.ts';
import { ConnectionPools, type PoolBounds } from './connection-pools.ts';
import {
  ConnectError,
  type ConnectFailure,
  createGuardedConnector,
  type GuardedConnectorOptions,
  parseUrl,
} from './guarded-connector.ts';
import { inRequestSpan } from './request-span.ts';

/** Class of a failed GET. `redirects` means too many redirects; `stopped` means stopped by the caller's signal or rule. */
export type GetError = ConnectFailure | 'too_large' | 'redirects' | 'stopped';

/**
 * Result of one GET: the response after redirects, or the error. A response has any status, a decompressed body and
 * header names in lower case. `message` is readable ("it did not respond in time") and names no address.
 */
export type GetResult =
  | { status: number; headers: Record<string, string>; body: Buffer; url: string; error?: undefined }
  | { error: GetError; message: string };

/** One GET; requests with the same `poolKey` and origin share connections. */
export type GetRequest = {
  poolKey: string;
  url: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** A lower limit than the getter's. */
  maxBodyBytes?: number;
  /** Returns the beginning of a body that is too long, instead of the error too_large. */
  cutsBody?: true;
  /** Called before each redirect. Returns null to follow it, or why it must not be followed. */
  refusalOf?: (url: string) => Promise<string | null>;
};

export type GetterOptions = Omit<GuardedConnectorOptions, 'connectTimeoutMs' | 'allowsPlainHttp'> &
  PoolBounds & {
    userAgent: string;
    /** One deadline for DNS, connections, TLS, headers and bodies of all redirects. Default: 15 s. */
    timeoutMs?: number;
    /** Limit after decompression. Default: 5 MiB. */
    maxBodyBytes?: number;
  };

export type Getter = {
  /** Never rejects: every outcome is a GetResult. */
  get(request: GetRequest): Promise<GetResult>;
  openSockets(): number;
  /** Closes every connection. Requests in flight end with the error http. */
  close(): Promise<void>;
};

const maxRedirects = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Failure of a GET that got no response. */
class GetFailure extends Error {
  readonly error: GetError;

  constructor(error: GetError, message: string) {
    super(message);
    this.error = error;
  }
}

/**
 * Creates the client that reads pages at customers' URLs, over https and http. It checks the address of every connection, follows at most five
 * redirects and checks each again. One deadline applies, and no more of a body than its limit is in memory.
 */
export function createGetter(options: GetterOptions): Getter {
  const { timeoutMs = 15_000, maxBodyBytes = 5 * 1_048_576 } = options;
  const connect = createGuardedConnector({ ...options, allowsPlainHttp: true, connectTimeoutMs: timeoutMs });
  const pools = new ConnectionPools(connect, options);
  const fixedHeaders = { 'user-agent': options.userAgent, 'accept-encoding': 'gzip, deflate, br, zstd' };
  /** Returns one response, or the URL it redirects to. */
  async function getOnce(request: GetRequest, url: URL, signal: AbortSignal): Promise<GetResult | URL> {
    const entry = pools.take(request.poolKey, url.origin);
    let informational = 0;
    try {
      const target: Dispatcher.RequestOptions = {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { ...fixedHeaders, ...request.headers },
        signal,
        onInfo: () => {
          if (++informational > maxInformational) throw new GetFailure('http', 'it sent too many 1xx responses');
        },
      };
      // undici ignores the signal of a request that still waits for its connection.
      const response = await untilAborted(signal, () => entry.resending.request(target));
      const location = response.headers.location;
      if (redirectStatuses.has(response.statusCode) && typeof location === 'string') {
        response.body.on('error', () => undefined).destroy();
        return redirectTarget(location, url);
      }
      const maxBytes = Math.min(request.maxBodyBytes ?? maxBodyBytes, maxBodyBytes);
      return { ...(await readResponse(response, { maxBytes, cut: request.cutsBody ?? false })), url: url.href };
    } finally {
      pools.release(entry);
    }
  }

  async function follow(request: GetRequest, signal: AbortSignal): Promise<GetResult> {
    let url = pageUrl(request.url);
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const response = await getOnce(request, url, signal);
      if (!(response instanceof URL)) return response;
      url = response;
      const refusal = await request.refusalOf?.(url.href);
      if (refusal) throw new GetFailure('stopped', refusal);
    }
    throw new GetFailure('redirects', `it redirects more than ${maxRedirects} times`);
  }

  const get = async (request: GetRequest): Promise<GetResult> => {
    const stop = new AbortController();
    const late = new GetFailure('timeout', 'it did not respond in time');
    try {
      return await untilAborted(request.signal, () => withTimeout(timeoutMs, follow(request, stop.signal), () => late));
    } catch (error) {
      return resultOf(request.signal?.aborted ? new GetFailure('stopped', 'reading was stopped') : error);
    } finally {
      // Abort whatever is still in flight.
      stop.abort(late);
    }
  };

  return {
    get: (request) => inRequestSpan('GET', parseUrl(request.url), 400, () => get(request)),
    openSockets: () => pools.openSockets,
    close: () => pools.close(),
  };
}

/** Returns a response with its body decompressed. Throws like readBody, and always releases the connection. */
async function readResponse(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  bounds: { maxBytes: number; cut: boolean },
) {
  const bytes = await readBody(body, headerText(headers['content-encoding']), bounds).finally(() =>
    body.on('error', () => undefined).destroy(),
  );
  const texts = Object.entries(headers).map(([name, value]) => [name, headerText(value)]);
  return { status: statusCode, headers: Object.fromEntries(texts) as Record<string, string>, body: bytes };
}

function redirectTarget(location: string, from: URL): URL {
  const target = parseUrl(location, from.href);
  if (!target) throw new GetFailure('http', 'it redirects to an invalid URL');
  return pageUrl(target.href);
}

function pageUrl(text: string): URL {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new GetFailure('blocked', 'it leads to a URL that is neither http nor https');
  }
  if (url.username !== '' || url.password !== '') {
    throw new GetFailure('blocked', 'it leads to a URL with a user or a password');
  }
  url.hash = '';
  return url;
}

function headerText(header: string | string[] | undefined): string {
  return Array.isArray(header) ? header.join(', ') : (header ?? '');
}

/** Readable messages for failed connections. */
const connectMessages: Record<ConnectError['failure'], string> = {
  blocked: 'it leads to an address that is not public',
  dns: 'its name cannot be resolved',
  refused: 'it refuses connections',
  timeout: 'it did not respond in time',
  tls: 'no secure connection could be made; its certificate may be wrong',
  http: 'it closed the connection',
};

function resultOf(error: unknown): GetResult {
  if (error instanceof GetFailure) return { error: error.error, message: error.message };
  if (error instanceof ConnectError) return { error: error.failure, message: connectMessages[error.failure] };
  if (error instanceof BodyTooLarge) return { error: 'too_large', message: 'it is larger than the limit for a page' };
  if (error instanceof UnknownEncoding) return { error: 'http', message: 'its content encoding is not supported' };
  return { error: 'http', message: 'its response is broken' };
}
