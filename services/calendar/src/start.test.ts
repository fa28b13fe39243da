import { startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { addMember, emailOf, openDesk } from '../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

it('the Calendar service serves each operation exactly as its contract says', async () => {
  const desk = await openDesk(platform);
  const { client } = desk.account; // checks every response against its contract
  const email = emailOf('mona');
  await addMember(platform, desk.account.id, 'mona');
  await client.createStaff({ body: { email, hours: { mon: [['09:00', '17:00']] } } });
  await client.updateStaff({ params: { email }, body: { overrides: { '2026-12-24': [] } } });
  expect(await client.getStaff({ params: { email } })).toMatchObject({ name: 'Mona' });
  expect((await client.listStaff()).data).toHaveLength(2);
  const timeOff = await client.createTimeOff({ params: { email }, body: { from: '2026-06-02', to: '2026-06-03' } });
  expect((await client.listTimeOff({ params: { email } })).data).toEqual([timeOff]);
  await client.deleteTimeOff({ params: { email, time_off_id: timeOff.id } });
  const settings = await client.updateSettings({ body: { location: 'Main street' } });
  expect(await client.getSettings()).toEqual(settings);
  const type = await client.createBookingType({ body: { name: 'Talk', duration_minutes: 30, staff: [email] } });
  await client.updateBookingType({ params: { booking_type_id: type.id }, body: { prep_minutes: 5 } });
  expect((await client.listBookingTypes()).data[0]).toMatchObject({ id: type.id, prep_minutes: 5 });
  const free = await client.listFreeTimes({ query: { booking_type: type.id, from: '2026-06-08' } });
  const starts_at = free.data[1]!.starts_at;
  const query = { booking_type: type.id, starts_at };
  expect(await client.explainFreeTime({ query })).toEqual({ free: true, reasons: [] });
  const body = { contact: desk.contact.id, booking_type: type.id, status: 'requested' as const };
  const booked = await client.bookAppointment({ body: { ...body, starts_at } });
  const params = { appointment_id: booked.id };
  await client.confirmAppointment({ params });
  await client.updateAppointment({ params, body: { location: 'Elsewhere' } });
  await client.rescheduleAppointment({ params, body: { starts_at: free.data[5]!.starts_at } });
  await client.completeAppointment({ params, body: { note: 'well done' } });
  const other = await client.bookAppointment({ body: { ...body, starts_at } });
  await client.cancelAppointment({ params: { appointment_id: other.id }, body: {} });
  const { history } = await client.getAppointment({ params });
  expect(history.map(({ kind }) => kind)).toEqual(['booked', 'confirmed', 'edited', 'rescheduled', 'completed']);
  const missed = await client.bookAppointment({ body: { ...body, starts_at, status: 'confirmed' } });
  platform.clock.set('2026-06-09T08:00:00Z');
  expect((await client.markNoShow({ params: { appointment_id: missed.id } })).status).toBe('no_show');
  expect((await client.listAppointments({ query: { staff: email } })).data).toHaveLength(3);
  await client.deleteBookingType({ params: { booking_type_id: type.id } });
  expect((await client.getBookingType({ params: { booking_type_id: type.id } })).active).toBe(false);
});
