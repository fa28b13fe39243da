import { type Client, createClient } from '@customer-platform/client';
import { type ProcessPlatform, rawRequest, waitFor } from '@customer-platform/testkit';
import { requestBytes } from './load.ts';

/** Account with a bookable calendar, and the data to book in it. */
export interface CalendarAccount {
  id: string;
  /** URL of the gateway. */
  url: string;
  key: string;
  client: Client;
  contact: string;
  /** Emails of the teammates; `mate0@example.com` is the first. */
  teammates: string[];
  /** Creates a booking type of a quarter of an hour, with some teammates or all; returns its id. */
  bookingType(staff?: string[]): Promise<number>;
  /** Returns a booking request as bytes, with an Idempotency-Key of its own unless one is given. */
  booking(options: { type: number; startsAt: Date; staff?: string; key?: string }): Buffer;
}

const dayMs = 86_400_000;
export const slotMinutes = 15;
/** Slots of a teammate on one day, from 8 to 18. */
export const slotsOfDay = 40;
const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** Returns the email of a teammate by number. */
export const mateEmail = (index: number) => `mate${index}@example.com`;

/** Creates an account (UTC) with teammates who are available in `hours` on every day. */
export async function openAccount(
  platform: ProcessPlatform,
  teammates: number,
  hours: [string, string],
): Promise<CalendarAccount> {
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const emails = Array.from({ length: teammates }, (_, index) => mateEmail(index));
  for (const email of emails) {
    const member = { name: email.split('@')[0], email };
    const path = `/admin/accounts/${id}/members`;
    const made = await rawRequest(platform.adminUrl, 'POST', path, { body: member, key: platform.adminToken });
    if (made.status !== 201) throw new Error(`could not create a member: ${made.text}`);
    const open = Object.fromEntries(weekdays.map((day) => [day, [hours]]));
    await waitFor('the teammate', () => client.calendar.staff.create({ body: { email, hours: open } }));
  }
  const contact = await client.cdp.contacts.create({ body: { name: 'Ada Lovelace', phone: '+4930901820' } });
  return {
    id,
    url: platform.gatewayUrl,
    key,
    client,
    contact: contact.id,
    teammates: emails,
    bookingType: async (staff = emails) => {
      const shape = { duration_minutes: slotMinutes, slot_interval_minutes: slotMinutes, window_days: 365 };
      return (await client.calendar.bookingTypes.create({ body: { ...shape, name: 'Call', staff } })).id;
    },
    booking: ({ type, startsAt, staff, key: idempotencyKey }) => {
      const headers = { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey ?? crypto.randomUUID() };
      const body = { contact: contact.id, booking_type: type, starts_at: startsAt.toISOString(), staff };
      return requestBytes(platform.gatewayUrl, 'POST /v1/calendar/appointments', headers, JSON.stringify(body));
    },
  };
}

/** Returns the start of the day after tomorrow; from then on, every slot can be booked. */
export function firstDay(): number {
  return (Math.floor(Date.now() / dayMs) + 2) * dayMs;
}

/** Returns a day by its number from the first one, as YYYY-MM-DD. */
export const dateOf = (day: number) => new Date(firstDay() + day * dayMs).toISOString().slice(0, 10);

/** Returns the start of the n-th slot from 8 to 18 of the days from the first one on. */
export function bookableSlot(n: number): Date {
  const minutes = 8 * 60 + (n % slotsOfDay) * slotMinutes;
  return new Date(firstDay() + Math.floor(n / slotsOfDay) * dayMs + minutes * 60_000);
}
