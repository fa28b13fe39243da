import type { Message, MessageStep } from '@customer-platform/contracts/messaging';
import { type Platform, type TestAccount, waitFor } from '@customer-platform/testkit';

const wholeDay = Object.fromEntries(
  ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, [['00:00', '24:00']]]),
);

/** An address that is allowed and where nobody listens: what is said counts, not what becomes of it. */
const nowhere = 'http://127.0.0.1:9/';

interface DeskOptions {
  /** As POST /admin/accounts takes it. */
  account?: Record<string, unknown>;
  contact?: Record<string, unknown>;
  bookingType?: Record<string, unknown>;
  /** Whether all of it is the sandbox's. */
  isSandbox?: boolean;
}

/** An account in which Ada takes consultations at any time, whose contact is told by sms, as is a reminder an hour before. */
export interface Desk {
  account: TestAccount;
  client: TestAccount['client'];
  /** Of the account, or its sandbox. */
  accountId: string;
  contact: string;
  /** Books the contact; answers the appointment's id. */
  book(startsAt: string, more?: Record<string, unknown>): Promise<string>;
  /** The messages of an appointment, oldest first, once they are as many. */
  told(appointment: string, count: number): Promise<Message[]>;
}

export async function openDesk(platform: Platform, options: DeskOptions = {}): Promise<Desk> {
  const account = await platform.account({ name: 'Acme', ...options.account });
  const client = options.isSandbox ? account.testClient : account.client;
  const accountId = options.isSandbox ? account.sandboxId : account.id;
  for (const channel of ['sms', 'whatsapp', 'email'] as const) {
    await client.putChannel({ params: { channel }, body: { provider: 'http', settings: { url: nowhere } } });
  }
  const ada = { name: 'Ada', email: 'ada@desk.example' };
  const member = await platform.admin('POST', `/admin/accounts/${accountId}/members`, ada);
  if (member.status !== 201) throw new Error(`no member was made: ${member.text}`);
  await client.createStaff({ body: { email: ada.email, hours: wholeDay } });
  await client.updateSettings({
    body: { confirmation: { channel: 'sms' }, reminders: [{ minutes_before: 60, channel: 'sms' }] },
  });
  const contact = await client.createContact({ body: { name: 'Carla', phone: '+4930901820', ...options.contact } });
  const type = await client.createBookingType({
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
      (await client.bookAppointment({ body: { contact: contact.id, booking_type: type.id, starts_at, ...more } })).id,
    told: (appointment, count) =>
      waitFor(`${count} messages`, async () => {
        const { data } = await client.listMessages({ query: { reference: `appointment-${appointment}` } });
        return data.length >= count && data.reverse();
      }),
  };
}

/** What no answer shows of the messages about an appointment: the texts in full, oldest first. */
export async function stepsOf(platform: Platform, appointment: string): Promise<MessageStep[][]> {
  const sql = platform.database('messaging');
  const rows = await sql<{ steps: MessageStep[] }[]>`
    select steps from messages where reference = ${`appointment-${appointment}`} order by id`;
  return rows.map(({ steps }) => steps);
}
