import { expect, it } from '@jest/globals';
import { waterfallOf } from './otlp.ts';

it('gives a span that failed the text of its last exception, or else of its status', () => {
  const exception = (message: string) => ({
    name: 'exception',
    attributes: [{ key: 'exception.message', value: { stringValue: message } }],
  });
  const span = (spanId: string, code: number, more: object) => ({ spanId, name: spanId, status: { code }, ...more });
  const spans = [
    span('a', 2, { events: [exception('first'), exception('canceling statement'), { name: 'other' }] }),
    span('b', 2, { status: { code: 2, message: 'gone' } }),
    span('c', 2, {}),
    span('d', 0, { events: [exception('handled')] }),
  ];
  const waterfall = waterfallOf({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  expect(waterfall.spans.map(({ id, error }) => [id, error]).toSorted()).toEqual([
    ['a', 'canceling statement'],
    ['b', 'gone'],
    ['c', null],
    ['d', null],
  ]);
});
