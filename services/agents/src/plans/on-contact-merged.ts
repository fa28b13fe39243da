import { applyContactEvents } from '@customer-platform/contact-copy';
import { contactMerged, contactUnmerged } from '@customer-platform/contracts/cdp';
import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import { keepNumbers, renumberPlans } from './contact-numbers.sql.ts';

type Numbered = { id: string; number: number };

/** Sets the plans of a merged contact to the surviving contact's number. */
export const onContactMerged = renumbering(contactMerged, ({ contact, merged }) => ({
  moved: merged.id,
  numbered: [contact],
}));

/** Sets the plans of a restored contact back to its own number. */
export const onContactUnmerged = renumbering(contactUnmerged, ({ contact, restored }) => ({
  moved: restored.id,
  numbered: [contact, restored],
}));

/**
 * Returns a consumer that updates the contact number of plans whose contact resolves to another contact after the event. It updates the
 * contact copy first. So the numbers are right after the last event, in any order of events.
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
      await applyContactEvents(tx, events);
      for (const { account, data } of events as ReceivedEvent<EventData<Definition>>[]) {
        const { moved, numbered } = read(data);
        await keepNumbers(tx, account, numbered);
        await renumberPlans(tx, account, moved);
      }
    },
  };
}
