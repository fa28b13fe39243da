import { insertMissingContacts } from '@customer-platform/contact-copy';
import type { AppointmentWithHistory } from '@customer-platform/contracts/calendar';
import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { Channel, TemplateName } from '@customer-platform/contracts/messaging';
import type { Consumer, ReceivedEvent, WorkCall } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { MessagingResources } from '../implement.ts';
import { automaticSteps } from '../messages/automatic-steps.ts';
import { insertMessages, type NewMessage } from '../messages/messages.sql.ts';
import { selectAutomatic } from '../settings/settings.sql.ts';
import { appointmentText } from './appointment-text.ts';
import { selectOwnTexts } from './templates.sql.ts';

/** Data of calendar events that ask for messages. */
type Due = { appointment: AppointmentWithHistory; channel: Channel };
type DueDefinition = EventDefinition<string, z.ZodType<Due>>;

/**
 * Returns a consumer that sends an appointment's contact the text of `textOf`, one message per event even if
 * redelivered. It sends nothing about an appointment that has begun or will not take place. It also sends nothing if
 * none of the channels is set up, because the account has not asked for messages.
 */
export function sendAppointmentTexts<Definition extends DueDefinition>(
  definition: Definition,
  textOf: (data: EventData<Definition>) => TemplateName,
): Consumer<MessagingResources> {
  const { kind, audience, service } = definition;
  return {
    name: kind,
    filter: { audience, service, kind },
    batchSize: 200,
    take: (call, events) => sendTexts(call, events as ReceivedEvent<EventData<Definition>>[], textOf),
    committed: ({ sending }) => sending.wake(),
  };
}

async function sendTexts<Data extends Due>(
  { tx, now, log, findAccounts }: WorkCall<unknown>,
  events: readonly ReceivedEvent<Data>[],
  textOf: (data: Data) => TemplateName,
): Promise<void> {
  const isAhead = ({ data: { appointment } }: ReceivedEvent<Data>) =>
    ['requested', 'confirmed'].includes(appointment.status) && new Date(appointment.starts_at) > now;
  const ahead = events.filter(isAhead);
  const late = events.filter((event) => !isAhead(event));
  if (late.length > 0) {
    const appointments = late.map(({ data }) => data.appointment.id);
    log.info({ appointments }, 'skipped messages about appointments that have begun or will not take place');
  }
  if (ahead.length === 0) return;
  const accounts = findAccounts(ahead.map(({ account }) => account));
  const contacts = ahead.map(({ account, data }) => ({ account_id: account, ...data.appointment.contact }));
  await insertMissingContacts(tx, contacts);
  const ids = [...accounts.keys()];
  const [ownTexts, automatic] = await Promise.all([selectOwnTexts(tx, ids), selectAutomatic(tx, ids)]);
  const automaticOf = new Map(automatic.map((one) => [one.account_id, one]));
  const messages = ahead.flatMap(({ id, account: accountId, data, trace }): NewMessage[] => {
    const { appointment, channel } = data;
    const account = accounts.get(accountId);
    if (!account) {
      log.error({ account: accountId, appointment: appointment.id }, 'an appointment belongs to an unknown account');
      return [];
    }
    const name = textOf(data);
    const own = ownTexts.find((text) => text.account_id === accountId && text.name === name);
    const content = appointmentText(name, account, own, appointment);
    const steps = automaticSteps(channel, content, automaticOf.get(accountId)!, account);
    if (steps.length === 0) return [];
    return [
      {
        account_id: accountId,
        reference: `appointment-${appointment.id}`,
        contact_id: appointment.contact.id,
        given_to: null,
        purpose: 'service',
        steps,
        is_simulated: account.mode === 'test',
        useful_until: new Date(appointment.starts_at),
        needs_channels: false,
        send_at: null,
        key: id,
        trace: trace ?? null,
      },
    ];
  });
  if (messages.length > 0) await insertMessages(tx, messages, now);
}
