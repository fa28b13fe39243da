import { describe, expect, it } from '@jest/globals';
import { readExport } from './otlp.ts';
import { MalformedExport } from './split-spans.ts';
import { atOnce } from './steps.ts';

const span = { traceId: '1'.padStart(32, '0'), spanId: '2'.repeat(16), startTimeUnixNano: '1', endTimeUnixNano: 2 };
const of = (spans: unknown) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const read = (text: string) => atOnce(readExport(Buffer.from(text)));
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const nested = (levels: number) => ({ ...span, x: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) });

describe('an export', () => {
  it('may leave out what has a default', () => {
    expect(read('{}')).toEqual({ groups: [], rejected: 0 });
    expect(read(of([span])).groups[0]!.spans).toHaveLength(1);
  });

  it('is read with each span as it came, whatever is in its texts, between them and beside them', () => {
    const name = '\\"}]{[ж"\\';
    const spans = [0, 1, 2].map((index) => ({
      ...span,
      spanId: `${index}`.padStart(16, 'a'),
      name,
      events: [{ a: [{}] }],
    }));
    const resource = { attributes: [attribute('service.name', 'crm'), attribute(name, name)] };
    const scope = { name, attributes: [attribute(name, name)] };
    const unknown = [[[[{ x: [span] }]]], { spans: [span] }];
    const scopeSpans = [{ unknown, scope, spans: spans.slice(0, 2) }, { spans: [] }, { spans: spans.slice(2) }];
    for (const space of [0, 2]) {
      const { groups } = read(JSON.stringify({ unknown, resourceSpans: [{ scopeSpans, resource }] }, null, space));
      expect(groups.map((group) => group.spans.map(({ text }) => JSON.parse(text)))).toEqual([
        spans.slice(0, 2),
        [],
        spans.slice(2),
      ]);
      expect(groups.map((group) => JSON.parse(group.resource))).toEqual([resource, resource, resource]);
      expect(groups.map((group) => JSON.parse(group.scope))).toEqual([scope, {}, {}]);
    }
  });

  it('of more than 4,096 spans, or with spans that are too large, is read without them', () => {
    const { groups, rejected } = read(of(Array.from({ length: 5_000 }, () => span)));
    expect([groups[0]!.spans.length, rejected]).toEqual([4_096, 904]);
    const large = { ...span, name: 'x'.repeat(65_536) };
    const dense = { ...span, x: Array.from({ length: 2_100 }, () => ({})) };
    expect(read(of([span, large, dense, span]))).toMatchObject({ groups: [{ spans: [{}, {}] }], rejected: 2 });
  });

  it('is read in steps of 64 KiB and 2,048 objects, whatever it is made of', () => {
    const stepsOf = (text: string) => [...readExport(Buffer.from(text))].length;
    const spans = Array.from({ length: 40 }, () => ({ ...span, x: Array.from({ length: 20_000 }, () => 0) }));
    const dense = Array.from({ length: 40 }, () => ({ ...span, x: Array.from({ length: 1_500 }, () => []) }));
    expect(stepsOf(of(dense))).toBeGreaterThanOrEqual(20);
    const text = of(spans);
    expect(stepsOf(text)).toBeGreaterThanOrEqual(2 * Math.floor(text.length / (2 * 65_536)));
    expect(() => stepsOf(`${' '.repeat(1_048_576)}{}`)).toThrow(MalformedExport);
  });

  it.each([
    '',
    'null',
    '[]',
    ']',
    '{"resourceSpans":{}}',
    '{"resourceSpans":[1]}',
    of({}),
    of([null]),
    of([0]),
    of([span, 0]),
    of([0, span]),
    of([span]).slice(0, -1),
    of([span]).replace('{"scopeSpans', '{"scopeSpans":[{"spans":[{]}],"scopeSpans'),
    of([{ ...span, traceId: 'x' }]),
    of([{ ...span, traceId: '0'.repeat(32) }]),
    of([{ ...span, spanId: span.traceId }]),
    of([{ ...span, spanId: '0'.repeat(16) }]),
    of([{ ...span, startTimeUnixNano: '-1' }]),
    of([{ ...span, startTimeUnixNano: 1.5 }]),
    of([{ ...span, endTimeUnixNano: 'soon' }]),
    of([{ ...span, attributes: 'x' }]),
    of([{ ...span, status: 2 }]),
    of([nested(60)]),
    of('x').replace('"x"', `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`),
    JSON.stringify({ resourceSpans: [{ resource: { attributes: [attribute('x', 'x'.repeat(131_072))] } }] }),
    JSON.stringify({ resourceSpans: [{ scopeSpans: Array.from({ length: 5_000 }, () => ({})) }] }),
    of(Array.from({ length: 60_000 }, () => ({}))),
  ])('is malformed: %.60s', (text) => {
    expect(() => read(text)).toThrow(MalformedExport);
  });

  it('may be nested as deep as attributes are', () => {
    expect(read(of([nested(50)])).groups[0]!.spans).toHaveLength(1);
  });
});
