import { describe, expect, it } from '@jest/globals';
import { readExport } from './otlp.ts';
import { TraceStore } from './trace-store.ts';

const idOf = (index: number) => index.toString(16).padStart(32, '0');
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

interface Made {
  trace: number;
  span?: number;
  service?: string;
  startMs?: number;
  endMs?: number;
  request?: string;
  filling?: string;
}

/** Adds an export of one span; returns how many were rejected. */
function add(store: TraceStore, { trace, span = 1, service = 'crm', startMs = 1_000, endMs = 1_010, ...made }: Made) {
  const spans = [
    {
      traceId: idOf(trace),
      spanId: span.toString(16).padStart(16, '0'),
      kind: 2,
      startTimeUnixNano: `${startMs}000000`,
      endTimeUnixNano: `${endMs}000000`,
      attributes: [
        attribute('filling', made.filling ?? ''),
        ...(made.request ? [attribute('platform.request_id', made.request)] : []),
      ],
    },
  ];
  const resource = { attributes: [attribute('service.name', service)] };
  return store.add(readExport(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: {}, spans }] }] })));
}

const listOf = (store: TraceStore) => store.list({}, { limit: 1_000 });

describe('a trace store', () => {
  it('evicts the oldest traces beyond its bound, and forgets their requests', () => {
    const bounds = { bytes: 100_000, bytesPerTrace: 50_000 };
    const store = new TraceStore(bounds);
    const count = 200;
    for (let trace = 1; trace <= count; trace++) {
      add(store, { trace, request: `r${trace}`, filling: 'x'.repeat(1_000), startMs: trace });
      expect(store.bytes).toBeLessThanOrEqual(bounds.bytes);
    }
    const kept = listOf(store);
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.map(({ requestId }) => requestId)).toEqual(kept.map((_, index) => `r${count - index}`));
    expect([store.find(`r${count}`) === undefined, store.find('r1'), store.find(idOf(1))]).toEqual([
      false,
      undefined,
      undefined,
    ]);
  });

  it('limits a growing trace to its own bound, and evicts no other trace for it', () => {
    const store = new TraceStore({ bytes: 100_000, bytesPerTrace: 50_000 });
    add(store, { trace: 1 });
    let rejected = 0;
    for (let span = 1; span < 500; span++) rejected += add(store, { trace: 2, span, filling: 'ж'.repeat(500) });
    expect(store.bytes).toBeLessThanOrEqual(55_000);
    const [first, second] = listOf(store).sort((one, other) => one.spans - other.spans);
    expect(first).toMatchObject({ traceId: idOf(1), spans: 1 });
    expect(second!.spans).toBeGreaterThan(20);
    expect(rejected).toBe(499 - second!.spans);
  });

  it('finds a trace by its id and by a request id, and stores a repeated span once', () => {
    const store = new TraceStore();
    add(store, { trace: 1, span: 1, request: 'Request-1' });
    add(store, { trace: 1, span: 1 });
    add(store, { trace: 1, span: 2, service: 'cdp' });
    expect(store.find('request-1')).toEqual(store.find(idOf(1)));
    expect(store.find(idOf(1))!.resourceSpans).toHaveLength(2);
    expect(listOf(store)).toMatchObject([{ spans: 2 }]);
  });

  it("describes a trace by the gateway's first span, in whatever order the spans arrive", () => {
    const store = new TraceStore();
    add(store, { trace: 1, span: 1, startMs: 1_002, endMs: 1_900, request: 'a' });
    add(store, { trace: 1, span: 2, service: 'gateway', startMs: 1_001, request: 'b' });
    add(store, { trace: 1, span: 3, service: 'gateway', startMs: 1_500, request: 'c' });
    expect(listOf(store)).toMatchObject([{ requestId: 'b', startMs: 1_001, endMs: 1_900 }]);
  });
});
