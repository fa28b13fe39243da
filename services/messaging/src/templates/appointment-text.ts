import type { Appointment } from '@customer-platform/contracts/calendar';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { TemplateName } from '@customer-platform/contracts/messaging';
import type { AutomaticContent } from '../messages/automatic-steps.ts';
import { defaultText } from './default-texts.ts';
import { localDateAndTime, render } from './render.ts';
import type { OwnText } from './templates.sql.ts';

/** Maximum code points, as in the API's messages. */
const maxSubject = 255;
const maxBody = 4_096;
const maxParameter = 1_024;

type Speaker = Pick<AccountContext, 'name' | 'language' | 'timezone'>;

/**
 * Returns the text for an appointment's contact: the account's own, or the default. An own text has dates in the
 * account's language, the default in its own language. The default replaces an own body that renders empty. Parameters
 * of a WhatsApp template are in the account's language. WhatsApp accepts no empty parameter and no line breaks.
 */
export function appointmentText(
  name: TemplateName,
  account: Speaker,
  own: Pick<OwnText, 'subject' | 'body' | 'whatsapp'> | undefined,
  appointment: Appointment,
): AutomaticContent {
  const standard = defaultText(name, account.language);
  const say = (text: string, language: string, max: number) =>
    render(text, valuesOf(appointment, account, language), max);
  const subject =
    own?.subject == null
      ? say(standard.subject, standard.language, maxSubject)
      : say(own.subject, account.language, maxSubject);
  const parameterOf = (text: string) => say(text, account.language, maxParameter).replace(/\s+/g, ' ') || '-';
  const template = own?.whatsapp && { ...own.whatsapp, parameters: own.whatsapp.parameters.map(parameterOf) };
  const body = own?.body == null ? '' : say(own.body, account.language, maxBody);
  return {
    // A header is one line.
    subject: subject.replace(/\s+/g, ' '),
    body: body === '' ? say(standard.body, standard.language, maxBody) : body,
    template: template ?? undefined,
  };
}

function valuesOf(appointment: Appointment, account: Speaker, language: string) {
  const { title, contact, staff, location, meeting_link, starts_at } = appointment;
  return {
    contact_name: contact.name,
    account_name: account.name,
    staff_name: staff.name,
    title,
    location,
    meeting_link,
    ...localDateAndTime(new Date(starts_at), language, account.timezone),
  };
}
