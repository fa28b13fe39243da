import { uuid } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import { tryHoldIdentities } from '../contacts/identities.sql.ts';
import { type DomainEvent, insertDomainEvents } from './contact-events.sql.ts';

/** Consumes all public events of the platform in batches. An event about a contact becomes an event of that contact, named after its type. */
export const onDomainEvent: Consumer<unknown> = {
  name: 'domain-events',
  filter: { audience: 'public' },
  batchSize: 500,
  // Audiences may lag up to a minute, so a delay here does not matter.
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

/** Returns the contact's event. Undefined if neither `data` nor the resource that the type is named after has a contact. */
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

/** Returns the contact's id, or its number if the resource shows the number as `id`. */
function idOf(contact: Named): string | number | undefined {
  if (Number.isSafeInteger(contact?.id)) return contact!.id as number;
  return uuid.safeParse(contact?.id).data;
}
