import { keepContactsOf } from '@customer-platform/contact-copy';
import { contactMerged, contactUnmerged } from '@customer-platform/contracts/cdp';
import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import { keepNumbers, renumberPlans } from './contact-numbers.sql.ts';

type Numbered = { id: string; number: number };

/** Gives the plans of a merged contact the surviving contact's number. */
export const onContactMerged = renumbering(contactMerged, ({ contact, merged }) => ({
  moved: merged.id,
  numbered: [contact],
}));

/** Gives the plans of a restored contact its own number again. */
export const onContactUnmerged = renumbering(contactUnmerged, ({ contact, restored }) => ({
  moved: restored.id,
  numbered: [contact, restored],
}));

/**
 * Returns a consumer that sets the number of plans whose contact resolves to another one since the event. The copy is brought up to date
 * first: whatever the order of the events, the last of them leaves the number of who then is the contact.
 */
function renumbering<Definition extends EventDefinition>(
  definition: Definition,
  read: (data: EventData<Definition>) => { moved: string; numbered: Numbered[] },
): Consumer<unknown> {
  const { kind, audience, service } = definition;
  return {
    name: kind,
    filter: { audience, service, kind },
    batchSize: 100,
    async take({ tx }, events) {
      await keepContactsOf(tx, events);
      for (const { account, data } of events as ReceivedEvent<EventData<Definition>>[]) {
        const { moved, numbered } = read(data);
        await keepNumbers(tx, account, numbered);
        await renumberPlans(tx, account, moved);
      }
    },
  };
}
