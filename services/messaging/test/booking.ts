import type { Message, MessageStep } from '@customer-platform/contracts/messaging';
import { type Platform, type TestAccount, waitFor } from '@customer-platform/testkit';

const wholeDay = Object.fromEntries(
  ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, [['00:00', '24:00']]]),
);

/** An allowed address where nothing listens: these tests check texts, not delivery. */
const nowhere = 'http://127.0.0.1:9/';

interface DeskOptions {
  /** Body of POST /admin/accounts. */
  account?: Record<string, unknown>;
  contact?: Record<string, unknown>;
  bookingType?: Record<string, unknown>;
  /** True to use the account's sandbox. */
  isSandbox?: boolean;
}

/** An account in which Ada takes consultations at any time. The contact gets a confirmation and a reminder an hour before, by SMS. */
export interface Desk {
  account: TestAccount;
  client: TestAccount['client'];
  /** Id of the account or its sandbox. */
  accountId: string;
  contact: string;
  /** Books for the contact; returns the appointment's id. */
  book(startsAt: string, more?: Record<string, unknown>): Promise<string>;
  /** Waits until an appointment has `count` messages, and returns them, oldest first. */
  told(appointment: string, count: number): Promise<Message[]>;
}

export async function openDesk(platform: Platform, options: DeskOptions = {}): Promise<Desk> {
  const account = await platform.account({ name: 'Acme', ...options.account });
  const client = options.isSandbox ? account.testClient : account.client;
  const accountId = options.isSandbox ? account.sandboxId : account.id;
  for (const channel of ['sms', 'whatsapp', 'email'] as const) {
    await client.messages.channels.put({ params: { channel }, body: { provider: 'http', settings: { url: nowhere } } });
  }
  const ada = { name: 'Ada', email: 'ada@desk.example' };
  const member = await platform.admin('POST', `/admin/accounts/${accountId}/members`, ada);
  if (member.status !== 201) throw new Error(`the member was not created: ${member.text}`);
  await client.calendar.staff.create({ body: { email: ada.email, hours: wholeDay } });
  await client.calendar.settings.update({
    body: { confirmation: { channel: 'sms' }, reminders: [{ minutes_before: 60, channel: 'sms' }] },
  });
  const contact = await client.cdp.contacts.create({
    body: { name: 'Carla', phone: '+4930901820', ...options.contact },
  });
  const type = await client.calendar.bookingTypes.create({
    body: {
      name: 'Consultation',
      duration_minutes: 30,
      staff: [ada.email],
      window_days: 365,
      ...options.bookingType,
    },
  });
  return {
    account,
    client,
    accountId,
    contact: contact.id,
    book: async (starts_at, more = {}) =>
      (
        await client.calendar.appointments.create({
          body: { contact: contact.id, booking_type: type.id, starts_at, ...more },
        })
      ).id,
    told: (appointment, count) =>
      waitFor(`${count} messages`, async () => {
        const { data } = await client.messages.list({ query: { reference: `appointment-${appointment}` } });
        return data.length >= count && data.reverse();
      }),
  };
}

/** Returns the full texts of an appointment's messages, which no response shows, oldest first. */
export async function stepsOf(platform: Platform, appointment: string): Promise<MessageStep[][]> {
  const sql = platform.database('messaging');
  const rows = await sql<{ steps: MessageStep[] }[]>`
    select steps from messages where reference = ${`appointment-${appointment}`} order by id`;
  return rows.map(({ steps }) => steps);
}
