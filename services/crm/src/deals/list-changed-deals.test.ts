import { randomUUID } from 'node:crypto';
import type { Deal } from '@customer-platform/contracts/crm';
import { addDealNote, moveDealToStage } from '@customer-platform/contracts/crm';
import { inTransaction } from '@customer-platform/service-kit';
import { busOf, listDuringWrite, rowsRead, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openSales, type Sales } from '../../test/crm.ts';
import { listChangedDeals } from './deals.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
const sql = platform.database('crm');
afterAll(() => platform.stop());

type Query = Record<string, string | number>;
const list = ({ account }: Sales, query: Query) =>
  account.request('GET', `/v1/crm/deals?${new URLSearchParams(query as Record<string, string>)}`);
const titles = async (sales: Sales, query: Query) =>
  (await list(sales, query)).body.data.map(({ title }: Deal) => title);
const byChange = (a: Deal, b: Deal) => (`${a.updated_at} ${a.id}` < `${b.updated_at} ${b.id}` ? -1 : 1);
const long = '2000-01-01T00:00:00Z';

describe('the list of deals by updated_since', () => {
  it('returns changes at that time or later, least recently changed first, each as GET returns it', async () => {
    const sales = await openSales(platform, { timezone: 'Europe/Berlin' });
    const made: Deal[] = [];
    for (const title of ['A', 'B', 'C']) {
      platform.clock.advance(1_000);
      made.push(await sales.deal({ title }));
    }
    platform.clock.advance(1_000);
    const changed = (await sales.patch(made[0]!.id, { notes: 'x' })).body;
    const [, b, c] = made as [Deal, Deal, Deal];
    expect((await list(sales, { updated_since: b.updated_at })).body).toEqual({
      data: [b, c, changed],
      has_more: false,
      next: null,
    });
    const after = new Date(Date.parse(b.updated_at) + 1).toISOString();
    expect(await titles(sales, { updated_since: after })).toEqual(['C', 'A']);
    expect(await titles(sales, { updated_since: new Date(Date.parse(changed.updated_at) + 1).toISOString() })).toEqual(
      [],
    );
    await sales.account.client.crm.deals.delete({ params: { deal_id: c.id } });
    expect(await titles(sales, { updated_since: long })).toEqual(['B', 'A']);
  });

  it('is filtered by pipeline, stage, status and contact, alone and together', async () => {
    const sales = await openSales(platform);
    const { client } = sales.account;
    const other = await client.crm.pipelines.create({
      body: { name: 'Other', stages: [{ name: 'Call' }, { name: 'Visit' }] },
    });
    const contacts = [];
    for (const name of ['Ada', 'Bob']) contacts.push((await client.cdp.contacts.create({ body: { name } })).id);
    const stages = [...sales.stages.slice(0, 2), ...other.stages.map(({ id }) => id)];
    const deals: Deal[] = [];
    for (let index = 0; index < 16; index++) {
      const contact = [undefined, ...contacts][index % 3];
      const { id } = await sales.deal({ stage: stages[index % 4], ...(contact ? { contact } : {}) });
      const action = [undefined, 'win', 'lose', undefined, undefined][index % 5];
      if (action) await sales.change(id, action);
      deals.push(await sales.get(id));
    }
    await sales.patch(deals[0]!.id, { notes: 'last' });
    deals[0] = await sales.get(deals[0]!.id);
    const since = deals[3]!.updated_at;
    const choices = {
      pipeline: [sales.pipeline.id, other.id],
      stage: stages,
      status: ['open', 'won', 'lost'],
      contact: contacts,
    };
    const queries = Object.entries(choices).reduce<Query[]>(
      (all, [name, values]) => all.flatMap((query) => [query, ...values.map((value) => ({ ...query, [name]: value }))]),
      [{ updated_since: since }],
    );
    let found = 0;
    for (const query of queries) {
      const expected = deals.filter(
        (deal) =>
          deal.updated_at >= since &&
          (query.pipeline === undefined || deal.pipeline.id === query.pipeline) &&
          (query.stage === undefined || deal.stage.id === query.stage) &&
          (query.status === undefined || deal.status === query.status) &&
          (query.contact === undefined || deal.contact?.id === query.contact),
      );
      expect([query, (await list(sales, query)).body.data]).toEqual([query, expected.toSorted(byChange)]);
      if (expected.length > 0) found++;
    }
    expect(found).toBeGreaterThan(40);
    expect(await list(sales, { updated_since: since, contact: randomUUID() })).toMatchObject(invalid('contact'));
  });

  it('pages consistently while deals change and are deleted, so that a mirror becomes complete', async () => {
    const sales = await openSales(platform);
    const { client } = sales.account;
    for (let index = 0; index < 9; index++) await sales.deal({ title: `Deal ${index}` });
    const mirror = new Map<string, Deal>();
    let since = long;
    const follow = async (meanwhile: (page: Deal[]) => Promise<unknown>) => {
      for (let next: string | null = ''; next !== null; ) {
        const query: Query = { updated_since: since, limit: 3, ...(next === '' ? {} : { starting_after: next }) };
        const { status, body } = await list(sales, query);
        expect(status).toBe(200);
        expect(body.data.toSorted(byChange)).toEqual(body.data);
        for (const deal of body.data) mirror.set(deal.id, deal);
        since = body.data.at(-1)?.updated_at ?? since;
        await meanwhile(body.data);
        next = body.next;
      }
    };
    const all = (await client.crm.deals.list()).data;
    let round = 0;
    await follow(async (page) => {
      if (round++ > 2) return;
      // Changes the page's last deal, which is the cursor, a deal already listed, and one not yet listed.
      await sales.patch(page.at(-1)!.id, { notes: `${round}` });
      await sales.patch(page[0]!.id, { notes: `${round}` });
      await sales.patch(all[0]!.id, { title: `Changed ${round}` });
      await sales.deal({ title: `New ${round}` });
    });
    await follow(async () => undefined);
    expect([...mirror.values()].toSorted(byChange)).toEqual((await client.crm.deals.list()).data.toSorted(byChange));
    expect(round).toBeGreaterThan(3);
  });

  it('starts a page after a deal of the account, and refuses other ids and invalid positions', async () => {
    const [sales, stranger] = [await openSales(platform), await openSales(platform)];
    const made = [await sales.deal({ title: 'A' }), await sales.deal({ title: 'B' })];
    expect(await titles(sales, { updated_since: long, starting_after: made[0]!.id })).toEqual(['B']);
    const foreign = await stranger.deal();
    for (const cursor of [foreign.id, randomUUID(), '', 'x', `2026-13-01T00:00:00.000000Z_${made[0]!.id}`]) {
      const response = await list(sales, { updated_since: long, starting_after: cursor });
      expect([cursor, response]).toMatchObject([cursor, invalid('starting_after')]);
    }
    for (const time of ['2026-06-01', '2026-06-01T00:00:00', 'yesterday', '']) {
      expect([time, await list(sales, { updated_since: time })]).toMatchObject([time, invalid('updated_since')]);
    }
  });

  it('misses no change that began before it and commits after it', async () => {
    const sales = await openSales(platform);
    const deal = await sales.deal({ title: 'A' });
    const change = () => sales.patch(deal.id, { title: 'B' });
    const { changed, listed } = await listDuringWrite(sql, change, () => list(sales, { updated_since: long }));
    expect([changed.status, listed.body.data]).toEqual([200, [changed.body]]);
  });

  it('is 503 with Retry-After if a change takes longer than a second', async () => {
    const sales = await openSales(platform);
    const deal = await sales.deal();
    const change = await inTransaction(sql, async (tx) => {
      await tx`select from deals where account_id = ${sales.account.id} for update`;
      const patched = sales.patch(deal.id, { title: 'B' });
      await waitFor('the change to begin', async () => {
        const rows = await sql`select from pg_locks where not granted and locktype = 'transactionid'`;
        return rows.length > 0;
      });
      const { status, headers } = await list(sales, { updated_since: long });
      expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]/)]);
      return { patched };
    });
    expect((await change.patched).status).toBe(200);
    expect(await titles(sales, { updated_since: long })).toEqual(['B']);
  });

  it('never places a change before its position, even from a process with a slow clock', async () => {
    const sales = await openSales(platform);
    const bus = await busOf(platform, 'agents');
    const { id: account } = sales.account;
    const { id } = await sales.deal();
    const ask = { deal: id };
    const changes: Record<string, () => Promise<unknown>> = {
      'a new deal': () => sales.deal({ title: 'New' }),
      PATCH: () => sales.patch(id, { notes: 'x' }),
      move: () => sales.change(id, 'move', { stage: sales.stages[1] }),
      win: () => sales.change(id, 'win'),
      reopen: () => sales.change(id, 'reopen'),
      lose: () => sales.change(id, 'lose'),
      'a note of a plan': () => bus.ask(addDealNote, account, { ...ask, key: randomUUID(), body: 'Note' }),
      'a move of a plan': async () => {
        await sales.change(id, 'reopen');
        await bus.ask(moveDealToStage, account, { ...ask, key: randomUUID(), stage: sales.stages[2]! });
      },
    };
    const now = platform.clock.now();
    try {
      for (const [name, change] of Object.entries(changes)) {
        platform.clock.set(now);
        const before = (await list(sales, { updated_since: long })).body.data as Deal[];
        platform.clock.set(new Date(now.getTime() - 3_600_000));
        await change();
        const since = before.at(-1)!.updated_at;
        const after = (await list(sales, { updated_since: since })).body.data as Deal[];
        const [latest] = after.slice(-1);
        expect([name, after.length > 0, before]).toEqual([name, true, expect.not.arrayContaining([latest])]);
        expect([name, await sales.get(latest!.id)]).toEqual([name, latest]);
      }
    } finally {
      platform.clock.set(now);
      await bus.close();
    }
  });

  it('reads no more than its page, however many deals exist', async () => {
    const { account, pipeline, stages } = await openSales(platform);
    await sql`
      insert into deals (account_id, number, title, pipeline_id, stage_id, status, value_minor, currency, notes, stage_entered_at,
        created_at, updated_at)
      select ${account.id}, n, n::text, ${pipeline.id}, ${stages[0]!}, 'open', 0, 'EUR', '', now(), now(), to_timestamp(n)
      from generate_series(1, 10000) as n`;
    await sql.unsafe('analyze deals');
    await inTransaction(sql, async (tx) => {
      const before = await rowsRead(tx, 'deals');
      const page = { since: new Date(0), until: '9999-01-01', limit: 5 };
      const after = { at: new Date(8_000_000).toISOString(), id: 'ffffffff-ffff-7fff-bfff-ffffffffffff' };
      const rows = await listChangedDeals(tx, account.id, {}, { ...page, after });
      expect(rows.map(({ title }) => title)).toEqual(['8001', '8002', '8003', '8004', '8005']);
      expect((await rowsRead(tx, 'deals')) - before).toBeLessThan(50);
    });
  });
});
