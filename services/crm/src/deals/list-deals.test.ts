import { randomUUID } from 'node:crypto';
import { eachOf } from '@customer-platform/client';
import type { Deal } from '@customer-platform/contracts/crm';
import { inTransaction } from '@customer-platform/service-kit';
import { rowsRead, startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openSales } from '../../test/crm.ts';
import { selectOpenDeal } from './deals.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
afterAll(() => platform.stop());

/** Newest first. */
const deals: Deal[] = [];
const sales = await openSales(platform);
const { client } = sales.account;
const stages = [{ name: 'Call' }, { name: 'Visit' }];
const other = (await client.crm.pipelines.create({ body: { name: 'Other', stages } })).stages.map(({ id }) => id);
const contacts: string[] = [];
for (const name of ['Ada', 'Bob']) contacts.push((await client.cdp.contacts.create({ body: { name } })).id);
for (let index = 0; index < 24; index++) {
  const stage = [...sales.stages.slice(0, 2), ...other][index % 4];
  const contact = [undefined, ...contacts][index % 3];
  const { id } = await sales.deal({ title: `Deal ${index}`, stage, ...(contact ? { contact } : {}) });
  const action = [undefined, 'win', 'lose', undefined, undefined][index % 5];
  if (action) await sales.change(id, action);
  deals.unshift(await sales.get(id));
}

const list = (query: Record<string, string | number>) =>
  sales.account.request('GET', `/v1/crm/deals?${new URLSearchParams(query as Record<string, string>)}`);

describe('the list of deals', () => {
  it('is newest first', async () => {
    expect((await list({})).body).toEqual({ data: deals, has_more: false, next: null });
  });

  it("finds a contact's newest open deal in the given pipelines without reading closed deals", async () => {
    const sql = platform.database('crm');
    const { account, pipeline, stages } = await openSales(platform);
    const contact = randomUUID();
    const insert = async (status: string, from: number, count: number) => {
      await sql`
        insert into deals (account_id, number, title, pipeline_id, stage_id, status, value_minor, currency, contact_id, notes,
          stage_entered_at, closed_at, created_at, updated_at)
        select ${account.id}, ${from}::int + n, ${status}, ${pipeline.id}, ${stages[0]!}, ${status}, 0, 'EUR', ${contact}, '', now(),
          case when ${status} <> 'open' then now() end, now(), now()
        from generate_series(1, ${count}::int) as n`;
    };
    await insert('open', 100, 2);
    await insert('lost', 1_000, 10_000);
    await sql.unsafe('analyze deals');
    await inTransaction(sql, async (tx) => {
      const before = await rowsRead(tx, 'deals');
      const found = await selectOpenDeal(tx, account.id, contact, [
        pipeline.id,
        pipeline.id,
        1,
        ...Array.from({ length: 997 }, (_, index) => 1_000_000 + index),
      ]);
      expect(found).toMatchObject({ title: 'open', own_contact_id: contact });
      expect(await selectOpenDeal(tx, account.id, contact, [])).toBeUndefined();
      expect((await rowsRead(tx, 'deals')) - before).toBeLessThan(50);
    });
  });

  it('is filtered by pipeline, stage, status and contact, alone and together', async () => {
    const choices = {
      pipeline: [sales.pipeline.id, deals.find(({ stage }) => other.includes(stage.id))!.pipeline.id],
      stage: [...sales.stages, ...other],
      status: ['open', 'won', 'lost'],
      contact: contacts,
    };
    const queries = Object.entries(choices).reduce<Record<string, string | number>[]>(
      (all, [name, values]) => all.flatMap((query) => [query, ...values.map((value) => ({ ...query, [name]: value }))]),
      [{}],
    );
    let found = 0;
    for (const query of queries) {
      const expected = deals.filter(
        (deal) =>
          (query.pipeline === undefined || deal.pipeline.id === query.pipeline) &&
          (query.stage === undefined || deal.stage.id === query.stage) &&
          (query.status === undefined || deal.status === query.status) &&
          (query.contact === undefined || deal.contact?.id === query.contact),
      );
      expect([query, (await list(query)).body.data]).toEqual([query, expected]);
      if (expected.length > 0) found++;
    }
    expect(found).toBeGreaterThan(60);
  });

  it('refuses filter ids that are not of this account, and invalid values', async () => {
    const stranger = await openSales(platform);
    const foreign = await stranger.deal();
    const wrong: Record<string, string | number>[] = [
      { pipeline: 999_999_999 },
      { pipeline: stranger.pipeline.id },
      { pipeline: 'Sales' },
      { stage: 999_999_999 },
      { stage: stranger.stages[0]! },
      { stage: 0 },
      { status: 'closed' },
      { contact: crypto.randomUUID() },
      { contact: 'x' },
      { starting_after: foreign.id },
    ];
    for (const query of wrong) {
      const [field] = Object.keys(query);
      expect([query, await list(query)]).toMatchObject([query, invalid(field!)]);
    }
  });

  it('neither repeats nor skips a deal while others are added between pages', async () => {
    const seen: string[] = [];
    const query = { limit: 5, pipeline: sales.pipeline.id };
    for await (const deal of eachOf((page) => sales.account.client.crm.deals.list({ query: { ...query, ...page } }))) {
      if (seen.length % 5 === 0) await sales.deal({ title: 'late' });
      seen.push(deal.id);
    }
    expect(seen).toEqual(deals.filter(({ pipeline }) => pipeline.id === sales.pipeline.id).map(({ id }) => id));
  });
});
