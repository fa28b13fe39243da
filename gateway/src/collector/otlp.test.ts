import { describe, expect, it } from '@jest/globals';
import { MalformedExport, readExport } from './otlp.ts';

const span = { traceId: '1'.padStart(32, '0'), spanId: '2'.repeat(16), startTimeUnixNano: '1', endTimeUnixNano: 2 };
const of = (spans: unknown) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const read = readExport;
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

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
    expect(read(of([span, large, span]))).toMatchObject({ groups: [{ spans: [{}, {}] }], rejected: 1 });
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
    of('x').replace('"x"', `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`),
    of([{ ...span, x: JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`) as unknown }]),
    JSON.stringify({ resourceSpans: [{ resource: { attributes: [attribute('x', 'x'.repeat(131_072))] } }] }),
    of(Array.from({ length: 60_000 }, () => ({}))),
  ])('is malformed: %.60s', (text) => {
    expect(() => read(text)).toThrow(MalformedExport);
  });
});
