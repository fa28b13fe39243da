import { describe, expect, it } from '@jest/globals';
import { type ReadExport, readExport } from './otlp.ts';
import { TraceStore } from './trace-store.ts';

const idOf = (index: number) => index.toString(16).padStart(32, '0');

const spanOf = (trace: number) => ({
  traceId: idOf(trace),
  spanId: 'b'.repeat(16),
  startTimeUnixNano: '1',
  endTimeUnixNano: '2',
});

interface Made {
  trace: number;
  span?: number;
  service?: string;
  startMs?: number;
  endMs?: number;
  request?: string;
  operation?: string;
  filling?: string;
}

/** Returns an export of one span. */
function exported({
  trace,
  span = 1,
  service = 'crm',
  startMs = 1_000,
  endMs = 1_010,
  request,
  operation,
  filling = '',
}: Made) {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const made = {
    traceId: idOf(trace),
    spanId: span.toString(16).padStart(16, '0'),
    name: 'x',
    kind: 2,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${endMs}000000`,
    attributes: [
      attribute('filling', filling),
      ...(request ? [attribute('platform.request_id', request)] : []),
      ...(operation ? [attribute('platform.operation', operation)] : []),
    ],
  };
  const resource = { attributes: [attribute('service.name', service)] };
  return readText(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: {}, spans: [made] }] }] }));
}

const readText = readExport;
const add = (store: TraceStore, { groups }: ReadExport) => store.add(groups);
const listOf = (store: TraceStore) => store.list({}, { limit: 1_000 });

describe('a trace store', () => {
  it('lets those that came first out where it would hold more, and forgets their requests', () => {
    const bounds = { bytes: 100_000, bytesPerTrace: 50_000, bytesPerExport: 20_000 };
    const store = new TraceStore(bounds);
    const count = 200;
    for (let trace = 1; trace <= count; trace++) {
      add(store, exported({ trace, request: `r${trace}`, filling: 'x'.repeat(1_000), startMs: trace }));
      expect(store.bytes).toBeLessThanOrEqual(bounds.bytes);
    }
    const kept = listOf(store);
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.map(({ requestId }) => requestId)).toEqual(kept.map((_, index) => `r${count - index}`));
    expect(store.find(`r${count}`)).toBeDefined();
    expect(store.find('r1')).toBeUndefined();
    expect(store.find(idOf(1))).toBeUndefined();
  });

  it('keeps a trace that grows within its own bound, and none of the others because of it', () => {
    const store = new TraceStore({ bytes: 100_000, bytesPerTrace: 50_000, bytesPerExport: 20_000 });
    add(store, exported({ trace: 1 }));
    for (let span = 1; span < 500; span++) add(store, exported({ trace: 2, span, filling: 'ж'.repeat(500) }));
    expect(store.bytes).toBeLessThanOrEqual(55_000);
    const [first, second] = listOf(store).sort((one, other) => one.spans - other.spans);
    expect(first).toMatchObject({ traceId: idOf(1), spans: 1 });
    expect(second!.spans).toBeGreaterThan(20);
  });

  it('finds a trace by its id and by that of its request, and a repeated span once', () => {
    const store = new TraceStore();
    add(store, exported({ trace: 1, span: 1, request: 'Request-1' }));
    add(store, exported({ trace: 1, span: 1 }));
    add(store, exported({ trace: 1, span: 2, service: 'cdp' }));
    expect(store.find('request-1')).toEqual(store.find(idOf(1)));
    const { resourceSpans } = store.find(idOf(1))!;
    expect(resourceSpans).toHaveLength(2);
    expect(listOf(store)).toMatchObject([{ spans: 2 }]);
  });

  it("is told by the gateway's span what a trace is of, in whatever order they come", () => {
    const store = new TraceStore();
    add(store, exported({ trace: 1, span: 1, startMs: 1_002, endMs: 1_900, request: 'a' }));
    add(store, exported({ trace: 1, span: 2, service: 'gateway', startMs: 1_001, request: 'b' }));
    add(store, exported({ trace: 1, span: 3, service: 'gateway', startMs: 1_500, request: 'c' }));
    expect(listOf(store)).toMatchObject([{ requestId: 'b', startMs: 1_001, endMs: 1_900 }]);
  });

  it('keeps the traces of others when one export has a trace for each of thousands of spans', () => {
    const store = new TraceStore();
    add(store, exported({ trace: 1 }));
    const spans = Array.from({ length: 4_000 }, (_, index) => spanOf(index + 2));
    const resource = { attributes: [{ key: 'filling', value: { stringValue: 'x'.repeat(50_000) } }] };
    const rejected = add(store, readText(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })));
    expect(store.find(idOf(1))).toBeDefined();
    const kept = store.list({}, { limit: 5_000 }).length - 1;
    expect(kept).toBeGreaterThan(100);
    expect(store.bytes).toBeLessThan(9 * 1_048_576);
    expect(rejected).toBe(4_000 - kept);
  });

  it('lists a page of what matches in order, without the rest', () => {
    const store = new TraceStore();
    const starts = [5, 3, 9, 3, 7, 1, 8];
    for (const [trace, startMs] of starts.entries()) {
      const operation = startMs === 8 ? 'other' : 'wanted';
      add(store, exported({ trace: trace + 1, startMs, endMs: 10, service: 'gateway', operation }));
    }
    const first = store.list({ operation: 'wanted' }, { limit: 3 });
    expect(first.map(({ startMs }) => startMs)).toEqual([9, 7, 5]);
    const place = store.place(first[2]!.traceId, { operation: 'wanted' });
    const second = store.list({ operation: 'wanted' }, { limit: 9, after: place });
    expect(second.map(({ traceId }) => traceId)).toEqual([idOf(4), idOf(2), idOf(6)]);
    expect(store.place(first[2]!.traceId, { operation: 'other' })).toBeUndefined();
  });
});
