import { startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, invalid, openDesk, refusal } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-06-01T08:00:00Z'));

const startsAt = '2026-06-02T09:00:00+02:00';
const change = (desk: Desk, id: string, action: string, body: unknown = {}) =>
  desk.account.request('POST', `/v1/calendar/appointments/${id}/${action}`, { body });

/** Creates a desk with an appointment in this status. */
async function appointmentIn(status: string): Promise<{ desk: Desk; id: string }> {
  const desk = await openDesk(platform);
  const { body } = await desk.book(startsAt, { status: status === 'requested' ? 'requested' : 'confirmed' });
  const action = { completed: 'complete', cancelled: 'cancel', no_show: 'no_show' }[status];
  platform.clock.set('2026-06-02T07:00:00Z');
  if (action) await desk.post(`/v1/calendar/appointments/${body.id}/${action}`);
  return { desk, id: body.id };
}

/** The outcome of each action in each status: the new status, 'same' if nothing changes, or an error. */
const outcomes: Record<string, Record<string, string>> = {
  requested: { confirm: 'confirmed', complete: 'completed', cancel: 'cancelled', no_show: '409' },
  confirmed: { confirm: 'same', complete: 'completed', cancel: 'cancelled', no_show: 'no_show' },
  completed: { confirm: '409', complete: '409', cancel: '409', no_show: '409' },
  cancelled: { confirm: '409', complete: '409', cancel: 'same', no_show: '409' },
  no_show: { confirm: '409', complete: '409', cancel: '409', no_show: 'same' },
};
const cases = Object.entries(outcomes).flatMap(([status, actions]) =>
  Object.entries(actions).map(([action, outcome]) => [status, action, outcome] as const),
);

describe('the status of an appointment', () => {
  it.each(cases)('%s: %s leads to %s', async (status, action, outcome) => {
    const { desk, id } = await appointmentIn(status);
    const before = await desk.get(`/v1/calendar/appointments/${id}`);
    platform.clock.advance(60_000);
    const response = await change(desk, id, action);
    const { history, ...after } = await desk.get(`/v1/calendar/appointments/${id}`);
    if (outcome === '409') {
      expect(response).toMatchObject(refusal(409, 'invalid_state'));
      expect({ ...after, history }).toEqual(before);
    } else {
      expect(response).toMatchObject({ status: 200, body: after });
      expect(after.status).toBe(outcome === 'same' ? before.status : outcome);
      expect(history).toHaveLength(before.history.length + (outcome === 'same' ? 0 : 1));
    }
    const isChanged = outcome !== '409' && outcome !== 'same';
    if (isChanged) {
      const event = await platform.event(desk.account.id, `appointment.${outcome}`);
      expect(event.data).toEqual({ appointment: { ...after, history }, previous: { status } });
    }
  });

  it.each([
    ['complete', 'note'],
    ['cancel', 'reason'],
    ['no_show', 'note'],
  ])('records the note of %s in the history, up to 200 code points', async (action, field) => {
    const { desk, id } = await appointmentIn('confirmed');
    const tooLong = await change(desk, id, action, { [field]: '😀'.repeat(201) });
    expect(tooLong).toMatchObject(invalid(field));
    expect((await change(desk, id, action, { [field]: '😀'.repeat(200) })).status).toBe(200);
    const { history } = await desk.get(`/v1/calendar/appointments/${id}`);
    expect(history.at(-1).summary).toMatch(/^Status changed from confirmed to \w+: (😀){200}$/u);
  });

  it('cannot become no_show before the start, but can at the start', async () => {
    const desk = await openDesk(platform);
    const { body } = await desk.book(startsAt);
    platform.clock.set('2026-06-02T06:59:00Z');
    expect(await change(desk, body.id, 'no_show')).toMatchObject(refusal(409, 'invalid_state'));
    platform.clock.set('2026-06-02T07:00:00Z');
    expect((await change(desk, body.id, 'no_show')).status).toBe(200);
  });

  it.each([
    ['cancel', 201],
    ['no_show', 201],
    ['complete', 409],
  ])('frees or keeps the time after %s', async (action, again) => {
    const desk = await openDesk(platform, { bookingType: { slot_interval_minutes: 5 } });
    const { body } = await desk.book(startsAt);
    // The second half of the appointment is still ahead.
    platform.clock.set('2026-06-02T07:10:00Z');
    const rest = '2026-06-02T09:20:00+02:00';
    expect((await desk.book(rest)).status).toBe(409);
    expect((await change(desk, body.id, action)).status).toBe(200);
    expect((await desk.book(rest)).status).toBe(again);
  });

  it('changes once for two concurrent requests, with one event', async () => {
    const { desk, id } = await appointmentIn('confirmed');
    const responses = await Promise.all([change(desk, id, 'complete'), change(desk, id, 'complete')]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    await desk.book('2026-06-03T09:00:00+02:00');
    await platform.event(desk.account.id, 'appointment.booked', (data) => data.appointment.id !== id);
    expect(platform.events(desk.account.id).filter(({ type }) => type === 'appointment.completed')).toHaveLength(1);
    expect((await desk.get(`/v1/calendar/appointments/${id}`)).history).toHaveLength(2);
  });
});
