import { describe, expect, it } from '@jest/globals';
import { getDeal, listDeals } from './crm/operations.ts';
import { operations } from './index.ts';
import { describeOperation, openApiDocument } from './openapi.ts';

describe('a deprecated operation', () => {
  const ending = (since: string, sunset: string) =>
    describeOperation({ ...getDeal, deprecated: { since, sunset, instead: listDeals } });

  it('is deprecated in the document, with its dates, its successor and response headers', () => {
    const described = ending('2026-11-01', '2027-11-01');
    expect(described).toMatchObject({
      operationId: 'getDeal',
      deprecated: true,
      'x-deprecated-since': '2026-11-01',
      'x-sunset': '2027-11-01',
      'x-successor': 'listDeals',
      description: expect.stringContaining(
        'Deprecated since 2026-11-01; may be removed from 2027-11-01 on. Use `listDeals` instead.',
      ),
    });
    const { headers } = described.responses!['200'] as { headers: object };
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(['Request-Id', 'Deprecation', 'Sunset', 'Link']));
    expect(describeOperation(getDeal)).not.toHaveProperty('deprecated');
  });

  it.each([
    ['2026-11-01', '2027-10-31'],
    ['2024-02-29', '2025-02-28'],
  ])('deprecated since %s cannot end on %s, within twelve months', (since, sunset) => {
    expect(() => ending(since, sunset)).toThrow(
      `getDeal: deprecated.sunset must be at least twelve months after since (${since})`,
    );
  });

  it.each(['2027-02-30', '2027-11', 'next year'])('cannot end on %s, which is no date', (sunset) => {
    expect(() => ending('2025-11-01', sunset)).toThrow();
  });
});

describe('the document', () => {
  const document = openApiDocument();
  const undescribed: string[] = [];
  let seen = 0;

  /** Returns whether a schema or parameter has a description, either its own or from a component; null needs none. */
  function isDescribed(value: unknown): boolean {
    const { description, $ref, anyOf, allOf } = value as Record<string, unknown>;
    if (typeof description === 'string' && description !== '') return true;
    if (typeof $ref === 'string') return isDescribed(componentAt($ref));
    return [anyOf, allOf].some((options) => Array.isArray(options) && options.some(isDescribed));
  }

  function componentAt(ref: string): unknown {
    const [, , kind, name] = ref.split('/') as ['#', 'components', 'schemas' | 'parameters', string];
    return document.components![kind]![name];
  }

  /** `isMap` says that the keys of the value are property names, which can be `properties` or `default`. */
  function visit(value: unknown, path: string, isMap = false): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, entry] of Object.entries(value)) {
      if (!isMap && (key === 'example' || key === 'examples' || key === 'default')) continue;
      const at = `${path}/${key}`;
      const isProperties = key === 'properties' && !isMap;
      const entries =
        isProperties || (key === 'parameters' && Array.isArray(entry)) ? Object.entries(entry as object) : [];
      for (const [name, described] of entries) {
        seen++;
        if (!isDescribed(described)) undescribed.push(`${at}/${(described as { name?: string }).name ?? name}`);
      }
      visit(entry, at, isProperties);
    }
  }

  it('describes each property and each parameter', () => {
    visit(document, '');
    expect(seen).toBeGreaterThan(1_000);
    expect(undescribed).toEqual([]);
  });
});

describe('the reference', () => {
  const { paths, tags } = openApiDocument() as unknown as {
    paths: Record<string, Record<string, { tags: string[]; 'x-client-name': string }>>;
    tags: { name: string }[];
  };
  const listed = Object.values(paths).flatMap((methods) => Object.values(methods));

  it('has a client name of its own for each operation', () => {
    const names = listed.map((each) => each['x-client-name']);
    expect(new Set(names).size).toBe(operations.length);
    for (const name of names) expect(name).toMatch(/^[a-z]\w*(\.[a-z]\w*)+$/);
  });

  it('lists the most used operation first in each group', () => {
    const first = tags.map(({ name }) => listed.find((each) => each.tags[0] === name)!['x-client-name']);
    expect(first).toEqual([
      'me.get',
      'cdp.contacts.create',
      'calendar.appointments.create',
      'agents.create',
      'messages.send',
      'catalogue.orders.create',
      'crm.deals.create',
      'webhooks.create',
      'events.list',
      'members.add',
      'keys.create',
      'sandbox.clock.advance',
    ]);
  });
});
