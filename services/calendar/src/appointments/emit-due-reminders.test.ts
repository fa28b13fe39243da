import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, openDesk } from '../../test/calendar.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'calendar'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-06-01T08:00:00Z'));

const reminders = [
  { minutes_before: 1_440, channel: 'email' },
  { minutes_before: 60, channel: 'sms' },
  { minutes_before: 43_200, channel: 'email' }, // due before the booking: never sent
];
const startsAt = '2026-06-04T09:00:00+02:00';

/** Returns the events emitted for an account, as `kind reason channel`, once there are as many as expected. */
async function emitted(desk: Desk, count: number): Promise<string[]> {
  return await waitFor(`${count} events`, () => {
    const events = platform.events(desk.account.id).filter(({ type }) => type.endsWith('.due'));
    const lines = events.map(({ type, data }) => `${type} ${data.reason ?? data.minutes_before} ${data.channel}`);
    return lines.length >= count ? lines : undefined;
  });
}

describe('the message to a contact', () => {
  it('is a confirmation at once, and each reminder once when it is due', async () => {
    const desk = await openDesk(platform, { bookingType: { reminders } });
    await desk.patch('/v1/calendar/settings', {
      confirmation: { channel: 'email' },
      reminders: [{ minutes_before: 5, channel: 'sms' }],
    });
    const { body } = await desk.book(startsAt);
    expect(await emitted(desk, 1)).toEqual(['confirmation.due booked email']);
    platform.clock.set('2026-06-03T07:00:01Z');
    expect(await emitted(desk, 2)).toEqual(['confirmation.due booked email', 'reminder.due 1440 email']);
    platform.clock.set('2026-06-04T06:30:00Z');
    expect((await emitted(desk, 3)).at(-1)).toBe('reminder.due 60 sms');
    const due = await platform.event(desk.account.id, 'reminder.due', (data) => data.minutes_before === 60);
    expect(due.data.appointment).toEqual(await desk.get(`/v1/calendar/appointments/${body.id}`));
  });

  it("uses the account's reminders if the booking type has none, and no confirmation if it is off", async () => {
    const desk = await openDesk(platform);
    const settings = { confirmation: { enabled: false }, reminders: [{ minutes_before: 5, channel: 'sms' }] };
    await desk.patch('/v1/calendar/settings', settings);
    await desk.book(startsAt);
    platform.clock.set('2026-06-04T06:56:00Z');
    expect(await emitted(desk, 1)).toEqual(['reminder.due 5 sms']);
  });

  it('is on time, however many reminders another account has', async () => {
    const desk = await openDesk(platform, { bookingType: { reminders: [{ minutes_before: 60, channel: 'sms' }] } });
    await desk.book(startsAt);
    const sql = platform.database('calendar');
    const busy = await openDesk(platform, { bookingType: { reminders: [] } });
    const { body } = await busy.book(startsAt);
    const many = busy.account.id;
    await sql`
      insert into reminders (account_id, appointment_id, channel, minutes_before, due_at)
      select ${many}, ${body.id}, 'sms', 60, '2026-06-04T05:00:00Z' from generate_series(1, 10000)`;
    platform.clock.set('2026-06-04T06:30:00Z');
    const { timestamp: at } = await platform.event(desk.account.id, 'reminder.due');
    await sql`delete from reminders where account_id = ${many}`;
    await waitFor('all events to be published', async () => (await sql`select from outbox`).length === 0);
    // The time it was emitted, not received by this test.
    const isBefore = ({ type, timestamp }: { type: string; timestamp: string }) =>
      type === 'reminder.due' && Date.parse(timestamp) < Date.parse(at);
    expect(platform.events(many).filter(isBefore).length).toBeLessThan(5_000);
  });

  it('moves with the appointment', async () => {
    const desk = await openDesk(platform, { bookingType: { reminders } });
    const { body } = await desk.book(startsAt);
    await emitted(desk, 1);
    await desk.post(`/v1/calendar/appointments/${body.id}/reschedule`, { starts_at: '2026-06-10T09:00:00+02:00' });
    expect((await emitted(desk, 2)).at(-1)).toBe('confirmation.due rescheduled whatsapp');
    platform.clock.set('2026-06-09T07:00:01Z');
    expect((await emitted(desk, 3)).at(-1)).toBe('reminder.due 1440 email');
    const due = await platform.event(desk.account.id, 'reminder.due');
    expect(due.data.appointment.starts_at).toBe('2026-06-10T09:00:00+02:00');
  });

  it.each(['complete', 'cancel', 'no_show'])('is dropped by %s', async (action) => {
    const desk = await openDesk(platform, { bookingType: { reminders: [{ minutes_before: 5, channel: 'sms' }] } });
    const [ended, kept] = [await desk.book('2026-06-01T11:00:00+02:00'), await desk.book('2026-06-01T11:30:00+02:00')];
    await emitted(desk, 2);
    platform.clock.set(action === 'no_show' ? '2026-06-01T09:00:00Z' : '2026-06-01T08:50:00Z');
    if (action === 'no_show') await emitted(desk, 3);
    await desk.post(`/v1/calendar/appointments/${ended.body.id}/${action}`);
    platform.clock.set('2026-06-01T09:26:00Z');
    const isOfKept = (data: { appointment: { id: string } }) => data.appointment.id === kept.body.id;
    await platform.event(desk.account.id, 'reminder.due', isOfKept);
    expect(await emitted(desk, 1)).toHaveLength(action === 'no_show' ? 4 : 3);
  });

  it('is dropped only if it falls due while Calendar is off', async () => {
    const bookingType = { reminders: [{ minutes_before: 60, channel: 'sms' }] };
    const [off, on] = [await openDesk(platform, { bookingType }), await openDesk(platform, { bookingType })];
    for (const desk of [off, on]) await desk.book('2026-06-01T11:30:00+02:00');
    const change = { modules: { calendar: { on: false } } };
    expect((await platform.admin('PATCH', `/admin/accounts/${off.account.id}`, change)).status).toBe(200);
    platform.clock.set('2026-06-01T08:31:00Z');
    expect((await emitted(on, 2)).at(-1)).toBe('reminder.due 60 sms');
    const sql = platform.database('calendar');
    await waitFor('the reminder to be dropped', async () => {
      return (await sql`select from reminders where account_id = ${off.account.id}`).length === 0;
    });
    await waitFor('all events to be published', async () => (await sql`select from outbox`).length === 0);
    expect(await emitted(off, 1)).toEqual(['confirmation.due booked whatsapp']);
  });

  it('does not wait for a reminder that is too large for an event', async () => {
    const bookingType = { reminders: [{ minutes_before: 60, channel: 'sms' }] };
    const [large, other] = [await openDesk(platform, { bookingType }), await openDesk(platform, { bookingType })];
    const { body } = await large.book('2026-06-01T11:30:00+02:00');
    const { body: later } = await large.book('2026-06-01T12:30:00+02:00');
    await other.book('2026-06-01T11:30:00+02:00');
    await platform.database('calendar')`
      insert into appointment_history (account_id, appointment_id, kind, summary, at)
      values (${large.account.id}, ${body.id}, 'edited', ${'x'.repeat(1_000_000)}, now())`;
    platform.clock.set('2026-06-01T08:31:00Z');
    expect((await emitted(other, 2)).at(-1)).toBe('reminder.due 60 sms');
    // The account's next reminder: one of the large appointment would have come first.
    platform.clock.set('2026-06-01T09:31:00Z');
    await platform.event(large.account.id, 'reminder.due', ({ appointment }) => appointment.id === later.id);
    const confirmation = 'confirmation.due booked whatsapp';
    expect(await emitted(large, 3)).toEqual([confirmation, confirmation, 'reminder.due 60 sms']);
  });

  it('is emitted while the account is suspended, so that Messages fails it', async () => {
    const desk = await openDesk(platform, { bookingType: { reminders: [{ minutes_before: 60, channel: 'sms' }] } });
    await desk.book('2026-06-01T11:30:00+02:00');
    const suspended = await platform.admin('PATCH', `/admin/accounts/${desk.account.id}`, { status: 'suspended' });
    expect(suspended.status).toBe(200);
    platform.clock.set('2026-06-01T08:31:00Z');
    expect((await emitted(desk, 2)).at(-1)).toBe('reminder.due 60 sms');
  });
});
