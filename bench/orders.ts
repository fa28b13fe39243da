import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type Bench, exactly, type Figure, median, told } from './figures.ts';
import { closedLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';

const rounds = 5;
const rivals = 50;

export const ordersBench: Bench = {
  name: 'orders',
  summary: `${rivals} orders at the same moment, and one order declined by ${rivals}`,
  async measure() {
    const platform = await startPlatform();
    const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
    try {
      const taken = [];
      for (let round = 0; round < rounds; round++) taken.push(await rush(platform, sql));
      return figuresOf(taken);
    } finally {
      await sql.end();
      await platform.stop();
    }
  },
};

/** Result of one account's rush, in words that are equal for equal outcomes. */
interface Rush {
  numbers: string;
  orderMs: number;
  declines: string;
  declineMs: number;
}

/** Runs a rush in a new account, whose order numbers begin at 1. */
async function rush(platform: ProcessPlatform, sql: postgres.Sql): Promise<Rush> {
  const { key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const { id: contact } = await client.createContact({ body: { name: 'Ada Lovelace', phone: '+4930901820' } });
  await client.createProduct({ body: { sku: 'TEA-100', name: 'Tea, 100 g', price_minor: 890 } });
  const items = [{ sku: 'TEA-100', quantity: 2 }];
  const atOnce = (path: string, body: unknown) => sendAtOnce(platform.gatewayUrl, key, path, JSON.stringify(body));
  // The catalogue's copy of a contact comes from events: the rush must not measure a request for a missing one.
  await waitFor(
    'the copy of the contact',
    async () => (await sql`select 1 from catalogue.contacts where id = ${contact}`).length === 1,
  );
  const ordered = await atOnce('/v1/catalogue/orders', { contact, items });
  if (ordered.some(({ status }) => status !== 201))
    throw new Error(`not all orders were made: ${JSON.stringify(ordered)}`);
  const numbers = ordered.map(({ body }) => body.number as number).sort((a, b) => a - b);
  const orderId = ordered[0]!.body.id as string;
  const declined = await atOnce(`/v1/catalogue/orders/${orderId}/decline`, { reason: 'Sold out' });
  const last = await client.createOrder({ body: { contact, items } });
  await waitFor(
    'all events to be carried to the bus',
    async () => (await sql`select 1 from catalogue.outbox`).length === 0,
  );
  await waitFor('the event of the last order', async () => {
    const { data } = await client.listEvents({ query: { type: 'order.created', limit: 1 } });
    return JSON.stringify(data).includes(last.id);
  });
  const { data: events } = await client.listEvents({ query: { type: 'order.declined' } });
  return {
    numbers: isCountedUp(numbers) ? counted : numbers.join(', '),
    orderMs: slowest(ordered),
    declines: `${declined.filter(({ status }) => status === 200).length} × 200, ${events.length} × order.declined`,
    declineMs: slowest(declined),
  };
}

const counted = `1 to ${rivals}, each once`;
const isCountedUp = (numbers: number[]) =>
  numbers.length === rivals && numbers.every((number, index) => number === index + 1);

interface Outcome {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the response was
  body: any;
  ms: number;
}

const slowest = (outcomes: Outcome[]) => Math.max(...outcomes.map(({ ms }) => ms));

/** Sends the same request on one connection per rival, all open before the first is sent. */
async function sendAtOnce(url: string, key: string, path: string, body: string): Promise<Outcome[]> {
  const request = requestBytes(url, `POST ${path}`, { authorization: `Bearer ${key}` }, body);
  const outcomes: Outcome[] = [];
  let left = rivals;
  await closedLoop({
    url,
    connections: rivals,
    next: () => (left-- > 0 ? request : undefined),
    onResponse: ({ status, body: response, ms }) =>
      outcomes.push({ status, body: JSON.parse(response.toString()), ms }),
  });
  return outcomes;
}

function figuresOf(taken: Rush[]): Figure[] {
  const outcomesOf = (shown: (one: Rush) => string) => [...new Set(taken.map(shown))].join('; ');
  return [
    exactly(
      `numbers of ${rivals} orders at once`,
      outcomesOf(({ numbers }) => numbers),
      counted,
    ),
    told('the last of them responded to', median(taken.map(({ orderMs }) => orderMs)), 'ms'),
    exactly(
      `${rivals} declines of one order at once`,
      outcomesOf(({ declines }) => declines),
      `${rivals} × 200, 1 × order.declined`,
    ),
    told('the last of them responded to', median(taken.map(({ declineMs }) => declineMs)), 'ms'),
  ];
}
