import { startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { addMember, emailOf, openDesk } from '../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

it('the Calendar service serves each operation exactly as in its contract', async () => {
  const desk = await openDesk(platform);
  const { client } = desk.account; // validates every response against its contract
  const email = emailOf('mona');
  await addMember(platform, desk.account.id, 'mona');
  await client.calendar.staff.create({ body: { email, hours: { mon: [['09:00', '17:00']] } } });
  await client.calendar.staff.update({ params: { email }, body: { overrides: { '2026-12-24': [] } } });
  expect(await client.calendar.staff.get({ params: { email } })).toMatchObject({ name: 'Mona' });
  expect((await client.calendar.staff.list()).data).toHaveLength(2);
  const timeOff = await client.calendar.staff.timeOff.create({
    params: { email },
    body: { from: '2026-06-02', to: '2026-06-03' },
  });
  expect((await client.calendar.staff.timeOff.list({ params: { email } })).data).toEqual([timeOff]);
  await client.calendar.staff.timeOff.delete({ params: { email, time_off_id: timeOff.id } });
  const settings = await client.calendar.settings.update({ body: { location: 'Main street' } });
  expect(await client.calendar.settings.get()).toEqual(settings);
  const type = await client.calendar.bookingTypes.create({
    body: { name: 'Talk', duration_minutes: 30, staff: [email] },
  });
  await client.calendar.bookingTypes.update({ params: { booking_type_id: type.id }, body: { prep_minutes: 5 } });
  expect((await client.calendar.bookingTypes.list()).data[0]).toMatchObject({ id: type.id, prep_minutes: 5 });
  const free = await client.calendar.freeTimes.list({ query: { booking_type: type.id, from: '2026-06-08' } });
  const starts_at = free.data[1]!.starts_at;
  const query = { booking_type: type.id, starts_at };
  expect(await client.calendar.freeTimes.explain({ query })).toEqual({ free: true, reasons: [] });
  const body = { contact: desk.contact.id, booking_type: type.id, status: 'requested' as const };
  const booked = await client.calendar.appointments.create({ body: { ...body, starts_at } });
  const params = { appointment_id: booked.id };
  await client.calendar.appointments.confirm({ params });
  await client.calendar.appointments.update({ params, body: { location: 'Elsewhere' } });
  await client.calendar.appointments.reschedule({ params, body: { starts_at: free.data[5]!.starts_at } });
  await client.calendar.appointments.complete({ params, body: { note: 'well done' } });
  const other = await client.calendar.appointments.create({ body: { ...body, starts_at } });
  await client.calendar.appointments.cancel({ params: { appointment_id: other.id }, body: {} });
  const { history } = await client.calendar.appointments.get({ params });
  expect(history.map(({ kind }) => kind)).toEqual(['booked', 'confirmed', 'edited', 'rescheduled', 'completed']);
  const missed = await client.calendar.appointments.create({ body: { ...body, starts_at, status: 'confirmed' } });
  platform.clock.set('2026-06-09T08:00:00Z');
  expect((await client.calendar.appointments.noShow({ params: { appointment_id: missed.id } })).status).toBe('no_show');
  expect((await client.calendar.appointments.list({ query: { staff: email } })).data).toHaveLength(3);
  await client.calendar.bookingTypes.delete({ params: { booking_type_id: type.id } });
  expect((await client.calendar.bookingTypes.get({ params: { booking_type_id: type.id } })).active).toBe(false);
});
