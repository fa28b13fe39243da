import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Bus } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDesk, stepsOf } from '../../test/booking.ts';
import { connectAs } from '../../test/messaging.ts';

let platform: Platform;
let bus: Bus;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'calendar', 'messaging'] });
  platform.clock.set('2026-11-02T08:00:00Z');
  bus = await connectAs(platform, 'calendar');
}, 60_000);
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

const hourMs = 3_600_000;
const startsAt = '2026-12-24T16:00:00+01:00';

/** Publishes an event of calendar again, unchanged or with a change. */
// biome-ignore lint/suspicious/noExplicitAny: an envelope as it came
function republish(envelope: any, change: Record<string, unknown> = {}): Promise<void> {
  const again = { ...envelope, ...change };
  return bus.publish({
    // With another message id, because the bus drops duplicates.
    id: randomUUID(),
    kind: 'confirmation.due',
    audience: 'internal',
    sequence: 1_000_000,
    envelope: JSON.stringify(again),
    trace: undefined,
  });
}

describe('a contact whose appointment is booked or moved', () => {
  it('is told at once, on the channel of the settings, with title, time, place and link, also of a new time', async () => {
    const desk = await openDesk(platform);
    const place = { location: 'Main Street 1', meeting_link: 'https://meet.example/1' };
    const appointment = await desk.book(startsAt, place);
    const [message] = await desk.told(appointment, 1);
    expect(message).toMatchObject({
      channel: 'sms',
      to: '+4930901820',
      purpose: 'service',
      contact: { id: desk.contact, name: 'Carla', phone: '+4930901820' },
      body: [
        'Your appointment with Acme is in our calendar:',
        'Consultation, Thursday, December 24, 2026 at 4:00 PM',
        'Main Street 1',
        'https://meet.example/1',
      ].join('\n'),
    });
    const steps = await stepsOf(platform, appointment);
    const subject = 'Your appointment on Thursday, December 24, 2026';
    const content = { body: message!.body, subject, fallback_after_seconds: 3_600 };
    expect(steps).toEqual([
      [
        { channel: 'sms', ...content },
        { channel: 'email', ...content },
      ],
    ]);
    const params = { appointment_id: appointment };
    await desk.client.calendar.appointments.reschedule({ params, body: { starts_at: '2026-12-25T09:30:00+01:00' } });
    const changed =
      'Your appointment with Acme has changed. It is now:\nConsultation, Friday, December 25, 2026 at 9:30 AM';
    expect((await desk.told(appointment, 2))[1]!.body).toBe(`${changed}\nMain Street 1\nhttps://meet.example/1`);
  });

  it("is told in the account's language, time and zone", async () => {
    const german = await openDesk(platform, { account: { language: 'de', timezone: 'Europe/Berlin' } });
    const japanese = await openDesk(platform, { account: { language: 'ja', timezone: 'Asia/Tokyo' } });
    const [inGerman] = await german.told(await german.book(startsAt), 1);
    const [inEnglish] = await japanese.told(await japanese.book(startsAt), 1);
    expect(inGerman!.body).toBe(
      'Ihr Termin bei Acme ist eingetragen:\nConsultation, Donnerstag, 24. Dezember 2026, 16:00 Uhr',
    );
    expect(inEnglish!.body).toContain('Consultation, Friday, December 25, 2026 at 12:00 AM');
  });

  it('is told through the simulation in a sandbox', async () => {
    const desk = await openDesk(platform, { isSandbox: true, contact: { phone: '+4930901801' } });
    const appointment = await desk.book(startsAt);
    const isDelivered = async () => (await desk.told(appointment, 1))[0]!.status === 'delivered';
    expect(await waitFor('the delivery', isDelivered)).toBe(true);
  });

  it('is not told if confirmations are off', async () => {
    const desk = await openDesk(platform);
    await desk.client.calendar.settings.update({ body: { confirmation: { enabled: false } } });
    const silent = await desk.book(startsAt);
    await desk.client.calendar.settings.update({ body: { confirmation: { enabled: true } } });
    await desk.told(await desk.book('2026-12-25T16:00:00+01:00'), 1);
    expect(await desk.told(silent, 0)).toEqual([]);
  });
});

describe('an event of calendar', () => {
  it('that is repeated sends no second message, even without its inbox row', async () => {
    const desk = await openDesk(platform);
    const appointment = await desk.book(startsAt);
    await desk.told(appointment, 1);
    const said = await platform.event(desk.accountId, 'confirmation.due');
    const sql = platform.database('messaging');
    await sql`delete from inbox where event_id = ${said.id}`;
    await republish(said);
    await waitFor(
      'the repetition',
      async () => (await sql`select from inbox where event_id = ${said.id}`).length === 1,
    );
    expect(await desk.told(appointment, 1)).toHaveLength(1);
  });

  it('about an appointment that has begun or will not take place is skipped, the rest of its batch is not', async () => {
    const desk = await openDesk(platform);
    await desk.told(await desk.book(startsAt), 1);
    const said = await platform.event(desk.accountId, 'confirmation.due');
    const change = (more: object) => {
      const appointment = { ...said.data.appointment, id: randomUUID(), ...more };
      return { appointment: appointment.id, sent: { id: randomUUIDv7(), data: { ...said.data, appointment } } };
    };
    const now = platform.clock.now().getTime();
    const late = [
      change({ starts_at: new Date(now - 1_000).toISOString() }),
      ...['cancelled', 'completed', 'no_show'].map((status) => change({ status })),
    ];
    const ahead = ['requested', 'confirmed'].map((status) => change({ status }));
    await Promise.all([...late, ...ahead].map(({ sent }) => republish(said, sent)));
    for (const { appointment } of ahead) expect(await desk.told(appointment, 1)).toHaveLength(1);
    const sql = platform.database('messaging');
    const ids = late.map(({ sent }) => sent.id);
    await waitFor('the batch', async () => (await sql`select from inbox where event_id = any(${ids})`).length === 4);
    for (const { appointment } of late) expect(await desk.told(appointment, 0)).toEqual([]);
  });

  it('of a sandbox is told at its time, even before this service knows that the sandbox clock moved', async () => {
    const desk = await openDesk(platform, { isSandbox: true });
    const [first] = await desk.told(await desk.book(startsAt), 1);
    const said = await platform.event(desk.accountId, 'confirmation.due');
    const appointment = { ...said.data.appointment, id: randomUUID() };
    // Ahead of both the system clock, which creates ids, and this platform's clock.
    const latestMs = Math.max(Date.now(), platform.clock.now().getTime());
    const timestamp = new Date(latestMs + 22 * hourMs).toISOString();
    await republish(said, { id: randomUUIDv7(), timestamp, data: { ...said.data, appointment } });
    const [message] = await desk.told(appointment.id, 1);
    const laterMs = Date.parse(message!.created_at) - Date.parse(first!.created_at);
    expect(laterMs).toBeGreaterThan(21 * hourMs);
    expect(laterMs).toBeLessThan(23 * hourMs);
  });

  it('with an unknown contact uses the number in the event', async () => {
    const desk = await openDesk(platform);
    await desk.told(await desk.book(startsAt), 1);
    const said = await platform.event(desk.accountId, 'confirmation.due');
    const contact = { id: randomUUID(), name: 'Somebody New', phone: '+493090182011' };
    const appointment = { ...said.data.appointment, id: randomUUID(), contact };
    await republish(said, { id: randomUUIDv7(), data: { ...said.data, appointment } });
    const [message] = await desk.told(appointment.id, 1);
    expect(message).toMatchObject({ contact, to: contact.phone });
  });
});
