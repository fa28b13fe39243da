import { type Client, createClient } from '@customer-platform/client';
import type { AudienceRules } from '@customer-platform/contracts/cdp';
import type { ProcessPlatform } from '@customer-platform/testkit';
import postgres from 'postgres';
import { atLeast, atMost, type Bench, exactly, type Figure, median, told } from './figures.ts';
import { closedLoop, type Load, requestBytes } from './load.ts';
import { fillTables, insertContacts, pairsAmongContacts } from './many-rows.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds, cpuSecondsWithChildren, parentOf, untilIdle, watchMemory } from './process-usage.ts';

const contacts = 100_000;
const events = 1_000_000;
const windowDays = 30;
const batch = 500;
const moveRounds = 5;
const movesPerRound = 1_000;
const intakeRounds = 3;
const intakeMs = 4_000;
const intakeConnections = 4;
const eventNames = ['cart.abandoned', 'page.viewed', 'product.viewed', 'newsletter.opened'];

const rules: AudienceRules = {
  match: 'all',
  conditions: [
    { type: 'event', op: 'did', name: 'cart.abandoned', days: windowDays, at_least: 1 },
    { type: 'consent', channel: 'email', purpose: 'marketing', op: 'granted' },
    { type: 'tag', op: 'has', tag: 'vip' },
  ],
};

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  account: { id: string; key: string };
  client: Client;
  /** Process id of customer data. */
  pid: number;
}

/** Event as it is sent. */
interface SentEvent {
  id: string;
  contact: string;
  name: string;
  properties: Record<string, unknown>;
}

export const customerDataBench: Bench = {
  name: 'customer-data',
  summary: `audiences, duplicates and events with ${contacts} contacts and ${events} events of one account`,
  async measure() {
    const platform = await startPlatform();
    const sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
    const pid = platform.pidOf('cdp')!;
    const memory = watchMemory(pid);
    try {
      const account = await platform.account();
      const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: account.key });
      await fillAccount(sql, account.id);
      const setting = { platform, sql, account, client, pid };
      const ofAudience = await audience(setting);
      const ofDuplicates = await duplicates(setting);
      const ofIntake = await intake(setting);
      const most = atMost('memory of customer data over all of it', memory.stop(), 300, 'MiB');
      return [...ofAudience, ...ofDuplicates, ...ofIntake, most];
    } finally {
      await sql.end();
      await platform.stop();
    }
  },
};

/**
 * Inserts ten events per contact over a year; seven in ten contacts have a granted consent, one a withdrawn one. No event's age is
 * within six hours of an audience's window, so that only the intended contacts change membership during the measurement.
 */
async function fillAccount(sql: postgres.Sql, accountId: string): Promise<void> {
  const tables = ['contacts', 'contact_events', 'consents', 'consent_states'].map((name) => `cdp.${name}`);
  await fillTables(sql, tables, async (tx) => {
    await insertContacts(tx, accountId, contacts);
    await tx`
      insert into cdp.contact_events (account_id, id, contact_id, name, at, properties)
      select account_id, 'event-' || lpad(k::text, 7, '0'), c.id, (${eventNames}::text[])[1 + (hashint4(k + 1) & 3)],
        date_trunc('milliseconds', now()) - make_interval(days => (hashint4(k) & 1048575) % 365, hours => 12, mins => k % 360),
        jsonb_build_object('page', '/products/' || k % 5000, 'value_minor', k % 20000)
      from generate_series(0, ${events - 1}::int) as k
      join cdp.contacts c on c.account_id = ${accountId} and c.number = 1 + k % ${contacts}::int
      order by k`;
    await tx`
      insert into cdp.consents (account_id, contact_id, channel, purpose, state, source, at, created_at)
      select account_id, id, 'email', 'marketing', case when number % 10 < 7 then 'granted' else 'withdrawn' end, 'form',
        created_at, created_at
      from cdp.contacts where account_id = ${accountId} and number % 10 < 8`;
    await tx`
      insert into cdp.consent_states (account_id, contact_id, channel, purpose, state, at)
      select account_id, contact_id, channel, purpose, state, at from cdp.consents where account_id = ${accountId}`;
  });
}

/** Selects the contacts with the consent and the tag that had the event since `since`, or had not. */
const whoDid = (sql: postgres.Sql, accountId: string, did: boolean, since: Date) => sql`
  from cdp.contacts c
  where c.account_id = ${accountId} and c.merged_into is null and c.tags @> array['vip']
    and exists (select from cdp.consent_states s where s.account_id = c.account_id and s.contact_id = c.id
      and s.channel = 'email' and s.purpose = 'marketing' and s.state = 'granted')
    and ${did} = exists (select from cdp.contact_events e where e.account_id = c.account_id and e.contact_id = c.id
      and e.name = 'cart.abandoned' and e.at > ${since})`;

const sinceOf = (instant: Date) => new Date(instant.getTime() - windowDays * 86_400_000);

/** Returns the member count by plain SQL, as of the audience's last refresh. */
async function membersBySql({ sql, account }: Setting, audienceId: string): Promise<number> {
  const [audience] = await sql<{ refreshed_at: Date }[]>`
    select refreshed_at from cdp.audiences where account_id = ${account.id} and id = ${audienceId}`;
  const since = sinceOf(audience!.refreshed_at);
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count ${whoDid(sql, account.id, true, since)}`;
  return row!.count;
}

/** Measures creating an audience, then contacts that join it by events, in rounds of two batches. */
async function audience(setting: Setting): Promise<Figure[]> {
  const { client, platform, account, pid } = setting;
  const postedAt = performance.now();
  const { id } = await client.createAudience({ body: { name: 'Left their cart', rules } });
  const read = () => client.getAudience({ params: { audience_id: id } });
  const isReady = async () => (await read()).status === 'ready';
  const readySeconds = await secondsUntil('the audience to be ready', postedAt, isReady);
  const first = { said: (await read()).members, bySql: await membersBySql(setting, id) };
  await untilIdle([pid], 30_000);
  const seconds: number[] = [];
  for (let round = 0; round < moveRounds; round++) {
    const before = await read();
    const bodies = await moves(setting, round);
    const next = () => {
      const body = bodies.pop();
      return body && eventsRequest(platform.gatewayUrl, account.key, body);
    };
    await send({ url: platform.gatewayUrl, connections: 1, next }, movesPerRound);
    const isMoved = async () => {
      const { members, refreshed_at } = await read();
      return members === before.members + movesPerRound && refreshed_at !== null;
    };
    seconds.push(await secondsUntil('the members to be moved', performance.now(), isMoved));
  }
  const last = { said: (await read()).members, bySql: await membersBySql(setting, id) };
  const counts = ({ said, bySql }: typeof first) => [`${said} of ${bySql}`, `${bySql} of ${bySql}`] as const;
  return [
    atMost('audience of three conditions, from its creation until it is ready', readySeconds, 10, 's'),
    exactly('its members, of those whom SQL finds', ...counts(first)),
    atMost(`${movesPerRound} new events, from the last response until all have moved in`, median(seconds), 1, 's'),
    told(`the slowest of ${moveRounds} such rounds`, Math.max(...seconds), 's'),
    exactly('its members after them, of those whom SQL finds', ...counts(last)),
  ];
}

/** Returns events in batches, each of which makes a contact join. */
async function moves({ sql, account }: Setting, round: number): Promise<SentEvent[][]> {
  const since = sinceOf(new Date());
  const rows = await sql<{ id: string }[]>`
    select c.id ${whoDid(sql, account.id, false, since)} order by c.id limit ${movesPerRound}`;
  const sent = rows.map(({ id }, index) => sentEvent(`move-${round}-${index}`, id, 'cart.abandoned'));
  return Array.from({ length: movesPerRound / batch }, (_, index) => sent.slice(index * batch, (index + 1) * batch));
}

function sentEvent(id: string, contact: string, name: string): SentEvent {
  return { id, contact, name, properties: { page: '/products/1234', value_minor: 1234 } };
}

function eventsRequest(url: string, key: string, sent: SentEvent[]): Buffer {
  return requestBytes(url, 'POST /v1/cdp/events', { authorization: `Bearer ${key}` }, JSON.stringify({ events: sent }));
}

/** Sends batches of events for `ms`. Throws unless all are accepted, or `expected` events if given. */
async function send(load: Load, expected?: number, ms?: number) {
  let accepted = 0;
  const onResponse = ({ status, body }: { status: number; body: Buffer }) => {
    if (status !== 202) throw new Error(`events got ${status}: ${body.toString().slice(0, 300)}`);
    accepted += JSON.parse(body.toString()).accepted;
  };
  const { responses, seconds } = await closedLoop({ ...load, onResponse }, ms);
  if (accepted !== (expected ?? responses * batch)) throw new Error(`${responses} batches led to ${accepted} events`);
  return { accepted, seconds };
}

/** Measures the search for duplicates until all pairs are listed; then a second search that finds nothing new. */
async function duplicates({ sql, client, account, pid }: Setting): Promise<Figure[]> {
  await untilIdle([pid], 30_000);
  const wanted = Object.values(pairsAmongContacts).reduce((sum, count) => sum + count, 0);
  const askedAt = performance.now();
  await client.findDuplicates({ body: {} });
  const areThere = async () => (await client.listDuplicates({ query: { limit: 1 } })).data.length > 0;
  const seconds = await secondsUntil('the duplicates to be found', askedAt, areThere, 120_000);
  const rows = await sql<{ reason: string; count: number }[]>`
    select reason, count(*)::int as count from cdp.duplicates where account_id = ${account.id} and status = 'open'
    group by reason order by reason`;
  const shown = (counts: [string, number][]) => counts.map(([reason, count]) => `${count} by ${reason}`).join(', ');
  const found = shown(rows.map(({ reason, count }) => [reason, count]));
  const againAt = performance.now();
  await client.findDuplicates({ body: {} });
  const isOver = async () =>
    (await sql`select 1 from cdp.duplicate_runs where account_id = ${account.id} and due_at > now()`).length === 1;
  const again = await secondsUntil('the second run', againAt, isOver, 120_000);
  return [
    atMost(`duplicates among ${contacts} contacts, until all pairs are listed`, seconds, 60, 's'),
    exactly(`the ${wanted} pairs`, found, shown(Object.entries(pairsAmongContacts))),
    told('the same once more, with nothing new', again, 's'),
  ];
}

/** Measures the maximum event rate, over all contacts and kinds, while the audience is kept up to date. */
async function intake(setting: Setting): Promise<Figure[]> {
  const { platform, sql, account, client, pid } = setting;
  const ids = await sql<{ id: string }[]>`select id from cdp.contacts where account_id = ${account.id} order by number`;
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const server = parentOf(row!.pid);
  let made = 0;
  const next = () => {
    const sent = Array.from({ length: batch }, () => {
      const n = made++;
      // Coprime with their number: every contact comes once before one comes twice.
      const contact = ids[(n * 7_919) % contacts]!.id;
      return sentEvent(`sent-${n}`, contact, eventNames[(n >> 3) % eventNames.length]!);
    });
    return eventsRequest(platform.gatewayUrl, account.key, sent);
  };
  const url = platform.gatewayUrl;
  const used = () => [cpuSeconds(pid), cpuSecondsWithChildren(server)] as const;
  const taken: { perSecond: number; micros: number[]; currentSeconds: number }[] = [];
  for (let round = 0; round < intakeRounds; round++) {
    await untilIdle([pid], 30_000);
    const before = used();
    const { accepted, seconds } = await send({ url, connections: intakeConnections, next }, undefined, intakeMs);
    const isCurrent = async () => (await sql`select 1 from cdp.changed_contacts limit 1`).length === 0;
    const currentSeconds = await secondsUntil('audiences to be up to date', performance.now(), isCurrent, 60_000);
    const micros = used().map((now, index) => ((now - before[index]!) / accepted) * 1e6);
    taken.push({ perSecond: accepted / seconds, micros, currentSeconds });
  }
  const [found] = (await client.listAudiences({ query: { limit: 1 } })).data;
  const bySql = await membersBySql(setting, found!.id);
  const what = `events a second through the gateway (batches of ${batch}, ${intakeConnections} connections)`;
  return [
    atLeast(what, median(taken.map(({ perSecond }) => perSecond)), 5_000, '/s'),
    told('audiences up to date after the last of them', median(taken.map(({ currentSeconds }) => currentSeconds)), 's'),
    exactly('members then, of those whom SQL finds', `${found!.members} of ${bySql}`, `${bySql} of ${bySql}`),
    told('CPU of an event, audiences included: customer data', median(taken.map(({ micros }) => micros[0]!)), 'µs'),
    told('CPU of an event, audiences included: PostgreSQL', median(taken.map(({ micros }) => micros[1]!)), 'µs'),
  ];
}

/** Polls a condition every 10 ms and returns the seconds from `since` until it held. Throws after `timeoutMs`. */
async function secondsUntil(what: string, since: number, isSo: () => Promise<boolean>, timeoutMs = 60_000) {
  for (;;) {
    if (await isSo()) return (performance.now() - since) / 1_000;
    if (performance.now() - since > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
