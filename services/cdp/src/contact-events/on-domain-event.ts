import { uuid } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import { tryHoldIdentities } from '../contacts/identities.sql.ts';
import { type DomainEvent, insertDomainEvents } from './contact-events.sql.ts';

/**
 * Consumes every public event of the platform, in batches: one about a contact becomes an event of that contact, named
 * by its kind.
 */
export const onDomainEvent: Consumer<unknown> = {
  name: 'domain-events',
  filter: { audience: 'public' },
  batchSize: 500,
  // Audiences follow within a minute: nobody waits for these.
  gatherMs: 200,
  async take({ tx }, received) {
    const events = received.map(toDomainEvent).filter((event) => event !== undefined);
    if (events.length === 0) return;
    await tryHoldIdentities(
      tx,
      events.map(({ account }) => account),
    );
    await insertDomainEvents(tx, events);
  },
};

/**
 * Returns the event of a contact, undefined if neither its data nor the resource that its kind is named after has a
 * contact.
 */
function toDomainEvent({ id, type, timestamp, account, data }: ReceivedEvent): DomainEvent | undefined {
  const family = type.slice(0, type.indexOf('.'));
  const { contact: named, [family]: about } = data as Record<
    string,
    { id?: unknown; contact?: Named } | null | undefined
  >;
  const contact = idOf((named as Named) ?? about?.contact);
  if (contact === undefined) return undefined;
  const properties = family === 'contact' || about?.id === undefined ? {} : { [family]: about.id };
  return { id, name: type, at: new Date(timestamp), account, contact, properties };
}

type Named = { id?: unknown } | null | undefined;

/** Returns a contact's id, or its number if that is what the resource shows. */
function idOf(contact: Named): string | number | undefined {
  if (Number.isSafeInteger(contact?.id)) return contact!.id as number;
  return uuid.safeParse(contact?.id).data;
}
