import { readFileSync } from 'node:fs';
import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';
import { keepChanged, refusal, takeChanged } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const composed = 'Zoë Ångström';
const decomposed = composed.normalize('NFD');
const ids = async (query: object) => (await account.client.cdp.contacts.list({ query })).data.map(({ id }) => id);

describe('a string', () => {
  it('is found by its other form in q, tags, external ids and emails', async () => {
    const body = {
      name: decomposed,
      external_id: decomposed,
      tags: [decomposed, composed],
      email: `${decomposed[0]}oë@exämple.com`,
    };
    const made = await account.client.cdp.contacts.create({ body });
    expect(made).toMatchObject({ name: composed, external_id: composed, tags: [composed], email: 'zoë@exämple.com' });
    for (const form of [composed, decomposed])
      for (const query of [{ q: form.slice(0, 5) }, { tag: form }, { external_id: form }])
        expect([query, await ids(query)]).toEqual([query, [made.id]]);
    for (const email of ['zoë@exämple.com', 'Zoë@exämple.com'.normalize('NFD')])
      expect(await ids({ email })).toEqual([made.id]);
    const params = { external_id: decomposed };
    expect(
      (await account.client.cdp.contacts.upsertByExternalId({ params, body: { fields: { [decomposed]: 1 } } })).id,
    ).toBe(made.id);
    const contacts = [
      { external_id: composed, fields: { [composed]: 1 } },
      { email: 'ZOË@exämple.com'.normalize('NFD') },
    ];
    const { data } = await account.client.cdp.contacts.batch({ body: { contacts } });
    expect(data).toMatchObject([
      { id: made.id, outcome: 'unchanged' },
      { id: made.id, outcome: 'unchanged' },
    ]);
  });

  it('matches rules in its other form, and counts as one audience name', async () => {
    const audiences = audiencesOf(platform, account);
    const one = await audiences.contact({ name: composed, tags: [decomposed], fields: { [decomposed]: composed } });
    const conditions = [
      ...tagged(composed).conditions,
      { type: 'field', op: 'is', name: 'name', value: decomposed },
      { type: 'field', op: 'contains', name: composed, value: decomposed.slice(0, 4) },
    ] as const;
    const { id } = await audiences.create({ match: 'all', conditions: [...conditions] }, decomposed);
    await audiences.holds(id, [one]);
    const again = account.client.cdp.audiences.create({ body: { name: composed, rules: tagged('a') } });
    await expect(again).rejects.toMatchObject(refusal(400, 'name'));
  });
});

describe('the migration of strings', () => {
  const migration = readFileSync(new URL('../../migrations/0021_composed_texts.sql', import.meta.url), 'utf8');
  const migrate = () => sql.unsafe(migration);

  it('composes existing contacts, which are then found, and queues them for audiences', async () => {
    const audiences = audiencesOf(platform, account);
    const made = await account.client.cdp.contacts.create({ body: { name: 'Old', tags: ['x'], fields: { a: 1 } } });
    const same = await account.client.cdp.contacts.create({ body: { name: composed, tags: [composed] } });
    const { id } = await audiences.create(tagged(composed));
    await audiences.holds(id, [same.id]);
    await sql`
      update contacts set name = ${decomposed}, external_id = ${decomposed}, email = ${`${decomposed.toLowerCase().replace(' ', '.')}@example.com`},
        tags = ${['b', decomposed, composed]}::text[], fields = ${sql.json({ [decomposed]: decomposed, n: 1.5, t: true, 'e\u0301': 'x\\"\n' })}
      where account_id = ${account.id} and id = ${made.id}`;
    await takeChanged(sql, account.id);
    await migrate();
    expect(await account.client.cdp.contacts.get({ params: { contact_id: made.id } })).toEqual({
      ...made,
      name: composed,
      external_id: composed,
      email: 'zoë.ångström@example.com',
      tags: ['b', composed],
      fields: { [composed]: composed, n: 1.5, t: true, é: 'x\\"\n' },
    });
    expect(await takeChanged(sql, account.id)).toEqual([made.id]);
    for (const query of [{ q: 'ångs' }, { external_id: composed }, { email: 'zoë.ångström@example.com' }])
      expect(await ids(query)).toContain(made.id);
    await audiences.holds(id, [made.id, same.id]);
  });

  it('skips fields whose JSON it would break, and composes the rest of the contact', async () => {
    const made = await account.client.cdp.contacts.create({ body: { name: 'Old' } });
    const fields = { a: `e\u0301\n\u0303` };
    await sql`update contacts set name = ${decomposed}, fields = ${sql.json(fields)} where account_id = ${account.id} and id = ${made.id}`;
    await migrate();
    expect(await account.client.cdp.contacts.get({ params: { contact_id: made.id } })).toMatchObject({
      name: composed,
      fields,
    });
  });

  it('composes rules, event names and audience names, except names that would collide', async () => {
    const audiences = audiencesOf(platform, account);
    const one = await audiences.contact({ name: 'One' });
    const event = 'café.visited';
    await account.client.cdp.events.record({ body: { events: [{ contact: one, name: event }] } });
    const visited = await audiences.create({
      match: 'all',
      conditions: [{ type: 'event', op: 'did', name: event, days: null }],
    });
    const [first, second] = [await audiences.create(tagged('x'), 'é'), await audiences.create(tagged('x'), 'e')];
    await sql`
      update audiences set name = normalize(name, nfd), rules = normalize(rules::text, nfd)::jsonb,
        event_names = array(select normalize(asked, nfd) from unnest(event_names) as asked)
      where account_id = ${account.id} and id = ${visited.id}`;
    await sql`update audiences set name = ${'é'.normalize('NFD')} where account_id = ${account.id} and id = ${second.id}`;
    await sql`update contact_events set name = normalize(name, nfd) where account_id = ${account.id}`;
    await migrate();
    await audiences.holds(visited.id, [one]);
    expect((await audiences.get(visited.id)).rules).toEqual(visited.rules);
    expect((await audiences.get(first.id)).name).toBe('é');
    expect((await audiences.get(second.id)).name).toBe('é'.normalize('NFD'));
    const due = await sql`select from audiences where account_id = ${account.id} and id = ${first.id} and version > 1`;
    expect(due).toHaveLength(0);
  });
});
