import type { Contact } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import type { Platform, RawResponse, TestAccount } from '@customer-platform/testkit';

export const nineToFive = weekOf(['09:00', '17:00']);

/** The same ranges on every day of the week. */
export function weekOf(...ranges: [string, string][]): Record<string, [string, string][]> {
  return Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, ranges]));
}

/** An account that takes bookings: a contact, teammates by first name, and one booking type. */
export interface Desk {
  account: TestAccount;
  contact: Contact;
  bookingType: number;
  /** Sends a request that must succeed and returns its body. Otherwise throws an error with the response. */
  get(path: string): Promise<RawResponse['body']>;
  post(path: string, body?: unknown): Promise<RawResponse['body']>;
  patch(path: string, body: unknown): Promise<RawResponse['body']>;
  /** Books the desk's contact and returns the response, whatever its status. */
  book(startsAt: string, more?: Record<string, unknown>): Promise<RawResponse>;
  /** Returns the free starts. */
  starts(query: Record<string, string | number>): Promise<string[]>;
}

interface DeskOptions {
  timezone?: string;
  staff?: Record<string, Record<string, unknown>>;
  bookingType?: Record<string, unknown>;
}

/** Creates a desk. By default Ada works 9 to 17 every day in Berlin and takes half-hour consultations. */
export async function openDesk(platform: Platform, options: DeskOptions = {}): Promise<Desk> {
  const { timezone = 'Europe/Berlin', staff = { ada: {} }, bookingType = {} } = options;
  const account = await platform.account({ timezone });
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await account.request(method, path, { body });
    if (response.status >= 300) throw new Error(`${method} ${path} returned ${response.status}: ${response.text}`);
    return response.body;
  };
  for (const [name, profile] of Object.entries(staff)) {
    await addMember(platform, account.id, name);
    await send('POST', '/v1/calendar/staff', { email: emailOf(name), hours: nineToFive, ...profile });
  }
  const contact = await send('POST', '/v1/cdp/contacts', { name: 'Carla Client', phone: '+4930901820' });
  const emails = Object.keys(staff).map(emailOf);
  const type = { name: 'Consultation', duration_minutes: 30, staff: emails, window_days: 365, ...bookingType };
  const made = await send('POST', '/v1/calendar/booking-types', type);
  return {
    account,
    contact,
    bookingType: made.id,
    get: (path) => send('GET', path),
    post: (path, body = {}) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body),
    book: (startsAt, more = {}) =>
      account.request('POST', '/v1/calendar/appointments', {
        body: { contact: contact.id, booking_type: made.id, starts_at: startsAt, ...more },
      }),
    starts: async (query) => {
      const search = new URLSearchParams({ booking_type: made.id, ...query } as Record<string, string>);
      const page = await send('GET', `/v1/calendar/free-times?${search}`);
      return page.data.map(({ starts_at }: { starts_at: string }) => starts_at);
    },
  };
}

/** Adds a member to the team and returns its id. */
export async function addMember(platform: Platform, accountId: string, name: string): Promise<string> {
  const body = { name: name[0]!.toUpperCase() + name.slice(1), email: emailOf(name) };
  const response = await platform.admin('POST', `/admin/accounts/${accountId}/members`, body);
  if (response.status !== 201) throw new Error(`creating the member failed: ${response.text}`);
  return response.body.id;
}

/** The email address of a person in the tests. */
export function emailOf(name: string): string {
  return `${name}@desk.example`;
}

/**
 * Inserts an appointment of each teammate of the desk in each range, like the operation but without its checks. `contact` replaces the desk's
 * contact.
 */
export async function insertAppointments(
  sql: Sql,
  desk: Desk,
  ranges: { startsAt: number | string; endsAt: number | string }[],
  { status = 'confirmed', contact = desk.contact.id } = {},
): Promise<void> {
  const instants = (end: 'startsAt' | 'endsAt') => ranges.map((range) => new Date(range[end]).toISOString());
  await sql`
    insert into appointments (account_id, booking_type_id, title, status, contact_id, staff_id, blocked_from, starts_at, ends_at, mode,
      location, meeting_link, notes, source, created_at, updated_at)
    select ${desk.account.id}, ${desk.bookingType}, 'Consultation', ${status}, ${contact}, id, at, at, until, 'online', '', '', '', 'api',
      now(), now()
    from staff, unnest(${instants('startsAt')}::text[]::timestamptz[], ${instants('endsAt')}::text[]::timestamptz[]) as t (at, until)
    where account_id = ${desk.account.id}`;
}

/** Returns the response expected for an invalid field. */
export const invalid = (field: string) => ({ status: 400, body: { error: { code: 'invalid_request', field } } });

/** Returns the response expected for an error with this code. */
export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });
