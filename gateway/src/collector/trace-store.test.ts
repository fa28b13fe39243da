import { describe, expect, it } from '@jest/globals';
import { MalformedExport, readExport } from './otlp.ts';
import { TraceStore } from './trace-store.ts';

const idOf = (index: number) => index.toString(16).padStart(32, '0');

interface Made {
  trace: number;
  span?: number;
  service?: string;
  startMs?: number;
  endMs?: number;
  request?: string;
  filling?: string;
}

/** Returns an export of one span. */
function exported({ trace, span = 1, service = 'crm', startMs = 1_000, endMs = 1_010, request, filling = '' }: Made) {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const made = {
    traceId: idOf(trace),
    spanId: span.toString(16).padStart(16, '0'),
    name: 'x',
    kind: 2,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${endMs}000000`,
    attributes: [attribute('filling', filling), ...(request ? [attribute('platform.request_id', request)] : [])],
  };
  const resource = { attributes: [attribute('service.name', service)] };
  return readExport(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: {}, spans: [made] }] }] }));
}

describe('a trace store', () => {
  it('lets those that came first out where it would hold more, and forgets their requests', () => {
    const bounds = { bytes: 100_000, bytesPerTrace: 50_000 };
    const store = new TraceStore(bounds);
    const count = 200;
    for (let trace = 0; trace < count; trace++) {
      store.add(exported({ trace, request: `r${trace}`, filling: 'x'.repeat(1_000), startMs: trace }));
      expect(store.bytes).toBeLessThanOrEqual(bounds.bytes);
    }
    const kept = store.list();
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.map(({ requestId }) => requestId)).toEqual(kept.map((_, index) => `r${count - 1 - index}`));
    expect(store.find(`r${count - 1}`)).toBeDefined();
    expect(store.find('r0')).toBeUndefined();
    expect(store.find(idOf(0))).toBeUndefined();
  });

  it('keeps a trace that grows within its own bound, and none of the others because of it', () => {
    const store = new TraceStore({ bytes: 100_000, bytesPerTrace: 50_000 });
    store.add(exported({ trace: 1 }));
    for (let span = 1; span < 500; span++) store.add(exported({ trace: 2, span, filling: 'ж'.repeat(500) }));
    expect(store.bytes).toBeLessThanOrEqual(55_000);
    const [first, second] = store.list().sort((one, other) => one.spans - other.spans);
    expect(first).toMatchObject({ traceId: idOf(1), spans: 1 });
    expect(second!.spans).toBeGreaterThan(20);
  });

  it('finds a trace by its id and by that of its request, and a repeated span once', () => {
    const store = new TraceStore();
    store.add(exported({ trace: 1, span: 1, request: 'Request-1' }));
    store.add(exported({ trace: 1, span: 1 }));
    store.add(exported({ trace: 1, span: 2, service: 'cdp' }));
    expect(store.find('request-1')).toEqual(store.find(idOf(1)));
    const { resourceSpans } = store.find(idOf(1))!;
    expect(resourceSpans).toHaveLength(2);
    expect(store.list()).toMatchObject([{ spans: 2 }]);
  });

  it("is told by the gateway's span what a trace is of, in whatever order they come", () => {
    const store = new TraceStore();
    store.add(exported({ trace: 1, span: 1, startMs: 1_002, endMs: 1_900, request: 'a' }));
    store.add(exported({ trace: 1, span: 2, service: 'gateway', startMs: 1_001, request: 'b' }));
    store.add(exported({ trace: 1, span: 3, service: 'gateway', startMs: 1_500, request: 'c' }));
    expect(store.list()).toMatchObject([{ requestId: 'b', startMs: 1_001, endMs: 1_900 }]);
  });
});

describe('an export', () => {
  const span = { traceId: idOf(1), spanId: '0'.repeat(16), startTimeUnixNano: '1', endTimeUnixNano: 2 };
  const of = (spans: unknown) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

  it('may leave out what has a default', () => {
    expect(readExport('{}')).toEqual([]);
    expect(readExport(of([span]))[0]!.spans).toHaveLength(1);
  });

  it.each([
    '',
    'null',
    '[]',
    '{"resourceSpans":{}}',
    '{"resourceSpans":[1]}',
    of({}),
    of([null]),
    of([{ ...span, traceId: 'x' }]),
    of([{ ...span, spanId: idOf(1) }]),
    of([{ ...span, startTimeUnixNano: '-1' }]),
    of([{ ...span, startTimeUnixNano: 1.5 }]),
    of([{ ...span, endTimeUnixNano: 'soon' }]),
    of([{ ...span, attributes: 'x' }]),
    of([{ ...span, status: 2 }]),
    of('x').replace('"x"', `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`),
  ])('is malformed: %.60s', (text) => {
    expect(() => readExport(text)).toThrow(MalformedExport);
  });
});
