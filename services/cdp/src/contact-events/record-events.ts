import { randomUUIDv7 } from 'node:crypto';
import * as contract from '@customer-platform/contracts/cdp';
import type { ListEntry } from '@customer-platform/contracts/core';
import { holdIdentities } from '../contacts/identities.sql.ts';
import { canHaveHappened } from '../contacts/latest-instant.ts';
import { implement } from '../implement.ts';
import { type GivenEvent, insertEvents } from './contact-events.sql.ts';

export const recordEvents = implement(contract.recordEvents, {
  async handle({ account, body, tx, now }) {
    const read = body.events.map((entry, index) => datedEvent(entry, index, now));
    const good = read.flatMap((result, index) => (typeof result === 'string' ? [] : [{ index, event: result }]));
    const messages = new Map(read.flatMap((result, index) => (typeof result === 'string' ? [[index, result]] : [])));
    let recorded = 0;
    if (good.length > 0) {
      await holdIdentities(tx, [account.id]);
      const events = good.map(({ event }) => event);
      const outcome = await insertEvents(tx, account.id, events);
      recorded = outcome.recorded;
      for (const place of outcome.unknown) messages.set(good[place]!.index, unknownContact(good[place]!));
    }
    const rejected = [...messages].sort(([one], [other]) => one - other);
    return {
      accepted: recorded,
      repeated: read.length - recorded - rejected.length,
      rejected: rejected.map(([index, message]) => ({ index, code: 'invalid_request' as const, message })),
    };
  },
});

/** Returns the event, or an error message. */
function datedEvent(
  { value, fault }: ListEntry<contract.ContactEventInput>,
  index: number,
  now: Date,
): GivenEvent | string {
  if (fault !== undefined) return fault;
  const { id = randomUUIDv7(), at = now, contact, external_id, name, properties } = value;
  if (!canHaveHappened(at, now)) return `events[${index}].at must be at most 5 minutes ahead of now`;
  return { id, name, at, properties, contact, external_id };
}

function unknownContact({ index, event }: { index: number; event: GivenEvent }): string {
  return event.contact === undefined
    ? `events[${index}].external_id must be the external id of a contact of this account`
    : `events[${index}].contact must be the id of a contact of this account`;
}
