import { type Client, createClient } from '@customer-platform/client';
import type { ProcessPlatform } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { connect, startPlatform } from './harness.ts';
import { inTurn } from './in-turn.ts';
import { closedLoop, requestBytes, several } from './load.ts';
import { copyContacts, dealPlacesOf, fillTables, insertContacts, insertDeals, insertOrders } from './many-rows.ts';

const many = 1_000_000;
const few = 10_000;
const limit = 50;
const calls = 200;
/** Warm-up calls of each list, not counted: connections are opened and query plans settle. */
const warming = 10;
const deepPage = 10_000;
const deepRounds = 5;
const deepCalls = 40;

interface Account {
  id: string;
  key: string;
  client: Client;
}

/** Request of a list, and the number of rows that its first page must have for a valid measurement. */
interface List {
  what: string;
  path: string;
  rows: number;
  account: Account;
  /** True if it is shown without a target. */
  isTold?: boolean;
}

export const listsBench: Bench = {
  name: 'lists',
  summary: `pages of ${limit} of ${many} contacts, deals and orders of one account, beside another with ${few} of each`,
  async measure() {
    const platform = await startPlatform();
    const sql = connect(platform);
    const account = async () => {
      const { id, key } = await platform.account();
      return { id, key, client: createClient({ baseUrl: platform.gatewayUrl, apiKey: key }) };
    };
    const [large, small] = [await account(), await account()];
    const began = performance.now();
    await fill(sql, [large, small]);
    const seconds = (performance.now() - began) / 1_000;
    const lists = await listsOf(sql, large, small);
    return [
      ...(await firstPages(platform, lists)),
      ...(await deepPages(platform, sql, large)),
      told('making these rows', seconds, 's'),
    ];
  },
};

/** Inserts contacts, their copies, deals and orders of both accounts. */
async function fill(sql: postgres.Sql, [large, small]: readonly [Account, Account]): Promise<void> {
  const of = async ({ id, client }: Account, count: number) => ({ id, count, places: await dealPlacesOf(client) });
  const filled = [await of(large, many), await of(small, few)];
  await fillTables(sql, ['cdp.contacts'], async (tx) => {
    for (const { id, count } of filled) await insertContacts(tx, id, count);
  });
  await fillTables(sql, ['crm.contacts', 'catalogue.contacts'], async (tx) => {
    for (const { id } of filled)
      for (const service of ['crm', 'catalogue'] as const) await copyContacts(tx, service, id);
  });
  await fillTables(sql, ['crm.deals'], async (tx) => {
    for (const { id, count, places } of filled) await insertDeals(tx, id, count, places);
  });
  await fillTables(sql, ['catalogue.orders', 'catalogue.order_lines'], async (tx) => {
    for (const { id, count } of filled) await insertOrders(tx, id, count);
  });
}

async function listsOf(sql: postgres.Sql, large: Account, small: Account): Promise<List[]> {
  const { pipeline, stages } = await dealPlacesOf(large.client);
  const [firstStage, , lastStage] = stages;
  const [busy, usual] = await sql<{ id: string }[]>`
    select id from cdp.contacts where account_id = ${large.id} and number in (1, 4711) order by number`;
  const of =
    (path: string, account: Account) =>
    (what: string, query: string, rows = limit, isTold = false) => ({
      what: `${path.split('/').at(-1)}${account === small ? ' of the small account' : ''}${what && `, ${what}`}`,
      path: `${path}?limit=${limit}${query}`,
      rows,
      account,
      isTold,
    });
  const [contacts, deals, orders] = ['/v1/cdp/contacts', '/v1/crm/deals', '/v1/catalogue/orders'].map((path) =>
    of(path, large),
  ) as [ReturnType<typeof of>, ReturnType<typeof of>, ReturnType<typeof of>];
  const ofSmall = of('/v1/cdp/contacts', small);
  return [
    contacts('', ''),
    contacts('a tag of 500,000', '&tag=newsletter'),
    contacts('a tag of 10', '&tag=board', 10),
    contacts('q in 50,000', '&q=maria'),
    contacts('q in 4', '&q=zebulon', 4),
    contacts('q in one: the end of a phone', '&q=0765432', 1),
    contacts('q in one: an external id', '&q=customer-765432', 1),
    contacts('q in none', '&q=xyzzy', 0),
    contacts('q of two letters in 150,000', '&q=br', limit),
    contacts('q of two letters in none', '&q=xq', 0, true),
    contacts('phone', `&phone=${encodeURIComponent('+493010765432')}`, 1),
    contacts('email', '&email=person765432@company76.example', 1),
    contacts('external_id', '&external_id=customer-765432', 1),
    ofSmall('', ''),
    ofSmall('q in 10,000 of the other, none of its own', '&q=company77', 0),
    deals('', ''),
    deals('status', '&status=won'),
    deals('pipeline', `&pipeline=${pipeline}`),
    deals('stage of 500,000', `&stage=${firstStage}`),
    deals('stage of 10', `&stage=${lastStage}`, 10),
    deals('stage and status in none', `&stage=${lastStage}&status=lost`, 0),
    deals('contact with 10,000', `&contact=${busy!.id}`),
    deals('contact with 10', `&contact=${usual!.id}`, 10),
    orders('', ''),
    orders('status of 500,000', '&status=fulfilled'),
    orders('status of 10', '&status=cancelled', 10),
    orders('source of 333,000', '&source=api'),
    orders('source of 10', '&source=agent', 10),
    orders('status and source in none', '&status=cancelled&source=agent', 0),
    orders('contact with 10,000', `&contact=${busy!.id}`),
    orders('contact with 10', `&contact=${usual!.id}`, 10),
  ];
}

const requestFor = (url: string, { path, account }: Pick<List, 'path' | 'account'>) =>
  requestBytes(url, `GET ${path}`, { authorization: `Bearer ${account.key}` });

/** Measures all lists in turn. */
async function firstPages({ gatewayUrl: url }: ProcessPlatform, lists: List[]): Promise<Figure[]> {
  const kinds = lists.map((list) => {
    const request = requestFor(url, list);
    return { what: list.what, rows: list.rows, request: () => request };
  });
  const latencies = await inTurn(url, kinds, { warming, counted: calls });
  return lists.map(({ what, isTold }, index) => {
    const p99 = percentile(latencies[index]!, 0.99);
    return isTold ? told(`${what}: p99`, p99, 'ms') : atMost(`${what}: p99`, p99, 20, 'ms');
  });
}

/** Compares page 10,000 with page 1, in alternating calls: the median of the rounds' ratios of their p50s. */
async function deepPages(platform: ProcessPlatform, sql: postgres.Sql, account: Account): Promise<Figure[]> {
  const url = platform.gatewayUrl;
  const figures: Figure[] = [];
  for (const [table, path] of [
    ['cdp.contacts', '/v1/cdp/contacts'],
    ['crm.deals', '/v1/crm/deals'],
    ['catalogue.orders', '/v1/catalogue/orders'],
  ] as const) {
    const offset = (deepPage - 1) * limit - 1;
    const [row] = await sql<{ id: string }[]>`
      select id from ${sql(table)} where account_id = ${account.id} order by id desc offset ${offset} limit 1`;
    const requests = ['', `&starting_after=${row!.id}`].map((after) =>
      requestFor(url, { path: `${path}?limit=${limit}${after}`, account }),
    );
    const first: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round <= deepRounds; round++) {
      let sent = 0;
      const next = several(deepCalls * 2, () => requests[sent++ % 2]!);
      const { latenciesMs } = await closedLoop({ url, connections: 1, next, expected: 200 });
      if (round === 0) continue; // warms up
      const p50 = (which: 0 | 1) => median(latenciesMs.filter((_, index) => index % 2 === which));
      first.push(p50(0));
      ratios.push(p50(1) / p50(0));
    }
    const what = path.split('/').at(-1);
    figures.push(
      atMost(`${what}: p50 of page ${deepPage.toLocaleString('en-GB')} ÷ page 1`, median(ratios), 1.5),
      told(`${what}: p50 of page 1`, median(first), 'ms'),
    );
  }
  return figures;
}
