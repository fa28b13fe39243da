import { describe, expect, it } from '@jest/globals';
import { getDeal, listDeals } from './crm/operations.ts';
import { describeOperation } from './openapi.ts';

describe('an operation that will end', () => {
  const ending = (since: string, sunset: string) =>
    describeOperation({ ...getDeal, deprecated: { since, sunset, instead: listDeals } });

  it('is deprecated in the document, with its days, its successor and the headers of its responses', () => {
    const described = ending('2026-11-01', '2027-11-01');
    expect(described).toMatchObject({
      operationId: 'getDeal',
      deprecated: true,
      'x-deprecated-since': '2026-11-01',
      'x-sunset': '2027-11-01',
      'x-successor': 'listDeals',
      description: expect.stringContaining(
        'Deprecated since 2026-11-01; may be gone from 2027-11-01 on. Use `listDeals` instead.',
      ),
    });
    const { headers } = described.responses!['200'] as { headers: object };
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(['Request-Id', 'Deprecation', 'Sunset', 'Link']));
    expect(describeOperation(getDeal)).not.toHaveProperty('deprecated');
  });

  it.each([
    ['2026-11-01', '2027-10-31'],
    ['2024-02-29', '2025-02-28'],
  ])('since %s does not end on %s, before twelve months have passed', (since, sunset) => {
    expect(() => ending(since, sunset)).toThrow(
      `getDeal: deprecated.sunset must be twelve months after since, ${since}`,
    );
  });

  it.each(['2027-02-30', '2027-11', 'next year'])('does not end on %s, which is no day', (sunset) => {
    expect(() => ending('2025-11-01', sunset)).toThrow();
  });
});
