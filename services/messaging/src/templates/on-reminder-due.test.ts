import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, openDesk, stepsOf } from '../../test/booking.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'calendar', 'messaging'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-11-02T08:00:00Z'));

/** Sets the clock to this hour, and waits for a reminder due then, so that earlier ones have arrived too. */
async function pass(desk: Desk, hour: number): Promise<void> {
  const later = await desk.book(`2026-11-02T${hour + 1}:00:00Z`);
  platform.clock.set(`2026-11-02T${hour}:00:01Z`);
  await desk.told(later, 2);
}

describe('a contact with an appointment', () => {
  it('is reminded once, at the set time before', async () => {
    const desk = await openDesk(platform, { account: { timezone: 'UTC' } });
    const appointment = await desk.book('2026-11-02T14:00:00Z', { meeting_link: 'https://meet.example/1' });
    await pass(desk, 12);
    expect(await desk.told(appointment, 1)).toHaveLength(1);
    platform.clock.set('2026-11-02T13:00:01Z');
    const told = await desk.told(appointment, 2);
    await pass(desk, 14);
    expect(await desk.told(appointment, 2)).toHaveLength(2);
    expect(told[1]).toMatchObject({
      channel: 'sms',
      contact: { id: desk.contact },
      body: [
        'A reminder of your appointment with Acme:',
        'Consultation, Monday, November 2, 2026 at 2:00 PM',
        'https://meet.example/1',
      ].join('\n'),
    });
    const subject = 'Reminder: your appointment on Monday, November 2, 2026';
    expect((await stepsOf(platform, appointment))[1]).toMatchObject([
      { channel: 'sms', subject },
      { channel: 'email', subject },
    ]);
  });

  it('is reminded with the account’s own text, on the channel of each reminder', async () => {
    const reminders = [
      { minutes_before: 120, channel: 'whatsapp' },
      { minutes_before: 30, channel: 'sms' },
    ];
    const desk = await openDesk(platform, { bookingType: { reminders } });
    await desk.client.messages.settings.update({ body: { automatic: { fallback: [] } } });
    await desk.client.messages.templates.update({
      body: { appointment_reminder: { body: '{{title}} with {{staff_name}}' } },
    });
    const appointment = await desk.book('2026-11-02T14:00:00Z');
    await desk.told(appointment, 1);
    platform.clock.set('2026-11-02T12:00:01Z');
    await desk.told(appointment, 2);
    platform.clock.set('2026-11-02T13:30:01Z');
    const shown = (await desk.told(appointment, 3)).map(({ channel, body }) => `${channel} ${body}`);
    expect(shown.slice(1)).toEqual(['whatsapp Consultation with Ada', 'sms Consultation with Ada']);
  });

  it('is reminded of the new time after a move, not of the old one', async () => {
    const desk = await openDesk(platform, { account: { timezone: 'UTC' } });
    const appointment = await desk.book('2026-11-02T13:00:00Z');
    const params = { appointment_id: appointment };
    await desk.client.calendar.appointments.reschedule({ params, body: { starts_at: '2026-11-02T18:00:00Z' } });
    await pass(desk, 14);
    expect(await desk.told(appointment, 2)).toHaveLength(2);
    platform.clock.set('2026-11-02T17:00:01Z');
    const told = await desk.told(appointment, 3);
    await pass(desk, 19);
    expect(await desk.told(appointment, 3)).toHaveLength(3);
    expect(told[2]!.body).toMatch(/^A reminder[\s\S]* at 6:00 PM$/);
  });

  it('is not reminded of a canceled or completed one', async () => {
    const desk = await openDesk(platform);
    const cancelled = await desk.book('2026-11-02T13:00:00Z');
    const completed = await desk.book('2026-11-02T14:00:00Z');
    const kept = await desk.book('2026-11-02T15:00:00Z');
    for (const id of [cancelled, completed]) await desk.told(id, 1);
    await desk.client.calendar.appointments.cancel({ params: { appointment_id: cancelled }, body: {} });
    await desk.client.calendar.appointments.complete({ params: { appointment_id: completed }, body: {} });
    platform.clock.set('2026-11-02T14:00:01Z');
    await desk.told(kept, 2);
    for (const id of [cancelled, completed]) expect(await desk.told(id, 1)).toHaveLength(1);
  });

  it('is not reminded of one that has begun when the reminder arrives', async () => {
    const desk = await openDesk(platform);
    const begun = await desk.book('2026-11-02T13:00:00Z');
    const ahead = await desk.book('2026-11-02T14:30:00Z');
    await desk.told(begun, 1);
    platform.clock.set('2026-11-02T13:30:01Z');
    await desk.told(ahead, 2);
    expect(await desk.told(begun, 1)).toHaveLength(1);
  });
});
