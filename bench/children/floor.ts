import { randomUUIDv7 } from 'node:crypto';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import postgres from 'postgres';
import { listenAndTell } from './listen.ts';

// The minimum cost of a contact with these libraries, processes and servers: it is stored with its event, published from memory, copied by
// five processes and delivered with a durable try. Nothing is validated, read back, numbered or traced. The first argument selects the part.
const [role, databaseUrl, natsUrl, receiverUrl] = process.argv.slice(2) as [string, string, string, string];
const sql = postgres(databaseUrl, { max: 10, onnotice: () => undefined });
const nats = await connect({ servers: natsUrl });
const gatherMs = 200;
const outcomesMs = 30;

interface Stored {
  id: string;
  envelope: string;
}

/** Collects items and passes them to `write` together, at most once per interval. Callers do not wait for the write. */
function gathered<Item>(everyMs: number, write: (items: Item[]) => Promise<unknown>): (item: Item) => void {
  let waiting: Item[] = [];
  const timer = async () => {
    for (;;) {
      await sleep(everyMs);
      const items = waiting;
      waiting = [];
      if (items.length > 0) await write(items);
    }
  };
  void timer();
  return (item) => void waiting.push(item);
}

/** Calls `take` with received events, immediately or in batches, then acknowledges them. */
async function consume(name: string, everyMs: number, take: (events: Stored[]) => Promise<unknown>): Promise<void> {
  const manager = await jetstreamManager(nats);
  await manager.streams.add({ name: 'floor', subjects: ['floor.*'] });
  const consumer = {
    durable_name: name,
    ack_policy: 'explicit',
    deliver_policy: 'all',
    max_ack_pending: 1_000,
  } as const;
  await manager.consumers.add('floor', consumer);
  const messages = await (await jetstream(nats).consumers.get('floor', name)).consume({ max_messages: 500 });
  let waiting: { event: Stored; ack(): void }[] = [];
  let isTaking = false;
  const takeAll = async () => {
    if (everyMs > 0) await sleep(everyMs);
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await take(batch.map(({ event }) => event));
      for (const { ack } of batch) ack();
    }
    isTaking = false;
  };
  for await (const message of messages) {
    const envelope = message.string();
    waiting.push({ event: { id: (JSON.parse(envelope) as Stored).id, envelope }, ack: () => message.ack() });
    if (!isTaking) void takeAll();
    isTaking = true;
  }
}

const columns = (events: readonly Stored[]) =>
  [events.map(({ id }) => id), events.map(({ envelope }) => envelope)] as const;

/** Stores a contact and its event in one statement, publishes the event, and deletes it from the outbox later. */
function writeContacts(): void {
  const stream = jetstream(nats);
  const forget = gathered<string>(250, (ids) => sql`delete from outbox where id = any(${ids}::uuid[])`);
  listenAndTell(async (incoming: IncomingMessage, response: ServerResponse) => {
    const contact = JSON.parse(await text(incoming)) as object;
    const id = randomUUIDv7();
    const envelope = JSON.stringify({ id, type: 'contact.created', timestamp: new Date(), data: { contact } });
    await sql`
      with made as (insert into contacts (id, content) values (${id}, ${JSON.stringify(contact)}))
      insert into outbox (id, envelope) values (${id}, ${envelope})`;
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id, ...contact }));
    await stream.publish('floor.contact', envelope, { msgID: id });
    forget(id);
  });
}

/** Stores events with one delivery each, sends the deliveries, and records their results. */
async function deliver(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const note = gathered<string>(
    outcomesMs,
    (ids) => sql`
    update deliveries set status = 'delivered', tries = 1 where event_id = any(${ids}::uuid[])`,
  );
  const send = ({ id, envelope }: Stored) => {
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'content-length': Buffer.byteLength(envelope),
    };
    const sent = request(receiverUrl, { method: 'POST', agent, headers }, (response) =>
      response.resume().on('end', () => note(id)),
    );
    sent.end(envelope);
  };
  await consume('sender', 0, async (events) => {
    const [ids, envelopes] = columns(events);
    await sql`
      with event as (select * from unnest(${ids}::uuid[], ${envelopes}::text[]) as e (id, envelope)),
        kept as (insert into events select * from event)
      insert into deliveries (event_id, status, tries) select id, 'pending', 0 from event`;
    events.forEach(send);
  });
}

if (role === 'writer') writeContacts();
else {
  listenAndTell((_, response) => response.end());
  if (role === 'sender') await deliver();
  else
    await consume(
      role,
      gatherMs,
      (events) => sql`
      insert into ${sql(role)} select id, left(envelope, 100) from unnest(${columns(events)[0]}::uuid[], ${columns(events)[1]}::text[]) as e (id, envelope)`,
    );
}
