import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audiencesOf, tagged, visited } from '../../test/audiences.ts';
import { during, settle } from '../../test/cdp.ts';
import { lockAccount } from '../accounts/claim-account.ts';

const dayMs = 86_400_000;

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
let audiences: ReturnType<typeof audiencesOf>;
beforeEach(async () => {
  account = await platform.account();
  audiences = audiencesOf(platform, account);
});

/** Makes each refresh of this audience fail in its last step, the count of members. Returns a function that ends the failures. */
async function breakRefresh(audienceId: string): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    create function break_refresh() returns trigger language plpgsql as $$
    begin raise exception 'broken by a test'; end $$;
    create trigger break_refresh before update of members on audiences
      for each row when (new.id = '${audienceId}' and new.members > 0) execute function break_refresh()`);
  return () => sql.unsafe('drop function break_refresh cascade');
}

describe('events and consents of contacts', () => {
  it('move them in and out within a few seconds, without a requested refresh', async () => {
    const ada = await audiences.contact({ name: 'Ada' });
    const bo = await audiences.contact({ tags: ['a'] });
    const rules = {
      match: 'any' as const,
      conditions: [
        ...visited(7).conditions,
        ...tagged('a').conditions,
        { type: 'consent' as const, channel: 'sms' as const, purpose: 'marketing' },
      ],
    };
    const { id, refreshed_at } = await audiences.create(rules);
    await audiences.holds(id, [bo]);
    await audiences.visit(ada);
    await audiences.holds(id, [ada, bo]);
    await account.client.cdp.contacts.update({ params: { contact_id: bo }, body: { tags: [] } });
    await audiences.holds(id, [ada]);
    const body = { channel: 'sms' as const, purpose: 'marketing', state: 'granted' as const };
    await account.client.cdp.contacts.consents.record({ params: { contact_id: bo }, body });
    await audiences.holds(id, [ada, bo]);
    expect((await audiences.get(id)).refreshed_at! > refreshed_at!).toBe(true);
    await platform.event(account.id, 'audience.entered', (data) => data.contact.id === ada);
    await platform.event(account.id, 'audience.left', (data) => data.contact.id === bo);
    const counts = () => ['audience.entered', 'audience.left'].map((kind) => audiences.eventsOf(kind, id).length);
    await waitFor('the third event', () => counts()[0]! >= 3);
    expect(counts()).toEqual([3, 1]);
  });

  it('meet did_not with at_least if they are fewer, including none at all', async () => {
    const [none, one, two] = [await audiences.contact(), await audiences.contact(), await audiences.contact()];
    for (const contact of [one, two, two]) await audiences.visit(contact);
    const { id } = await audiences.create({
      match: 'all',
      conditions: [{ type: 'event', op: 'did_not', name: 'visited', days: 7, at_least: 2 }],
    });
    await audiences.holds(id, [none, one]);
    await audiences.visit(one);
    await audiences.holds(id, [none]);
  });

  it('keep entered_at while they stay, and set a new one when they return', async () => {
    const ada = await audiences.contact({ tags: ['a'] });
    const { id } = await audiences.create(tagged('a'));
    const [first] = await audiences.members(id);
    const tags = (value: string[]) =>
      account.client.cdp.contacts.update({ params: { contact_id: ada }, body: { tags: value } });
    const refreshed = (await audiences.get(id)).refreshed_at;
    await tags(['a', 'b']);
    // Wait for a refresh that includes the change, since another may have been running.
    await waitFor('a refresh', async () => {
      const left = await sql`select from changed_contacts where account_id = ${account.id}`;
      return left.length === 0 && (await audiences.get(id)).refreshed_at !== refreshed;
    });
    expect(await audiences.members(id)).toEqual([first]);
    await tags([]);
    await audiences.holds(id, []);
    await tags(['a']);
    await audiences.holds(id, [ada]);
    const [again] = await audiences.members(id);
    expect(again!.entered_at > first!.entered_at).toBe(true);
  });
});

describe('the passage of time', () => {
  it('moves contacts out, or in, when the window ends, to the second', async () => {
    const [early, late] = [await audiences.contact(), await audiences.contact()];
    const start = platform.clock.now().getTime();
    await audiences.visit(early, new Date(start - 6 * dayMs - 3_600_000));
    await audiences.visit(late, new Date(start - 6 * dayMs + 3_600_000));
    const { id: did } = await audiences.create(visited(7), 'did');
    const { id: didNot } = await audiences.create(
      { match: 'all', conditions: [{ type: 'event', op: 'did_not', name: 'visited', days: 7 }] },
      'did not',
    );
    await audiences.holds(did, [early, late]);
    const [reevaluation] = await sql<{ flips_at: Date }[]>`
      select flips_at from audience_flips where audience_id = ${did} and contact_id = ${early}`;
    expect(reevaluation!.flips_at.getTime()).toBe(start - 6 * dayMs - 3_600_000 + 7 * dayMs);
    platform.clock.advance(dayMs - 3_600_000);
    await audiences.holds(did, [late]);
    await audiences.holds(didNot, [early]);
    platform.clock.advance(2 * 3_600_000);
    await audiences.holds(did, []);
    await audiences.holds(didNot, [early, late]);
    const [left] = await sql<{ count: number }[]>`select count(*) from audience_flips where account_id = ${account.id}`;
    expect(left!.count).toBe(0);
  });

  it('ends at_least 2 when the second latest leaves the window', async () => {
    const ada = await audiences.contact();
    const start = platform.clock.now().getTime();
    for (const days of [1, 4, 6]) await audiences.visit(ada, new Date(start - days * dayMs));
    const { id } = await audiences.create(visited(7, 2));
    platform.clock.advance(2 * dayMs);
    const marker = await audiences.contact();
    await audiences.visit(marker);
    await audiences.visit(marker);
    await audiences.holds(id, [ada, marker]);
    platform.clock.advance(dayMs + 1_000);
    await audiences.holds(id, [marker]);
  });
});

describe('a refresh', () => {
  it('requested while one runs is followed by another; new rules meanwhile discard the result', async () => {
    const ada = await audiences.contact({ tags: ['b'] });
    const { id } = await audiences.create(visited(7));
    const params = { audience_id: id };
    await platform.event(account.id, 'audience.ready');
    await settle(sql, account.id, 1);
    await waitFor('its changes', async () => {
      return (await sql`select from changed_contacts where account_id = ${account.id}`).length === 0;
    });
    const isWaiting = () => sql`
      select from pg_stat_activity
      where wait_event_type = 'Lock' and query like 'insert into audience_changes%' and datname = current_database()`;
    const ask = async () => {
      expect(await account.client.cdp.audiences.refresh({ params, body: {} })).toMatchObject({
        id,
        status: 'building',
      });
      await waitFor('the run to start', async () => (await isWaiting()).length > 0);
    };
    await during(
      sql,
      (tx) => tx`lock table contact_events in access exclusive mode`,
      async () => {
        await ask();
        await account.client.cdp.audiences.refresh({ params, body: {} });
      },
    );
    await waitFor('three runs', () => audiences.eventsOf('audience.ready', id).length === 3);
    await during(
      sql,
      (tx) => tx`lock table contact_events in access exclusive mode`,
      async () => {
        await ask();
        await account.client.cdp.audiences.update({ params, body: { rules: tagged('b') } });
      },
    );
    expect(await audiences.ready(id)).toMatchObject({ members: 1, rules: tagged('b') });
    await audiences.holds(id, [ada]);
    await waitFor('a fourth run', () => audiences.eventsOf('audience.ready', id).length === 4);
    expect(audiences.eventsOf('audience.ready', id).map(({ audience }) => [audience.status, audience.members])).toEqual(
      [...Array(3).fill(['ready', 0]), ['ready', 1]],
    );
  });

  it('follows new rules automatically and silently, for changes that began before them', async () => {
    const ada = await audiences.contact();
    const { id } = await audiences.create(visited(7));
    await sql`
      insert into contact_events (account_id, id, contact_id, name, at, properties)
      values (${account.id}, 'unmarked', ${ada}, 'visited', ${platform.clock.now()}, '{}')`;
    platform.clock.advance(20_000);
    await audiences.holds(id, [ada]);
    await platform.event(account.id, 'audience.entered');
    // An audience.ready would be emitted right behind it, before the next events.
    const marker = await audiences.contact();
    await platform.event(account.id, 'contact.created', ({ contact }) => contact.id === marker);
    expect(audiences.eventsOf('audience.ready', id)).toHaveLength(1);
  });

  it('that fails changes nothing, is retried once, then fails with a reason; a new request restarts it', async () => {
    const ada = await audiences.contact({ tags: ['a'] });
    const { id } = await audiences.create(tagged('none'));
    const params = { audience_id: id };
    const mend = await breakRefresh(id);
    await account.client.cdp.audiences.update({ params, body: { rules: tagged('a') } });
    const failed = await platform.event(account.id, 'audience.failed');
    expect(failed.data.audience).toEqual(await audiences.get(id));
    expect(failed.data.audience).toMatchObject({ id, status: 'failed', members: 0 });
    expect(failed.data.audience.error).not.toBe('');
    expect(failed.data.previous).toEqual({ status: 'building', error: '' });
    expect(await audiences.members(id)).toEqual([]);
    const rowsOf = (table: string) => sql`select from ${sql(table)} where account_id = ${account.id}`;
    for (const table of ['audience_members', 'audience_flips', 'audience_changes']) {
      expect(await rowsOf(table)).toHaveLength(0);
    }
    // The bus has an event before the outbox removes it, so consumers may have received it already.
    await waitFor('the outbox to be empty', async () => (await rowsOf('outbox')).length === 0);
    expect(audiences.eventsOf('audience.entered', id)).toEqual([]);
    await mend();
    expect(await account.client.cdp.audiences.refresh({ params, body: {} })).toMatchObject({
      status: 'building',
      error: '',
    });
    await audiences.holds(id, [ada]);
    await waitFor('the event', () => audiences.eventsOf('audience.entered', id).length === 1);
  });

  const waitingWorkers = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where wait_event_type = 'Lock' and query like '%for no key update%' and datname = current_database()`;

  /** Runs `work` while all workers wait for audiences of other accounts, which a transaction of the test has locked. */
  async function whileAllWait(work: () => Promise<unknown>): Promise<void> {
    const others = await Promise.all(Array.from({ length: 4 }, () => platform.account()));
    const ids = await Promise.all(
      others.map(async (other) => {
        const theirs = audiencesOf(platform, other);
        const { id } = await theirs.create(tagged('a'));
        await platform.event(other.id, 'audience.ready');
        return id;
      }),
    );
    await sql`
      update audiences set due_at = ${new Date(platform.clock.now().getTime() + 60_000)} where id = any(${ids}::uuid[])`;
    await during(
      sql,
      (tx) => tx`select from audiences where id = any(${ids}::uuid[]) for update`,
      async () => {
        platform.clock.advance(60_000);
        await waitFor('all workers to be occupied', async () => (await waitingWorkers()).length === 3);
        await work();
      },
    );
  }

  it('that is short has a worker while others take minutes', async () => {
    await whileAllWait(async () => {
      const { id } = await audiences.create(tagged('a'));
      expect(await audiences.ready(id)).toMatchObject({ status: 'ready' });
    });
  });

  it('whose connection breaks does not stop its worker', async () => {
    await whileAllWait(async () => {
      for (const { pid } of await waitingWorkers()) await sql`select pg_terminate_backend(${pid})`;
    });
    const { id } = await audiences.create(tagged('a'));
    expect(await audiences.ready(id)).toMatchObject({ status: 'ready' });
  });

  it('that takes 15 minutes gets 15 more, then fails', async () => {
    const { id } = await audiences.create(tagged('a'));
    await during(
      sql,
      (tx) => waitFor('the account', () => lockAccount(tx, 'audiences', account.id)),
      async () => {
        await account.client.cdp.audiences.refresh({ params: { audience_id: id }, body: {} });
        platform.clock.advance(14 * 60_000);
        platform.clock.advance(60_000);
        const attempts = async () => (await sql`select attempts from audiences where id = ${id}`)[0]!.attempts;
        await waitFor('an attempt to be counted', async () => (await attempts()) === 1);
        expect((await audiences.get(id)).status).toBe('building');
        platform.clock.advance(15 * 60_000);
        await platform.event(account.id, 'audience.failed', (data) => data.audience.id === id);
      },
    );
    expect(await audiences.get(id)).toMatchObject({ status: 'failed', members: 0 });
  });
});

it('a deleted contact is in no audience, even if a running refresh counted it as a member', async () => {
  const ada = await audiences.contact({ tags: ['a'] });
  const { id } = await audiences.create(tagged('a'));
  await audiences.holds(id, [ada]);
  await account.client.cdp.contacts.delete({ params: { contact_id: ada } });
  await audiences.holds(id, []);
  await sql`insert into audience_members values (${account.id}, ${id}, ${ada}, now())`;
  await sql`update audiences set members = 1 where id = ${id}`;
  await sql`insert into changed_contacts (account_id, contact_id) values (${account.id}, ${ada})`;
  await audiences.holds(id, []);
  const left = await platform.event(account.id, 'audience.left', (data) => data.contact.name === '');
  expect(left.data.contact).toEqual({ id: ada, name: '', phone: '' });
});

it('concurrent changes and refreshes leave exactly the matching members, and consistent events', async () => {
  const contacts = await Promise.all(Array.from({ length: 20 }, () => audiences.contact()));
  const { id } = await audiences.create(tagged('a'));
  const params = { audience_id: id };
  const toggle = (contact: string, round: number) =>
    account.client.cdp.contacts.update({ params: { contact_id: contact }, body: { tags: round % 2 ? [] : ['a'] } });
  for (let round = 0; round < 6; round++) {
    await Promise.all([
      ...contacts.map((contact, index) => toggle(contact, round + index)),
      account.client.cdp.audiences.refresh({ params, body: {} }),
    ]);
  }
  const expected = contacts.filter((_, index) => (5 + index) % 2 === 0);
  await audiences.holds(id, expected);
  await audiences.ready(id);
  await waitFor('the events', () => {
    const balance = new Map<string, number>();
    const add = (kind: string, step: number) => {
      for (const { contact } of audiences.eventsOf(kind, id))
        balance.set(contact.id, (balance.get(contact.id) ?? 0) + step);
    };
    add('audience.entered', 1);
    add('audience.left', -1);
    return contacts.every((contact) => (balance.get(contact) ?? 0) === Number(expected.includes(contact)));
  });
});
