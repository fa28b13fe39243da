import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, eachOf } from '@customer-platform/client';

// From a file of 200 contacts to a message to 60 of them, in the sandbox. Each cell can be repeated, and so can the whole: whatever was done
// is found again and not done twice.

// %% 1. Connect. A test key acts on the sandbox, where no message leaves the platform.

const { PLATFORM_URL = 'http://127.0.0.1:8080', PLATFORM_TEST_KEY = '' } = process.env;
if (!PLATFORM_TEST_KEY.startsWith('cp_test_')) {
  console.error('Set PLATFORM_TEST_KEY to a key of the sandbox, cp_test_…: a live key would send real messages');
  process.exit(2);
}
// A response of 429 says when to come back; the client waits for it and sends the same again.
const client = createClient({ baseUrl: PLATFORM_URL, apiKey: PLATFORM_TEST_KEY, retries: 10 });

// %% 2. Read the file.

const file = process.argv[2] ?? join(import.meta.dirname, 'contacts.csv');
const people = rowsOf(readFileSync(file, 'utf8'), ['external_id', 'name', 'email', 'phone', 'trial_at', 'bought_at']);
console.log(`${people.length} contacts in the file`);

// %% 3. Import them by external id: a PUT creates a contact or updates the one that is there.

await inParallel('Importing contacts', people, async ({ external_id, name, email, phone }) => {
  await client.cdp.contacts.upsertByExternalId({ params: { external_id }, body: { name, email, phone } });
});

// %% 4. Record what they did. An event's id counts once within the account; 500 events go into one request.

const events = people.flatMap(({ external_id, trial_at, bought_at }) => [
  { id: `${external_id}-trial`, external_id, name: 'trial.started', at: trial_at },
  ...(bought_at ? [{ id: `${external_id}-plan`, external_id, name: 'plan.bought', at: bought_at }] : []),
]);
for (let from = 0; from < events.length; from += 500) {
  const { accepted, repeated, rejected } = await client.cdp.events.record({
    body: { events: events.slice(from, from + 500) },
  });
  console.log(`Events: ${accepted} recorded, ${repeated} known before`);
  if (rejected.length > 0)
    throw new Error(`${rejected.length} events were rejected, the first: ${rejected[0]!.message}`);
}

// %% 5. Create an audience: who started a trial and bought nothing.

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

// %% 6. Wait for it: its members are computed in the background.

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

// %% 8. Send each a message. The Idempotency-Key keeps a repeat within 24 hours from sending it again, the reference a later one.

const campaign = 'trial-offer-1';
await inParallel('Sending messages', members, async ({ id, name: recipient }) => {
  const reference = `${campaign}/${id}`;
  const { data } = await client.messages.list({ query: { reference } });
  if (data.length > 0) return;
  const body = `Hello ${recipient}, your trial ends soon. Shall we keep your account?`;
  const channels = [{ channel: 'whatsapp' as const, body }];
  await client.messages.send({ body: { contact: id, channels, reference }, idempotencyKey: reference });
});

// %% 9. See what became of them. In the sandbox the last digits of a number decide: 02 reads it, 03 cannot be reached, 04 never responds.

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

// %% What the cells use.

/** Returns the rows of a file of commas without quotes, by their columns' names. Throws an Error that names the line that is wrong. */
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

/** Does `work` for each item, four at a time, and shows how far it is. Throws the first error, once what is under way has ended. */
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

/** Asks every half second; throws after two minutes. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Waited two minutes in vain for ${what}; run it again to go on`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function findAudience() {
  for await (const each of eachOf((page) => client.cdp.audiences.list({ query: page })))
    if (each.name === name) return each;
  return undefined;
}
