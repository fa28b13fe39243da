import type { ReceivedSpan, SpanGroup } from './otlp.ts';

/** Bounds of a trace store, in bytes as they are counted: texts, and about what holding them costs. */
export interface TraceBounds {
  bytes: number;
  /** Of one trace: what else belongs to it is rejected. */
  bytesPerTrace: number;
  /** Added by one export: what else is in it is rejected, or one export could put all other traces out. */
  bytesPerExport: number;
}

const mebibyte = 1_048_576;
const usualBounds: TraceBounds = { bytes: 64 * mebibyte, bytesPerTrace: 4 * mebibyte, bytesPerExport: 8 * mebibyte };
/** Part of the memory in use once traces have made room: a Map is slow to find its first entry after many were deleted, so that it does so rarely. */
const keptRatio = 15 / 16;
/** About what a trace, a part of it, a span's id and an indexed request cost besides their texts. */
const traceCost = 600;
const partCost = 200;
const spanCost = 100;
const requestCost = 200;
/** Requests of one trace that it is found by. */
const maxRequests = 100;

/** Spans of a trace that came together. */
interface Part {
  resource: string;
  scope: string;
  spans: string[];
}

/** The gateway's span of a request. */
export interface RequestSpan {
  readonly isError: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** Properties by which traces are found. */
export interface TraceFacts {
  readonly traceId: string;
  /** The first request of the trace; undefined where it has none, or its span has not come. */
  readonly request: RequestSpan | undefined;
  readonly requestId: string | undefined;
  readonly account: string | undefined;
  readonly operation: string | undefined;
  readonly isError: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** What a trace or a request is looked for by: all that is given. */
export interface TraceFilter {
  account?: string | undefined;
  operation?: string | undefined;
  whole?: Wanted | undefined;
  request?: Wanted | undefined;
}

interface Wanted {
  isError?: boolean | undefined;
  atLeastMs?: number | undefined;
}

/** Place of a trace in the order of lists. */
export type TracePlace = Pick<TraceFacts, 'traceId' | 'startMs'>;

/** A trace as lists show it. */
export interface StoredTrace extends TraceFacts {
  readonly spans: number;
}

interface Entry {
  traceId: string;
  request: RequestSpan | undefined;
  requestId: string | undefined;
  account: string | undefined;
  operation: string | undefined;
  isError: boolean;
  startMs: number;
  endMs: number;
  bytes: number;
  spanIds: Set<string>;
  requests: Set<string>;
  parts: Part[];
}

/** The traces of the last minutes in bounded memory: where they would become more, those that came first make room. */
export class TraceStore {
  readonly #bounds: TraceBounds;
  /** In the order in which they came. */
  readonly #traces = new Map<string, Entry>();
  readonly #byRequest = new Map<string, Entry>();
  #bytes = 0;

  constructor(bounds: TraceBounds = usualBounds) {
    this.#bounds = bounds;
  }

  /** Bytes in use, as they are counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Stores the spans of an export; one that is there already came again with a repeated export. Returns how many it has no room for. */
  add(groups: readonly SpanGroup[]): number {
    const room = { bytes: this.#bounds.bytesPerExport };
    let rejected = 0;
    for (const group of groups) {
      for (const [traceId, spans] of Map.groupBy(group.spans, (span) => span.traceId))
        rejected += this.#addTo(traceId, group, spans, room);
    }
    return rejected;
  }

  /** Returns the place of a trace; undefined where it is not there or does not match. */
  place(id: string, filter: TraceFilter): TracePlace | undefined {
    const entry = this.#traces.get(id);
    return entry && matches(entry, filter) ? { traceId: id, startMs: entry.startMs } : undefined;
  }

  /** Returns at most `limit` traces that match, those that began last first, and only those after a place. In one pass: there may be tens of thousands. */
  list(filter: TraceFilter, { after, limit }: { after?: TracePlace | undefined; limit: number }): StoredTrace[] {
    const found: Entry[] = [];
    for (const entry of this.#traces.values()) {
      if ((after && inOrder(entry, after) <= 0) || !matches(entry, filter)) continue;
      if (found.length === limit && inOrder(found[limit - 1]!, entry) < 0) continue;
      found.splice(placeIn(found, entry), 0, entry);
      if (found.length > limit) found.pop();
    }
    return found.map(toStoredTrace);
  }

  /** Returns the spans of a trace as OTLP/JSON, by its id or that of a request; undefined if it has none of these. */
  find(id: string): { resourceSpans: Record<string, unknown>[] } | undefined {
    const name = id.toLowerCase();
    const entry = this.#traces.get(name) ?? this.#byRequest.get(name);
    if (!entry) return undefined;
    const resourceSpans = [...Map.groupBy(entry.parts, ({ resource }) => resource)].map(([resource, parts]) => ({
      resource: JSON.parse(resource) as unknown,
      scopeSpans: [...Map.groupBy(parts, ({ scope }) => scope)].map(([scope, ofScope]) => ({
        scope: JSON.parse(scope) as unknown,
        spans: ofScope.flatMap(({ spans }) => spans.map((span) => JSON.parse(span) as unknown)),
      })),
    }));
    return { resourceSpans };
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
      parts: [],
    };
    this.#traces.set(traceId, entry);
    return entry;
  }

  /** Adds spans to their trace, those that its bound and the export's have room for; returns how many they have none for. */
  #addTo(traceId: string, group: SpanGroup, spans: readonly ReceivedSpan[], room: { bytes: number }): number {
    const known = this.#traces.get(traceId);
    const taken = new Map<string, ReceivedSpan>();
    let bytes = (known ? 0 : traceCost) + partCost + group.bytes;
    let rejected = 0;
    for (const span of spans) {
      if (known?.spanIds.has(span.spanId) || taken.has(span.spanId)) continue;
      const after = bytes + costOf(span);
      if (after > room.bytes || (known?.bytes ?? 0) + after > this.#bounds.bytesPerTrace) {
        rejected++;
        continue;
      }
      bytes = after;
      taken.set(span.spanId, span);
    }
    if (taken.size === 0) return rejected;
    room.bytes -= bytes;
    const entry = known ?? this.#begin(traceId);
    const { resource, scope, service } = group;
    entry.parts.push({ resource, scope, spans: [...taken.values()].map(({ text }) => text) });
    for (const span of taken.values()) {
      entry.spanIds.add(span.spanId);
      this.#describe(entry, span, service === 'gateway' && span.isServer);
    }
    this.#count(entry, bytes);
    return rejected;
  }

  /** The gateway's span says best what a trace is of: it is the request's own. Of several the first counts. */
  #describe(entry: Entry, span: ReceivedSpan, isOfGateway: boolean): void {
    entry.isError ||= span.isError;
    entry.startMs = Math.min(entry.startMs, span.startMs);
    entry.endMs = Math.max(entry.endMs, span.endMs);
    const { requestId, account, operation, isError, startMs, endMs } = span;
    if (isOfGateway && startMs < (entry.request?.startMs ?? Number.POSITIVE_INFINITY)) {
      Object.assign(entry, { requestId, account, operation, request: { isError, startMs, endMs } });
    }
    entry.requestId ??= requestId;
    entry.account ??= account;
    entry.operation ??= operation;
    if (requestId === undefined || entry.requests.size >= maxRequests) return;
    const name = requestId.toLowerCase();
    if (entry.requests.has(name)) return;
    entry.requests.add(name);
    this.#byRequest.set(name, entry);
  }

  #count(entry: Entry, bytes: number): void {
    entry.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= this.#bounds.bytes) return;
    for (const oldest of this.#traces.values()) {
      if (this.#bytes <= this.#bounds.bytes * keptRatio) return;
      // The one that grows is kept: its own bound is below that of all.
      if (oldest !== entry) this.#evict(oldest);
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

function matches(trace: TraceFacts, { account, operation, whole, request }: TraceFilter): boolean {
  if (account !== undefined && trace.account !== account) return false;
  if (operation !== undefined && trace.operation !== operation) return false;
  return isWanted(trace, whole) && isWanted(trace.request, request);
}

/** Returns whether a trace, or its request, is as a filter wants it: where there is none, only for a filter that wants nothing. */
function isWanted(timed: RequestSpan | undefined, { isError, atLeastMs }: Wanted = {}): boolean {
  if (isError === undefined && atLeastMs === undefined) return true;
  if (!timed) return false;
  return (isError ?? timed.isError) === timed.isError && timed.endMs - timed.startMs >= (atLeastMs ?? 0);
}

/** Returns about what a span costs, with the index of its request. */
function costOf({ bytes, requestId }: ReceivedSpan): number {
  return spanCost + bytes + (requestId === undefined ? 0 : requestCost + requestId.length * 2);
}

/** Compares traces in the order of lists: those that began last first. */
function inOrder(one: TracePlace, other: TracePlace): number {
  if (one.startMs !== other.startMs) return other.startMs - one.startMs;
  if (one.traceId === other.traceId) return 0;
  return other.traceId < one.traceId ? -1 : 1;
}

/** Returns the index in a list that is in order at which a trace belongs. */
function placeIn(list: readonly TracePlace[], trace: TracePlace): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (inOrder(list[middle]!, trace) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function toStoredTrace(entry: Entry): StoredTrace {
  const { traceId, request, requestId, account, operation, isError, startMs, endMs, spanIds } = entry;
  return { traceId, request, requestId, account, operation, isError, startMs, endMs, spans: spanIds.size };
}
