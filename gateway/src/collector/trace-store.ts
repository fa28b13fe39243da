import type { ReceivedSpan, SpanGroup } from './otlp.ts';

/** Bounds of a trace store in counted bytes: the size of the spans and an estimate of their overhead. */
export interface TraceBounds {
  bytes: number;
  /** Bound of one trace. Further spans of the trace are rejected. */
  bytesPerTrace: number;
}

const mebibyte = 1_048_576;
const defaultBounds: TraceBounds = { bytes: 64 * mebibyte, bytesPerTrace: 4 * mebibyte };
/** Part of the memory in use after an eviction. Evicting one at a time is slow: a Map finds its first entry slowly after many deletions. */
const keptRatio = 15 / 16;
/** Estimated overhead of a trace and of a span, in bytes. */
const traceCost = 600;
const spanCost = 300;
/** Maximum request ids by which a trace can be found. */
const maxRequests = 100;

/** The result and time of a request or a whole trace. */
export interface Timed {
  readonly isError: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** The gateway's span of a request. */
export interface RequestSpan extends Timed {
  readonly statusCode: number | undefined;
  /** Set if the request was refused. */
  readonly errorCode: string | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
}

/** A trace as lists return it. */
export interface StoredTrace extends Timed {
  readonly traceId: string;
  /** The first request of the trace. Undefined if it has none, or if its span has not arrived. */
  readonly request: RequestSpan | undefined;
  readonly requestId: string | undefined;
  readonly account: string | undefined;
  readonly operation: string | undefined;
  readonly spans: number;
}

/** Conditions for a trace and its request. All given conditions must hold. */
export interface TraceFilter {
  account?: string | undefined;
  operation?: string | undefined;
  whole?: Wanted | undefined;
  request?: Wanted | undefined;
  /** Range of the request's status code, inclusive. */
  statusCodes?: readonly [number, number] | undefined;
  /** Includes requests refused without a valid key. */
  unauthenticated?: boolean | undefined;
}

interface Wanted {
  isError?: boolean | undefined;
  atLeastMs?: number | undefined;
}

/** Position of a trace in the order of lists. */
export type TracePlace = Pick<StoredTrace, 'traceId' | 'startMs'>;

type Entry = { -readonly [Name in keyof Omit<StoredTrace, 'spans'>]: StoredTrace[Name] } & {
  bytes: number;
  spanIds: Set<string>;
  requests: Set<string>;
  /** Spans as received, with the group of each. */
  texts: { group: SpanGroup; text: string }[];
};

/** Recent traces in bounded memory. Beyond the bound the store evicts the oldest traces. */
export class TraceStore {
  readonly #bounds: TraceBounds;
  /** In order of arrival. */
  readonly #traces = new Map<string, Entry>();
  readonly #byRequest = new Map<string, Entry>();
  #bytes = 0;

  constructor(bounds: TraceBounds = defaultBounds) {
    this.#bounds = bounds;
  }

  /** Counted bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Stores the spans of an export, and ignores repeated spans. Returns the number of spans beyond the bound of their trace. */
  add(groups: readonly SpanGroup[]): number {
    let rejected = 0;
    for (const { spans, ...facts } of groups) {
      const group = { ...facts, spans: [] };
      for (const span of spans) if (!this.#add(group, span)) rejected++;
    }
    this.#makeRoom();
    return rejected;
  }

  /** Returns the position of a trace, or undefined if it does not exist or does not match. */
  place(id: string, filter: TraceFilter): TracePlace | undefined {
    const entry = this.#traces.get(id);
    return entry && matches(entry, filter) ? { traceId: id, startMs: entry.startMs } : undefined;
  }

  /** Returns at most `limit` matching traces after a position, latest start first. */
  list(filter: TraceFilter, { after, limit }: { after?: TracePlace | undefined; limit: number }): StoredTrace[] {
    return [...this.#traces.values()]
      .filter((entry) => (!after || inOrder(entry, after) > 0) && matches(entry, filter))
      .sort(inOrder)
      .slice(0, limit)
      .map(toStoredTrace);
  }

  /** Returns the spans of a trace as OTLP/JSON, by its id or a request id. Returns undefined if none is found. */
  find(id: string): { resourceSpans: Record<string, unknown>[] } | undefined {
    const name = id.toLowerCase();
    const entry = this.#traces.get(name) ?? this.#byRequest.get(name);
    if (!entry) return undefined;
    const resourceSpans = [...Map.groupBy(entry.texts, ({ group }) => group.resource)].map(([resource, texts]) => ({
      resource: JSON.parse(resource) as unknown,
      scopeSpans: [...Map.groupBy(texts, ({ group }) => group.scope)].map(([scope, ofScope]) => ({
        scope: JSON.parse(scope) as unknown,
        spans: ofScope.map(({ text }) => JSON.parse(text) as unknown),
      })),
    }));
    return { resourceSpans };
  }

  /** Adds a span to its trace; returns whether there was room for it. */
  #add(group: SpanGroup, span: ReceivedSpan): boolean {
    const entry = this.#traces.get(span.traceId) ?? this.#begin(span.traceId);
    if (entry.spanIds.has(span.spanId)) return true;
    const bytes = spanCost + Buffer.byteLength(span.text);
    if (entry.bytes + bytes > this.#bounds.bytesPerTrace) return false;
    this.#count(entry, bytes);
    entry.spanIds.add(span.spanId);
    entry.texts.push({ group, text: span.text });
    this.#describe(entry, span, group.service === 'gateway' && span.isServer);
    return true;
  }

  #begin(traceId: string): Entry {
    const entry: Entry = {
      traceId,
      request: undefined,
      requestId: undefined,
      account: undefined,
      operation: undefined,
      isError: false,
      startMs: Number.POSITIVE_INFINITY,
      endMs: 0,
      bytes: 0,
      spanIds: new Set(),
      requests: new Set(),
      texts: [],
    };
    this.#traces.set(traceId, entry);
    this.#count(entry, traceCost);
    return entry;
  }

  #count(entry: Entry, bytes: number): void {
    entry.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Describes a trace by the gateway's own span of its request. Of several such spans the earliest counts. */
  #describe(entry: Entry, span: ReceivedSpan, isOfGateway: boolean): void {
    entry.isError ||= span.isError;
    entry.startMs = Math.min(entry.startMs, span.startMs);
    entry.endMs = Math.max(entry.endMs, span.endMs);
    const { requestId, account, operation, isError, startMs, endMs, statusCode, errorCode, method, path } = span;
    if (isOfGateway && startMs < (entry.request?.startMs ?? Number.POSITIVE_INFINITY)) {
      const request = { isError, startMs, endMs, statusCode, errorCode, method, path };
      Object.assign(entry, { requestId, account, operation, request });
    }
    entry.requestId ??= requestId;
    entry.account ??= account;
    entry.operation ??= operation;
    if (requestId === undefined || entry.requests.size >= maxRequests) return;
    entry.requests.add(requestId.toLowerCase());
    this.#byRequest.set(requestId.toLowerCase(), entry);
  }

  #makeRoom(): void {
    if (this.#bytes <= this.#bounds.bytes) return;
    for (const oldest of this.#traces.values()) {
      if (this.#bytes <= this.#bounds.bytes * keptRatio) return;
      this.#evict(oldest);
    }
  }

  #evict(entry: Entry): void {
    this.#traces.delete(entry.traceId);
    this.#bytes -= entry.bytes;
    for (const request of entry.requests) {
      if (this.#byRequest.get(request) === entry) this.#byRequest.delete(request);
    }
  }
}

/** Error codes of requests without a valid key. A valid key over its rate also gets the last one. */
const keyRefusalCodes: unknown[] = ['key_required', 'invalid_key', 'rate_limited'];

function matches(trace: Entry, filter: TraceFilter): boolean {
  const { account, operation, whole, request, statusCodes, unauthenticated } = filter;
  if (account !== undefined && trace.account !== account) return false;
  if (operation !== undefined && trace.operation !== operation) return false;
  const { statusCode = 0, errorCode } = trace.request ?? {};
  if (!unauthenticated && trace.account === undefined && keyRefusalCodes.includes(errorCode)) return false;
  if (statusCodes && (statusCode < statusCodes[0] || statusCode > statusCodes[1])) return false;
  return isWanted(trace, whole) && isWanted(trace.request, request);
}

/** Returns whether a trace or request meets the conditions. A missing request meets only an empty condition. */
function isWanted(timed: Timed | undefined, { isError, atLeastMs }: Wanted = {}): boolean {
  if (isError === undefined && atLeastMs === undefined) return true;
  if (!timed) return false;
  return (isError ?? timed.isError) === timed.isError && timed.endMs - timed.startMs >= (atLeastMs ?? 0);
}

/** Compares traces in the order of lists: latest start first. */
function inOrder(one: TracePlace, other: TracePlace): number {
  if (one.startMs !== other.startMs) return other.startMs - one.startMs;
  if (one.traceId === other.traceId) return 0;
  return other.traceId < one.traceId ? -1 : 1;
}

function toStoredTrace({ bytes: _, spanIds, requests: _requests, texts: _texts, ...trace }: Entry): StoredTrace {
  return { ...trace, spans: spanIds.size };
}
