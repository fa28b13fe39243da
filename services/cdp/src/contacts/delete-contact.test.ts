import type { Sql } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { addAudience, during, refusal } from '../../test/cdp.ts';
import { takeReevaluations } from '../audiences/changed-contacts.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'webhooks'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

it('a deleted contact leaves its audiences, which lose one member and emit events', async () => {
  const { id: accountId, client } = await platform.account();
  const { id } = await client.cdp.contacts.create({ body: { name: 'Ada' } });
  const audience = await addAudience(sql, accountId, { members: 3 });
  await sql`insert into audience_members values (${accountId}, ${audience}, ${id}, now())`;
  await client.cdp.contacts.delete({ params: { contact_id: id } });
  const { data } = await platform.event(accountId, 'audience.left');
  expect(data).toMatchObject({ audience: { id: audience }, contact: { id, name: 'Ada', phone: '' } });
  expect(await sql`select members from audiences where account_id = ${accountId}`).toEqual([{ members: 2 }]);
  expect(await sql`select 1 from audience_members where account_id = ${accountId}`).toHaveLength(0);
});

it('a deletion emits a public event with the ids of the contact only', async () => {
  const { client } = await platform.account();
  const body = { name: 'Ada', email: 'ada@example.com', external_id: 'a' };
  const { id, number } = await client.cdp.contacts.create({ body });
  await client.cdp.contacts.delete({ params: { contact_id: id } });
  const event = await waitFor('the event', async () => {
    const { data } = await client.events.list({ query: { type: 'contact.deleted' } });
    return data[0];
  });
  expect(event).toMatchObject({ type: 'contact.deleted', data: { contact: { id, number, external_id: 'a' } } });
  expect(Object.keys((event.data as { contact: object }).contact)).toEqual(['id', 'number', 'external_id']);
});

it('deleting a member of an audience locked by a refresh fails fast with a retryable error', async () => {
  const { id: accountId, client } = await platform.account();
  const params = { contact_id: (await client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
  const audience = await addAudience(sql, accountId, { members: 1 });
  await sql`insert into audience_members values (${accountId}, ${audience}, ${params.contact_id}, now())`;
  await during(
    sql,
    (tx) => tx`select from audiences where id = ${audience} for no key update`,
    async () => {
      await expect(client.cdp.contacts.delete({ params })).rejects.toMatchObject({ status: 503, retryAfter: 1 });
    },
  );
  await client.cdp.contacts.delete({ params });
  await expect(client.cdp.contacts.get({ params })).rejects.toMatchObject(refusal(404));
});

it('a contact can be deleted while a refresh re-evaluates it', async () => {
  const { id: accountId, client } = await platform.account();
  const params = { contact_id: (await client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
  const audience = await addAudience(sql, accountId);
  await sql`insert into audience_flips values (${accountId}, ${audience}, ${params.contact_id}, '2126-01-01T00:00:00Z')`;
  const take = (tx: Sql) => takeReevaluations(tx, accountId, new Date('2126-01-02T00:00:00Z'), 10);
  await during(sql, take, async () => await client.cdp.contacts.delete({ params }));
  await expect(client.cdp.contacts.get({ params })).rejects.toMatchObject(refusal(404));
});

it('concurrent events, consents and deletions leave nothing under a deleted id', async () => {
  const { id: accountId, client } = await platform.account();
  const people = await Promise.all(
    Array.from({ length: 8 }, () => client.cdp.contacts.create({ body: { external_id: 'x' } })),
  );
  const races = people.flatMap(({ id }) => {
    const params = { contact_id: id };
    const events = people.map((person) => ({ contact: person.id, name: 'raced' }));
    return [
      client.cdp.events.record({ body: { events } }),
      client.cdp.contacts.consents
        .record({ params, body: { channel: 'sms', purpose: 'news', state: 'granted' } })
        .catch((error) => {
          expect(error).toMatchObject(refusal(404));
        }),
      client.cdp.contacts.delete({ params }),
    ];
  });
  await Promise.all<unknown>(races);
  const left = await sql`
    select contact_id from contact_events where account_id = ${accountId} and name = 'raced'
    union all select contact_id from consents where account_id = ${accountId}
    union all select contact_id from consent_states where account_id = ${accountId}`;
  expect(left).toEqual([]);
  expect((await client.cdp.contacts.list({})).data).toEqual([]);
});

it('a contact with more rows than one request deletes is deleted at once, and its rows soon after', async () => {
  const { id: accountId, client } = await platform.account();
  const [kept, gone] = [
    await client.cdp.contacts.create({ body: { name: 'Ada' } }),
    await client.cdp.contacts.create({ body: { name: 'Ada' } }),
  ];
  const count = 25_000;
  await sql`
    insert into contact_events (account_id, id, contact_id, name, at, properties)
    select ${accountId}, 'e' || n, case when n = 1 then ${kept.id}::uuid else ${gone.id} end, 'x', now(), '{}' from generate_series(1, ${count}::int) as n`;
  await sql`
    insert into consents (account_id, contact_id, channel, purpose, state, source, at, created_at)
    select ${accountId}, ${gone.id}, 'sms', 'news', 'granted', 'api', now(), now() from generate_series(1, ${count}::int)`;
  await sql`
    insert into duplicates (account_id, older_id, newer_id, reason, detail, score, status)
    select ${accountId}, ${gone.id}, made.id, 'name', 'x', 1, 'open'
    from (select uuidv7() as id from generate_series(1, ${count}::int)) as made`;
  await client.cdp.contacts.delete({ params: { contact_id: gone.id } });
  await expect(client.cdp.contacts.get({ params: { contact_id: gone.id } })).rejects.toMatchObject(refusal(404));
  const left = async () =>
    (
      await sql<[{ left: number[] }]>`
        select array[(select count(*) from contact_events where account_id = ${accountId} and name = 'x'), (select count(*) from consents where account_id = ${accountId}),
          (select count(*) from duplicates where account_id = ${accountId}), (select count(*) from deleted_contacts where account_id = ${accountId})]::int[] as left`
    )[0].left;
  await waitFor('the rest to be deleted', async () => (await left()).join() === '1,0,0,0');
});
