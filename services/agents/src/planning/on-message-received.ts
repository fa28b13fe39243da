import { insertMissingContacts } from '@customer-platform/contact-copy';
import type { EventData } from '@customer-platform/contracts/core';
import { type InboundMessage, messageReceived } from '@customer-platform/contracts/messaging';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import type { AgentsResources } from '../implement.ts';
import { insertInboundRequests } from '../plans/plan-requests.sql.ts';

const { kind, audience, service } = messageReceived;

/**
 * Requests a plan for each actionable inbound message to an account with a live agent. A redelivered message gets no second plan. Skips
 * messages that opt out of marketing or opt in again.
 */
export const onMessageReceived: Consumer<AgentsResources> = {
  name: kind,
  filter: { audience, service, kind },
  batchSize: 200,
  async take({ tx, now, findAccounts }, received) {
    const events = received as ReceivedEvent<EventData<typeof messageReceived>>[];
    const accounts = findAccounts(events.map(({ account }) => account));
    const taken = events.filter(
      ({ account, data }) => !data.opt_out && !data.opt_in && accounts.get(account)?.modules.includes('agents'),
    );
    if (taken.length === 0) return;
    const contacts = taken.map(({ account, data }) => ({ account_id: account, ...data.contact }));
    await insertMissingContacts(tx, contacts);
    const requests = taken
      .filter(({ data }) => isActionable(data.message))
      .map(({ account, data: { message, contact }, trace }) => {
        const { id: message_id, channel, body: text } = message;
        return { account_id: account, contact_id: contact.id, text, channel, message_id, trace: trace ?? null };
      });
    if (requests.length > 0) await insertInboundRequests(tx, requests, now);
  },
  committed: ({ planner }) => planner.wake(),
};

/** Returns whether an agent can act on a message. `type` is missing in events from the previous release of Messages. */
function isActionable({ type, body }: Partial<InboundMessage> & Pick<InboundMessage, 'body'>): boolean {
  return body.trim() !== '' && type !== 'reaction' && type !== 'unsupported';
}
