import { operations } from '@customer-platform/contracts';
import { ErrorEnvelope, type Operation } from '@customer-platform/contracts/core';
import { type Platform, type RawResponse, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { integersOf } from './integers-of.ts';
import { nextMonday, Seed } from './seed.ts';

/** Integers at the limits of columns, cursors and sums, for every integer input: 404 or 400, never 500. */
const large = '2147483647 2147483648 999999999999999 9007199254740991 9007199254740992 9223372036854775808'.split(' ');
const modules = ['cdp', 'calendar', 'crm', 'catalogue'] as const;

let platform: Platform;
let account: TestAccount;
let seed: Seed;

beforeAll(async () => {
  platform = await startPlatform({ services: [...modules] });
  account = await platform.account({ timezone: 'UTC' });
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, { name: 'Ada', email: 'ada@example.com' });
  seed = new Seed(account, platform.clock.now());
}, 60_000);
afterAll(() => platform?.stop());

const served: readonly Operation[] = operations.filter(({ service }) => modules.some((name) => name === service));

function expectRefused(response: RawResponse, statuses: number[]): void {
  expect(statuses).toContain(response.status);
  if (response.status >= 300) ErrorEnvelope.parse(response.body);
}

const inPaths = served.flatMap((operation) =>
  integersOf(operation.params).map((name) => [operation.key, name, operation] as const),
);
it.each(inPaths)('%s responds 404 for a large %s in its path', async (_key, name, { method, path }) => {
  for (const value of large) {
    const target = await seed.path(path.replace(`{${name}}`, value));
    expectRefused(await account.request(method, target, method === 'GET' ? {} : { body: {} }), [404]);
  }
});

const inQueries = served.flatMap((operation) =>
  integersOf(operation.query).map((name) => [operation.key, name, operation] as const),
);
it.each(inQueries)('%s responds 400 for a large %s in its query', async (_key, name, { method, path }) => {
  const others =
    path.includes('free-times') && name !== 'booking_type' ? `booking_type=${await seed.id('booking_type_id')}&` : '';
  const startsAt = path.endsWith('/explain') ? `starts_at=${nextMonday(platform.clock.now()).toISOString()}&` : '';
  for (const value of large) {
    const target = `${await seed.path(path)}?${others}${startsAt}${name}=${value}`;
    const response = await account.request(method, target);
    // An id that the account does not have is 404 if the query names the requested resource.
    expectRefused(response, [400, 404]);
    if (response.status === 400) expect(response.body.error.field).toBe(name);
  }
});

describe('a body with a large integer', () => {
  const contact = () => seed.id('contact_id');
  const starts_at = nextMonday(new Date()).toISOString();
  const rules = (condition: object) => ({ name: 'Large', rules: { match: 'all', conditions: [condition] } });
  const event = { type: 'event', op: 'did', name: 'x' };
  const reminder = (minutes_before: number) => ({ reminders: [{ minutes_before, channel: 'sms' }] });
  const orderOf = async (item: object) => {
    const items = Array(100).fill({ sku: 'any', name: 'Large', quantity: 2, unit_price_minor: 1, ...item });
    return { contact: await contact(), items };
  };
  const bodies: [string, string, (value: number) => object | Promise<object>][] = [
    ['POST', '/v1/catalogue/products', (value) => ({ sku: `s${value}`, name: 'Large', price_minor: value })],
    ['PATCH', '/v1/catalogue/products/{product_id}', (value) => ({ price_minor: value })],
    ['POST', '/v1/catalogue/orders', (quantity) => orderOf({ quantity })],
    ['POST', '/v1/catalogue/orders', (unit_price_minor) => orderOf({ unit_price_minor })],
    ['POST', '/v1/crm/deals', (value) => ({ title: 'Large', value_minor: value })],
    ['POST', '/v1/crm/deals', (value) => ({ title: 'Large', pipeline: value })],
    ['POST', '/v1/crm/deals', (value) => ({ title: 'Large', stage: value })],
    ['PATCH', '/v1/crm/deals/{deal_id}', (value) => ({ value_minor: value })],
    ['POST', '/v1/crm/deals/{deal_id}/move', (value) => ({ stage: value })],
    ['PATCH', '/v1/crm/pipelines/{pipeline_id}', (value) => ({ stages: [{ id: value, name: 'Large' }] })],
    [
      'POST',
      '/v1/calendar/appointments',
      async (type) => ({ contact: await contact(), booking_type: type, starts_at }),
    ],
    ...['duration_minutes', 'prep_minutes', 'slot_interval_minutes', 'min_notice_minutes', 'window_days'].map(
      (name): (typeof bodies)[number] => [
        'POST',
        '/v1/calendar/booking-types',
        (value) => ({ name: 'Large', duration_minutes: 30, [name]: value }),
      ],
    ),
    ['POST', '/v1/calendar/booking-types', (value) => ({ name: 'Large', duration_minutes: 30, ...reminder(value) })],
    ['PATCH', '/v1/calendar/settings', reminder],
    ['POST', '/v1/cdp/audiences', (value) => rules({ ...event, days: value })],
    ['POST', '/v1/cdp/audiences', (value) => rules({ ...event, days: 1, at_least: value })],
    ['POST', '/v1/cdp/audiences/preview', (value) => rules({ type: 'field', name: 'age', op: 'gt', value })],
    ['POST', '/v1/cdp/contacts', (value) => ({ fields: { age: value } })],
  ];
  it.each(bodies)('%s %s is accepted or rejected with 400', async (method, path, bodyOf) => {
    const target = await seed.path(path);
    for (const value of large) {
      const response = await account.request(method, target, { body: await bodyOf(Number(value)) });
      expectRefused(response, [200, 201, 400]);
    }
  });
});
