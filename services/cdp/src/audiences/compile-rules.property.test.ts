import { AudienceRules, type Condition } from '@customer-platform/contracts/cdp';
import { inTransaction } from '@customer-platform/service-kit';
import { startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileReevaluations, compileRules, type Scope } from './compile-rules.ts';
import { runCompiled, setPlanning } from './membership.sql.ts';

const dayMs = 86_400_000;
const now = new Date('2026-11-20T09:00:00Z');
const country = 'DE';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

interface Person {
  name: string;
  email: string | null;
  external_id: string | null;
  tags: string[];
  fields: Record<string, string | number | boolean>;
  events: { name: string; at: Date }[];
  consents: { channel: string; purpose: string; state: 'granted' | 'withdrawn' }[];
}

const names = ['order.created', 'cart.abandoned', 'visited'];
/** Instants around the edges of the windows: a millisecond inside, on the edge, and a millisecond outside. */
const instant = fc
  .tuple(fc.constantFrom(0, 1, 7, 30, 365), fc.constantFrom(-dayMs / 2, -1, 0, 1, dayMs / 3))
  .map(([days, offset]) => new Date(now.getTime() - days * dayMs + offset));
const word = fc.constantFrom('', 'a', 'A', 'ab', 'b%', '_', 'ä', 'ba', '10', 'true', "'");
const value = fc.oneof(word, fc.constantFrom(-1, 0, 9, 9.5, 10, 1e21), fc.boolean());
/** Names such as "constructor" are ordinary keys. */
const key = fc.constantFrom('age', 'plan', 'constructor', 'a.b', '__proto__');

const person: fc.Arbitrary<Person> = fc.record({
  name: word,
  email: fc.option(fc.constantFrom('a@b.example', 'ab@b.example')),
  external_id: fc.option(fc.constantFrom('10', 'b%')),
  tags: fc.uniqueArray(fc.constantFrom('vip', 'VIP', 'new'), { maxLength: 3 }),
  fields: fc.dictionary(key, value, { maxKeys: 4 }),
  events: fc.array(fc.record({ name: fc.constantFrom(...names), at: instant }), { maxLength: 6 }),
  consents: fc.uniqueArray(
    fc.record({
      channel: fc.constantFrom('email', 'sms'),
      purpose: fc.constantFrom('marketing', 'service'),
      state: fc.constantFrom('granted' as const, 'withdrawn' as const),
    }),
    { maxLength: 4, selector: ({ channel, purpose }) => channel + purpose },
  ),
});

const condition = fc.oneof(
  fc.record({
    type: fc.constant('event'),
    op: fc.constantFrom('did', 'did_not'),
    name: fc.constantFrom(...names, 'never'),
    days: fc.constantFrom(1, 7, 30, 365, null),
    at_least: fc.constantFrom(1, 2, 3),
  }),
  fc.record({
    type: fc.constant('consent'),
    channel: fc.constantFrom('email', 'sms', 'whatsapp'),
    purpose: fc.constantFrom('marketing', 'service'),
    op: fc.constantFrom('granted', 'not_granted'),
  }),
  fc.record({
    type: fc.constant('tag'),
    op: fc.constantFrom('has', 'has_not'),
    tag: fc.constantFrom('vip', 'new', 'none'),
  }),
  fc.record({
    type: fc.constant('field'),
    name: fc.oneof(key, fc.constantFrom('name', 'phone', 'email', 'external_id')),
    op: fc.constantFrom('is_set', 'is_not_set'),
  }),
  fc.record({
    type: fc.constant('field'),
    name: fc.oneof(key, fc.constantFrom('name', 'phone', 'email', 'external_id')),
    op: fc.constantFrom('is', 'is_not', 'contains', 'starts_with', 'gt', 'gte', 'lt', 'lte'),
    value,
  }),
);
const match = fc.constantFrom('all', 'any');
const nested = fc.record({ match, conditions: fc.array(condition, { minLength: 1, maxLength: 3 }) });
const rules = fc
  .record({
    match,
    conditions: fc.array(fc.oneof({ weight: 3, arbitrary: condition }, nested), { minLength: 1, maxLength: 4 }),
  })
  .filter((candidate) => AudienceRules.safeParse(candidate).success)
  .map((candidate) => AudienceRules.parse(candidate));

/** Evaluates the rules for one contact in the simplest way. */
function holds(item: AudienceRules | AudienceRules['conditions'][number], who: Person): boolean {
  if ('conditions' in item) {
    const each = item.conditions.map((inner) => holds(inner, who));
    return item.match === 'all' ? each.every(Boolean) : each.some(Boolean);
  }
  switch (item.type) {
    case 'event': {
      const { days } = item;
      const inWindow = ({ at }: { at: Date }) => days === null || at.getTime() > now.getTime() - days * dayMs;
      const times = who.events.filter((event) => event.name === item.name && inWindow(event)).length;
      return (item.op === 'did') === times >= item.at_least;
    }
    case 'consent': {
      const said = who.consents.find(({ channel, purpose }) => channel === item.channel && purpose === item.purpose);
      return (item.op === 'granted') === (said?.state === 'granted');
    }
    case 'tag':
      return (item.op === 'has') === who.tags.includes(item.tag);
    case 'field':
      return fieldHolds(item, who);
  }
}

function fieldHolds({ name, op, value: wanted }: Extract<Condition, { type: 'field' }>, who: Person): boolean {
  const known: Record<string, string | null> = {
    name: who.name,
    phone: null,
    email: who.email,
    external_id: who.external_id,
  };
  const source = Object.hasOwn(known, name) ? known : who.fields;
  const given = Object.hasOwn(source, name) ? source[name] : null;
  const field = given === '' ? null : given;
  if (op === 'is_set') return field != null;
  if (op === 'is_not_set') return field == null;
  if (field == null) return op === 'is_not';
  // PostgreSQL writes 1e21 with all digits when it compares a number as text.
  const text = typeof field === 'number' ? BigInt(Math.trunc(field)) + (field % 1 ? '.5' : '') : String(field);
  const [left, right] = typeof wanted === 'string' ? [text, wanted] : [field, wanted];
  const isSameType = typeof left === typeof right;
  if (op === 'is') return left === right;
  if (op === 'is_not') return left !== right;
  if (op === 'contains') return String(left).includes(String(right));
  if (op === 'starts_with') return String(left).startsWith(String(right));
  if (!isSameType || typeof left === 'boolean' || left === undefined || right === undefined) return false;
  return { gt: left > right, gte: left >= right, lt: left < right, lte: left <= right }[op];
}

async function store(people: Person[]): Promise<{ accountId: string; ids: string[] }> {
  const [{ accountId } = { accountId: '' }] = await sql<{ accountId: string }[]>`select uuidv7() as "accountId"`;
  const ids: string[] = [];
  for (const [number, who] of people.entries()) {
    const [row] = await sql<{ id: string }[]>`
      insert into contacts (account_id, number, external_id, name, email, tags, fields, created_at, updated_at)
      values (${accountId}, ${number}, ${who.external_id}, ${who.name}, ${who.email}, ${who.tags}::text[],
        ${JSON.stringify(who.fields)}::text::jsonb, ${now}, ${now}) returning id`;
    const { id } = row!;
    ids.push(id);
    for (const { name, at } of who.events) {
      await sql`
        insert into contact_events (account_id, id, contact_id, name, at, properties)
        values (${accountId}, uuidv7()::text, ${id}, ${name}, ${at}, '{}')`;
    }
    for (const { channel, purpose, state } of who.consents) {
      await sql`insert into consent_states values (${accountId}, ${id}, ${channel}, ${purpose}, ${state}, ${now})`;
    }
  }
  return { accountId, ids };
}

/** Returns for each unmerged contact whether the rules hold, followed by the result of each condition. */
async function ask(asked: AudienceRules, scope: Scope): Promise<Map<string, boolean[]>> {
  const { from, holds: test, conditions, values } = compileRules(asked, scope);
  const text = `select c.id, array[${[test, ...conditions].join(', ')}] as results from ${from}`;
  const rows = await inTransaction(sql, async (tx) => {
    await setPlanning(tx, { nestedLoops: false, timeoutMs: 10_000 });
    return await runCompiled<{ id: string; results: boolean[] }>(tx, text, values);
  });
  return new Map(rows.map((row) => [row.id, row.results]));
}

/** Returns equivalent rules with so many more conditions on fields that fields are expanded once for all of them. */
function withManyFields(asked: AudienceRules): AudienceRules {
  const isTrue = asked.match === 'all';
  const nobodys = { type: 'field', name: 'a field of nobody', op: isTrue ? 'is_not_set' : 'is_set' };
  const conditions = [...asked.conditions, { match: 'any', conditions: Array(9).fill(nobodys) }];
  return AudienceRules.parse({ ...asked, conditions });
}

it('evaluates rules and each condition correctly, for all contacts and for some', async () => {
  const population = fc.array(person, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(population, fc.array(rules, { minLength: 8, maxLength: 8 }), async (people, several) => {
      const { accountId, ids } = await store(people);
      for (const asked of several) {
        const expected = people.map((who) => [asked, ...asked.conditions].map((item) => holds(item, who)));
        const all = await ask(asked, { accountId, country, now });
        expect(ids.map((id) => all.get(id))).toEqual(expected);
        const often = await ask(withManyFields(asked), { accountId, country, now });
        expect(ids.map((id) => often.get(id))).toEqual(expected.map((each) => [...each, asked.match === 'all']));
        const contactIds = ids.filter((_, index) => index % 2 === 0);
        const some = await ask(asked, { accountId, country, now, contactIds });
        expect(ids.map((id) => some.get(id))).toEqual(expected.map((each, index) => (index % 2 ? undefined : each)));
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);

it('finds the next instant at which a condition ends because time passes: nothing changes before it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(person, { minLength: 1, maxLength: 8 }), rules, async (people, asked) => {
      const { accountId, ids } = await store(people);
      const reevaluations = compileReevaluations(asked, { accountId, country, now });
      const rows = reevaluations
        ? await runCompiled<{ contact_id: string; due_at: Date }>(sql, reevaluations.select, reevaluations.values)
        : [];
      const leaves = asked.conditions.flatMap((item) => ('conditions' in item ? item.conditions : [item]));
      for (const [index, id] of ids.entries()) {
        const moments = leaves.flatMap((leaf) => {
          if (leaf.type !== 'event' || leaf.days === null) return [];
          const windowMs = leaf.days * dayMs;
          const times = people[index]!.events.filter(({ name }) => name === leaf.name)
            .map(({ at }) => at.getTime() + windowMs)
            .filter((end) => end > now.getTime())
            .sort((one, other) => other - one);
          return times[leaf.at_least - 1] ?? [];
        });
        const known = rows.find((row) => row.contact_id === id)?.due_at.getTime();
        expect(known).toBe(moments.length > 0 ? Math.min(...moments) : undefined);
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);

it.each([1, 3, 40, 400])('limits the steps of a statement about %i event names to 256 MiB in total', async (count) => {
  const asked = AudienceRules.parse({
    match: 'any',
    conditions: Array.from({ length: Math.ceil(count / 20) }, (_, group) => ({
      match: 'any',
      conditions: Array.from({ length: Math.min(20, count) }, (_, place) => ({
        type: 'event',
        op: 'did',
        name: `event.${group * 20 + place}`,
        days: 30,
        at_least: 2,
      })),
    })),
  });
  const { accountId } = await store([]);
  const { from, holds: test, groupings, values } = compileRules(asked, { accountId, country, now });
  const reevaluations = compileReevaluations(asked, { accountId, country, now })!;
  expect([groupings, reevaluations.groupings]).toEqual([count, count]);
  for (const [text, bound] of [
    [`select c.id from ${from} where ${test}`, values],
    [reevaluations.select, reevaluations.values],
  ] as const) {
    await inTransaction(sql, async (tx) => {
      await setPlanning(tx, { nestedLoops: false, timeoutMs: 10_000, groupings });
      const plan = JSON.stringify(await runCompiled(tx, `explain (format json) ${text}`, bound));
      const steps = plan.match(/"Node Type":"(Hash|Sort|Incremental Sort)"|"Strategy":"(Hashed|Mixed)"/g)!;
      const [settings] = await tx<[{ memory: number; multiplier: string }]>`
        select pg_size_bytes(current_setting('work_mem'))::int as memory, current_setting('hash_mem_multiplier') as multiplier`;
      expect(settings.multiplier).toBe('1');
      expect(steps.length).toBeGreaterThanOrEqual(count);
      expect(steps.length * settings.memory).toBeLessThanOrEqual(256 * 1_024 ** 2);
    });
  }
});
