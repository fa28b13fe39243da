import { randomUUIDv7 } from 'node:crypto';
import postgres from 'postgres';
import { atPace, type Hostility, send } from './hostility.ts';

const oversizedBytes = 1_500_000;
const oversizedAtOnce = 20;

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
