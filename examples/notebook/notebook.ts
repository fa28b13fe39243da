import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, eachOf } from '@customer-platform/client';

// Imports 200 contacts and sends a message to 60 of them, in the sandbox. Each cell can be repeated, and so can the script: it finds earlier
// results and does nothing twice.

// %% 1. Connect. A test key acts on the sandbox, where no message leaves the platform.

const { PLATFORM_URL = 'http://127.0.0.1:8080', PLATFORM_TEST_KEY = '' } = process.env;
if (!PLATFORM_TEST_KEY.startsWith('cp_test_')) {
  console.error('Set PLATFORM_TEST_KEY to a key of the sandbox, cp_test_…: a live key would send real messages');
  process.exit(2);
}
// A 429 response says when to retry. The client waits and retries the request.
const client = createClient({ baseUrl: PLATFORM_URL, apiKey: PLATFORM_TEST_KEY, retries: 10 });

// %% 2. Read the file.

const file = process.argv[2] ?? join(import.meta.dirname, 'contacts.csv');
const people = rowsOf(readFileSync(file, 'utf8'), ['external_id', 'name', 'email', 'phone', 'trial_at', 'bought_at']);
console.log(`${people.length} contacts in the file`);

// %% 3. Import them by external id: a PUT creates or updates a contact.

await inParallel('Importing contacts', people, async ({ external_id, name, email, phone }) => {
  await client.cdp.contacts.upsertByExternalId({ params: { external_id }, body: { name, email, phone } });
});

// %% 4. Record their events. An event's id counts once within the account; a request has at most 500 events.

const events = people.flatMap(({ external_id, trial_at, bought_at }) => [
  { id: `${external_id}-trial`, external_id, name: 'trial.started', at: trial_at },
  ...(bought_at ? [{ id: `${external_id}-plan`, external_id, name: 'plan.bought', at: bought_at }] : []),
]);
for (let from = 0; from < events.length; from += 500) {
  const { accepted, repeated, rejected } = await client.cdp.events.record({
    body: { events: events.slice(from, from + 500) },
  });
  console.log(`Events: ${accepted} recorded, ${repeated} already known`);
  if (rejected.length > 0)
    throw new Error(`${rejected.length} events were rejected, the first: ${rejected[0]!.message}`);
}

// %% 5. Create an audience of contacts that started a trial and bought nothing.

const name = 'Trials without a purchase';
const rules = {
  match: 'all' as const,
  conditions: [
    { type: 'event' as const, op: 'did' as const, name: 'trial.started', days: null },
    { type: 'event' as const, op: 'did_not' as const, name: 'plan.bought', days: null },
  ],
};
let audience = await findAudience();
if (audience) await client.cdp.audiences.refresh({ params: { audience_id: audience.id } });
else audience = await client.cdp.audiences.create({ body: { name, rules } });

// %% 6. Wait for the audience, whose members are computed in the background.

const params = { audience_id: audience.id };
await until('the audience to be ready', async () => {
  const { status, error } = await client.cdp.audiences.get({ params });
  if (status === 'failed') throw new Error(`The audience failed: ${error}`);
  return status === 'ready';
});

// %% 7. List its members, page by page.

const members: { id: string; name: string }[] = [];
for await (const member of eachOf((page) => client.cdp.audiences.members.list({ params, query: page })))
  members.push(member);
console.log(`${members.length} members of "${name}"`);

// %% 8. Send each member a message. The Idempotency-Key prevents duplicates for 24 hours, the reference also later.

const campaign = 'trial-offer-1';
await inParallel('Sending messages', members, async ({ id, name: recipient }) => {
  const reference = `${campaign}/${id}`;
  const { data } = await client.messages.list({ query: { reference } });
  if (data.length > 0) return;
  const body = `Hello ${recipient}, your trial ends soon. Shall we keep your account?`;
  const channels = [{ channel: 'whatsapp' as const, body }];
  await client.messages.send({ body: { contact: id, channels, reference }, idempotencyKey: reference });
});

// %% 9. Check the outcome. In the sandbox the last digits of a number decide: 02 reads the message, 03 is unreachable, 04 never responds.

const open = ['scheduled', 'queued', 'sending', 'sent'];
let outcomes: string[] = [];
await until('the messages to arrive', async () => {
  const found: string[] = [];
  const list = (page: object) => client.messages.list({ query: { ...page, q: `${campaign}/` } });
  for await (const { status } of eachOf(list)) found.push(status);
  outcomes = found;
  return outcomes.length >= members.length && !outcomes.some((status) => open.includes(status));
});
const counts = [...Map.groupBy(outcomes, (status) => status)].map(([status, each]) => `${each.length} ${status}`);
console.log(`${outcomes.length} messages: ${counts.sort().join(', ')}`);

// %% Functions that the cells use.

/** Returns the rows of a CSV file without quotes, by column name. Throws an Error that names the invalid line. */
function rowsOf<Column extends string>(text: string, columns: Column[]): Record<Column, string>[] {
  const [head, ...lines] = text.trimEnd().split(/\r?\n/);
  if (head !== columns.join(',')) throw new Error(`The first line must be ${columns.join(',')}`);
  return lines.map((line, index) => {
    const values = line.split(',');
    if (values.length !== columns.length)
      throw new Error(`Line ${index + 2} has ${values.length} values; it must have ${columns.length}`);
    return Object.fromEntries(columns.map((column, at) => [column, values[at]!])) as Record<Column, string>;
  });
}

/** Does `work` for each item, four at a time, and shows the progress. Throws the first error after all running work has ended. */
async function inParallel<Item>(label: string, items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  let done = 0;
  const worker = async () => {
    for (const item of queue) {
      await work(item);
      done++;
      if (process.stdout.isTTY) process.stdout.write(`\r${label}: ${done} of ${items.length}`);
      else if (done % 50 === 0) console.log(`${label}: ${done} of ${items.length}`);
    }
  };
  const ends = await Promise.allSettled([worker(), worker(), worker(), worker()]);
  if (process.stdout.isTTY) console.log();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Polls every 500 ms. Throws after two minutes. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await isSo())) {
    if (Date.now() > deadline)
      throw new Error(`Timed out after two minutes waiting for ${what}; run the script again to continue`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function findAudience() {
  for await (const each of eachOf((page) => client.cdp.audiences.list({ query: page })))
    if (each.name === name) return each;
  return undefined;
}
