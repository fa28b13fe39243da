import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import postgres from 'postgres';
import { atPace, type Hostility, pause, send } from './hostility.ts';

const oversizedBytes = 1_500_000;
const oversizedAtOnce = 20;
const rubbishAtOnce = 1_000;
const rubbishEveryMs = 12_000;

/** A contact at its size limits whose every field and tag changes each time: the event carries all of it twice. */
export const growingContact: Hostility = {
  name: 'PATCHes of a contact at its bounds',
  async run(setting, signal, tally) {
    const { key, contact } = setting.growing;
    const bodies = ['a', 'b'].map((letter) => {
      const fields = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`f${index}`, letter.repeat(990)]));
      const tags = Array.from({ length: 100 }, (_, index) => `${letter.repeat(95)}${index}`);
      return JSON.stringify({ fields, tags });
    });
    await atPace(2, signal, async (index) => {
      const request = { key, method: 'PATCH', path: `/v1/cdp/contacts/${contact}`, body: bodies[index % 2]! };
      tally.add((await send(setting, request, signal)).status);
    });
  },
};

/** Events in the outboxes of two services that are larger than the bus accepts, all at once: each is retried again and again. */
export const oversizedEvents: Hostility = {
  name: 'events over the limit of the bus, put into two outboxes',
  async run(setting, _signal, tally) {
    const sql = postgres(setting.databaseUrl, { max: 1, onnotice: () => undefined });
    // Made once, and copied as it is stored: quoting and compressing 60 MB would take the processors that the round measures.
    const head = {
      type: 'contact.updated',
      timestamp: new Date().toISOString(),
      account: setting.growing.id,
      mode: 'live',
    };
    const envelope = JSON.stringify({ id: randomUUIDv7(), ...head, data: { text: 'x'.repeat(oversizedBytes) } });
    const insert = async (schema: string, kind: string, count: number) => {
      await sql`
        insert into ${sql(schema)}.outbox (account_id, id, kind, audience, envelope)
        select ${setting.growing.id}::uuid, uuidv7(), ${kind}, 'public', envelope from oversized, generate_series(1, ${count}::int)`;
      tally.add('rows', count);
    };
    try {
      await sql`create temporary table oversized (envelope text)`;
      await sql`insert into oversized values (${envelope})`;
      await insert('cdp', 'contact.updated', oversizedAtOnce);
      await insert('crm', 'deal.updated', oversizedAtOnce);
    } finally {
      await sql.end();
    }
  },
};

/** Invalid JSON, JSON that is no event, and events that no consumer can process, a third each, under a subject with many consumers. */
export const rubbishOnTheBus: Hostility = {
  name: 'rubbish and events that nobody can take, published to the bus',
  async run(setting, signal, tally) {
    const { hostname, port, username, password } = new URL(setting.busUrl);
    const bus = await connect({
      servers: `${hostname}:${port}`,
      user: username,
      pass: decodeURIComponent(password),
      reconnect: false,
    });
    const kind = 'contact.updated';
    const contents = [
      () => 'no JSON',
      () => JSON.stringify({ type: kind, data: null }),
      () => {
        const head = { id: randomUUIDv7(), type: kind, timestamp: new Date().toISOString(), account: randomUUID() };
        return JSON.stringify({ ...head, mode: 'live', data: { contact: { id: 'nobody', name: 1 } } });
      },
    ];
    try {
      while (!signal.aborted) {
        for (let index = 0; index < rubbishAtOnce; index++) {
          bus.publish(`platform.event.public.cdp.${kind}`, contents[index % contents.length]!());
        }
        await bus.flush();
        tally.add('messages', rubbishAtOnce);
        await pause(rubbishEveryMs, signal);
      }
    } finally {
      await bus.close();
    }
  },
};
