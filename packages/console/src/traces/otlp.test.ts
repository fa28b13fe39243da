import { expect, it } from '@jest/globals';
import { waterfallOf } from './otlp.ts';

it('shows a failed span with the message of its last exception, or else of its status, or else its HTTP status', () => {
  const exception = (message: string) => ({
    name: 'exception',
    attributes: [{ key: 'exception.message', value: { stringValue: message } }],
  });
  const span = (spanId: string, code: number, more: object) => ({ spanId, name: spanId, status: { code }, ...more });
  const attributes = [{ key: 'http.response.status_code', value: { intValue: '500' } }];
  const spans = [
    span('a', 2, { events: [exception('first'), exception('canceling statement'), { name: 'other' }] }),
    span('b', 2, { status: { code: 2, message: 'gone' } }),
    span('c', 2, {}),
    span('e', 2, { attributes }),
    span('f', 2, { attributes, status: { code: 2, message: 'not stored' } }),
    span('g', 0, { attributes }),
    span('d', 0, { events: [exception('handled')] }),
  ];
  const waterfall = waterfallOf({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  expect(waterfall.spans.map(({ id, error }) => [id, error]).toSorted()).toEqual([
    ['a', 'canceling statement'],
    ['b', 'gone'],
    ['c', null],
    ['d', null],
    ['e', 'HTTP 500'],
    ['f', 'not stored'],
    ['g', null],
  ]);
});
