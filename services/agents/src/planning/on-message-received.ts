import { keepGivenContacts } from '@customer-platform/contact-copy';
import type { EventData } from '@customer-platform/contracts/core';
import { type InboundMessage, messageReceived } from '@customer-platform/contracts/messaging';
import type { Consumer, ReceivedEvent } from '@customer-platform/service-kit';
import type { AgentsResources } from '../implement.ts';
import { insertInboundRequests } from '../plans/plan-requests.sql.ts';

const { kind, audience, service } = messageReceived;

/**
 * Requests a plan for each inbound message that says something, to an account with a live agent, once even if the message is redelivered; for
 * none by which the contact opts out of marketing, or in again.
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
    await keepGivenContacts(tx, contacts);
    const requests = taken
      .filter(({ data }) => saysSomething(data.message))
      .map(({ account, data: { message, contact }, trace }) => {
        const { id: message_id, channel, body: text } = message;
        return { account_id: account, contact_id: contact.id, text, channel, message_id, trace: trace ?? null };
      });
    if (requests.length > 0) await insertInboundRequests(tx, requests, now);
  },
  committed: ({ planner }) => planner.wake(),
};

/** Returns whether an agent can do something about a message; one that Messages of the release before announced has no type. */
function saysSomething({ type, body }: Partial<InboundMessage> & Pick<InboundMessage, 'body'>): boolean {
  return body.trim() !== '' && type !== 'reaction' && type !== 'unsupported';
}
