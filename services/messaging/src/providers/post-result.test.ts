import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseJson, providerId, quoted, toSendResult } from './post-result.ts';

const shape = {
  name: 'Acme',
  accepted: z.object({ id: providerId }).transform(({ id }) => id),
  refused: z.object({ text: z.string(), isTemporary: z.boolean().optional() }),
  secrets: ['open sesame'],
};
const resultOf = (status: number, body: unknown, more = {}) =>
  toSendResult({ status, body: JSON.stringify(body), durationMs: 1, ...more }, shape);
const outcomeOf = (status: number) => resultOf(status, {}).outcome;

describe('the outcome of a response', () => {
  it('is accepted for any 2xx with an id, which may be a number', () => {
    expect(resultOf(202, { id: 'one' })).toEqual({ outcome: 'accepted', providerId: 'one' });
    expect(toSendResult({ status: 200, body: '{"id":12345678901234567890}', durationMs: 1 }, shape)).toEqual({
      outcome: 'accepted',
      providerId: '12345678901234567890',
    });
  });

  it('is unknown for a 2xx without an id that can be stored', () => {
    for (const id of [undefined, '', 'x'.repeat(201), 'a\0b', null, {}]) {
      expect(resultOf(200, { id })).toEqual({
        outcome: 'unknown',
        message: 'Acme responded with 200 but no id: the message may have been sent',
      });
    }
    expect(toSendResult({ status: 200, body: '<html>', durationMs: 1 }, shape).outcome).toBe('unknown');
  });

  it('is permanent for 3xx and 4xx, refused for 401 and 403, and temporary for 408, 429 and 5xx', () => {
    expect([302, 400, 404, 410, 422].map(outcomeOf)).toEqual(Array(5).fill('rejected'));
    expect([401, 403].map(outcomeOf)).toEqual(['refused', 'refused']);
    expect([408, 429, 500, 503, 599].map(outcomeOf)).toEqual(Array(5).fill('unavailable'));
  });

  it('is temporary if the provider says so, and waits as long as the response asks', () => {
    expect(resultOf(400, { text: 'slow down', isTemporary: true }, { retryAfterMs: 7000 })).toEqual({
      outcome: 'unavailable',
      message: 'Acme responded with 400: slow down',
      retryAfterMs: 7000,
    });
  });

  it('is temporary if nothing can have been sent, otherwise unknown', () => {
    const outcomes = (['refused', 'dns', 'tls', 'blocked', 'timeout', 'http', 'too_large'] as const).map(
      (error) => toSendResult({ error, body: '', durationMs: 1 }, shape).outcome,
    );
    expect(outcomes).toEqual([
      'unavailable',
      'unavailable',
      'unavailable',
      'rejected',
      'unknown',
      'unknown',
      'unknown',
    ]);
  });

  it('quotes the provider briefly on one line, without secrets', () => {
    expect(resultOf(400, { text: ' the token\r\n"open sesame"\0 is wrong ' })).toEqual({
      outcome: 'rejected',
      message: 'Acme responded with 400: the token "[secret]" is wrong',
    });
    expect(quoted('😀'.repeat(600), [])).toBe(`${'😀'.repeat(500)}…`);
    expect(quoted('e'.repeat(500), [''])).toBe('e'.repeat(500));
  });
});

it('numbers named id keep every digit, and invalid JSON is undefined', () => {
  expect(parseJson('{"id":9007199254740993,"other":2}')).toEqual({ id: '9007199254740993', other: 2 });
  const said = { id: '-1.50e3', text: '"id":5,', ids: 1, list: [{ id: '7' }] };
  expect(parseJson('{"id" : -1.50e3 ,"text":"\\"id\\":5,","ids":1,"list":[{"id":7}]}')).toEqual(said);
  expect(parseJson('{"id":01}')).toBeUndefined();
  expect(parseJson('{')).toBeUndefined();
  expect(parseJson('['.repeat(1_000_000))).toBeUndefined();
});
