import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

async function booked() {
  const desk = await openDesk(platform);
  const { body } = await desk.book('2026-06-02T09:00:00+02:00', { location: 'Room 1' });
  const path = `/v1/calendar/appointments/${body.id}`;
  platform.clock.advance(5_000);
  return {
    desk,
    path,
    booked: body,
    patch: (change: unknown) => desk.account.request('PATCH', path, { body: change }),
  };
}

describe('changing an appointment', () => {
  it('records the replaced values in history and event', async () => {
    const { desk, path, booked: before, patch } = await booked();
    const change = { location: 'Room 2', mode: 'physical', notes: 'bring papers' };
    const response = await patch(change);
    expect(response).toMatchObject({
      status: 200,
      body: { ...before, ...change, updated_at: response.body.updated_at },
    });
    expect(response.body.updated_at).not.toBe(before.updated_at);
    const { history, ...shown } = await desk.get(path);
    expect(shown).toEqual(response.body);
    expect(history.slice(1)).toEqual([
      {
        kind: 'edited',
        summary: 'Changed mode from “online” to “physical” and location from “Room 1” to “Room 2”',
        at: response.body.updated_at,
      },
    ]);
    const event = await platform.event(desk.account.id, 'appointment.updated');
    expect(event.data).toEqual({
      appointment: { ...shown, history },
      previous: { mode: 'online', location: 'Room 1', notes: '' },
    });
  });

  it('of notes only emits no event, and the same values change nothing', async () => {
    const { desk, path, booked: before, patch } = await booked();
    const noted = await patch({ notes: 'x' });
    expect(noted.body).toEqual({ ...before, notes: 'x', updated_at: noted.body.updated_at });
    platform.clock.advance(5_000);
    for (const same of [{}, { notes: 'x' }, { location: 'Room 1', mode: 'online', meeting_link: '' }]) {
      expect(await patch(same)).toMatchObject({ status: 200, body: noted.body });
    }
    expect((await desk.get(path)).history).toHaveLength(1);
    await patch({ location: 'Room 3' });
    await platform.event(desk.account.id, 'appointment.updated');
    expect(platform.events(desk.account.id).filter(({ type }) => type === 'appointment.updated')).toHaveLength(1);
  });

  it.each(['starts_at', 'ends_at', 'staff', 'status'])('rejects %s, whatever its value', async (field) => {
    const { patch } = await booked();
    for (const value of ['2026-06-02T09:00:00+02:00', 'ada@desk.example', null, 7]) {
      const response = await patch({ notes: 'not kept', [field]: value });
      expect(response).toMatchObject(invalid(field));
    }
  });

  it('rejects non-strings, long strings, unknown modes and NUL', async () => {
    const { patch } = await booked();
    const wrong: [string, unknown][] = [
      ['notes', 7],
      ['notes', '😀'.repeat(5_001)],
      ['location', 'x'.repeat(256)],
      ['meeting_link', 'x'.repeat(501)],
      ['mode', 'either'],
      ['notes', 'a\u0000b'],
    ];
    for (const [field, value] of wrong) {
      const response = await patch({ [field]: value });
      expect([field, response]).toMatchObject([field, invalid(field)]);
    }
    expect((await patch({ notes: '😀'.repeat(5_000) })).status).toBe(200);
  });

  it('ignores unknown fields', async () => {
    const { patch, booked: before } = await booked();
    expect((await patch({ title: 'Other', contact: 'x' })).body).toEqual(before);
  });
});

/** Each character takes six bytes of JSON. */
const wide = (length: number, mark: number) => String(mark).padEnd(length, '\u0001');

it('a full history prevents edits before events exceed 900 KiB, but never a confirmation or cancellation', async () => {
  const desk = await openDesk(platform, { bookingType: { name: wide(120, 1) } });
  const notes = wide(5_000, 1);
  const { body: booked } = await desk.book('2026-06-02T09:00:00+02:00', { status: 'requested', notes });
  const path = `/v1/calendar/appointments/${booked.id}`;
  const send = (method: string, end: string, body: object) => desk.account.request(method, `${path}${end}`, { body });
  const widest = (mark: number) => ({ location: wide(255, mark), meeting_link: wide(500, mark) });
  let changes = 0;
  while (changes < 60 && (await send('PATCH', '', widest(changes))).status === 200) changes += 1;
  expect(await send('PATCH', '', widest(changes))).toMatchObject(invalid('location'));
  const { history } = await desk.get(path);
  expect(history).toHaveLength(changes + 1);

  // A shorter value may still fit; then none does.
  let moves = 0;
  const starts = ['2026-06-02T10:00:00+02:00', '2026-06-02T11:00:00+02:00'];
  const move = () => send('POST', '/reschedule', { starts_at: starts[moves % 2] });
  while (moves < 120 && (await move()).status === 200) moves += 1;
  expect(await move()).toMatchObject(invalid('starts_at'));
  expect((await send('PATCH', '', { notes: wide(5_000, 2) })).status).toBe(200);
  expect((await send('POST', '/confirm', {})).status).toBe(200);
  expect((await send('POST', '/cancel', { reason: wide(200, 1) })).status).toBe(200);
  await platform.event(desk.account.id, 'appointment.cancelled');
  const sizes = platform.events(desk.account.id).map((event) => Buffer.byteLength(JSON.stringify(event)));
  expect(Math.max(...sizes)).toBeLessThan(400 * 1_024);
});
