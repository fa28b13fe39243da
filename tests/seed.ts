import type { TestAccount } from '@customer-platform/testkit';

/** An endpoint address that is allowed and where nobody listens: for tests in which no delivery matters. */
const nowhere = 'http://127.0.0.1:9/';

/** The start of the next Monday at 10:00 UTC plus `weeks` weeks: open in the seeded hours, ahead of every notice. */
export function nextMonday(now: Date, weeks = 0): Date {
  const days = ((8 - now.getUTCDay()) % 7 || 7) + weeks * 7;
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + days, 10));
}

/** One resource of each kind in an account (UTC, with a member ada@example.com), by the name of its path parameter. */
export async function seed(account: TestAccount, now: Date): Promise<Record<string, string | number>> {
  const { client } = account;
  const contact = await client.createContact({ body: { name: 'Ada', phone: '+4930901820', external_id: 'seed' } });
  await client.createStaff({ body: { email: 'ada@example.com', hours: { mon: [['08:00', '18:00']] } } });
  const timeOff = await client.createTimeOff({
    params: { email: 'ada@example.com' },
    body: { from: '2030-01-01', to: '2030-01-02' },
  });
  const type = await client.createBookingType({
    body: { name: 'Call', duration_minutes: 30, staff: ['ada@example.com'], window_days: 365 },
  });
  const appointment = await client.bookAppointment({
    body: { contact: contact.id, booking_type: type.id, starts_at: nextMonday(now).toISOString() },
  });
  const endpoint = await client.createEndpoint({ body: { url: nowhere, events: ['order.declined'] } });
  const delivery = await client.testEndpoint({ params: { endpoint_id: endpoint.id } });
  const replay = await client.replayDeliveries({
    params: { endpoint_id: endpoint.id },
    body: { since: now.toISOString() },
  });
  return {
    contact_id: contact.id,
    external_id: 'seed',
    email: 'ada@example.com',
    time_off_id: timeOff.id,
    booking_type_id: type.id,
    appointment_id: appointment.id,
    endpoint_id: endpoint.id,
    delivery_id: delivery.id,
    event_id: delivery.event_id,
    replay_id: replay.id,
  };
}

/** The path of an operation with these parameters; throws where the seed lacks one, so that no operation is left out. */
export function pathOf(template: string, params: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (_match, name: string) => {
    if (params[name] === undefined) throw new Error(`the seed has no ${name}: add the resource to tests/seed.ts`);
    return encodeURIComponent(params[name]);
  });
}
