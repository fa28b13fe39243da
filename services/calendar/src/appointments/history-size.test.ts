import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

/** Six bytes of JSON for each character. */
const wide = (length: number, mark: number) => String(mark).padEnd(length, '\u0001');
const refusal = (field: string) => ({ status: 400, body: { error: { code: 'invalid_request', field } } });

describe('the history of an appointment', () => {
  it('ends what is changed of it before an event would pass 900 KiB, and never its confirmation or cancellation', async () => {
    const desk = await openDesk<TestAccount>(platform, { bookingType: { name: wide(120, 1) } });
    const notes = wide(5_000, 1);
    const { body: booked } = await desk.book('2026-06-02T09:00:00+02:00', { status: 'requested', notes });
    const path = `/v1/calendar/appointments/${booked.id}`;
    const send = (method: string, end: string, body: object) => desk.account.request(method, `${path}${end}`, { body });
    const widest = (mark: number) => ({ location: wide(255, mark), meeting_link: wide(500, mark) });
    let changes = 0;
    while (changes < 60 && (await send('PATCH', '', widest(changes))).status === 200) changes += 1;
    expect(await send('PATCH', '', widest(changes))).toMatchObject(refusal('location'));
    const { history } = await desk.get(path);
    expect(history).toHaveLength(changes + 1);

    // What is shorter may still have room; then nothing has.
    let moves = 0;
    const starts = ['2026-06-02T10:00:00+02:00', '2026-06-02T11:00:00+02:00'];
    const move = () => send('POST', '/reschedule', { starts_at: starts[moves % 2] });
    while (moves < 120 && (await move()).status === 200) moves += 1;
    expect(await move()).toMatchObject(refusal('starts_at'));
    expect((await send('PATCH', '', { notes: wide(5_000, 2) })).status).toBe(200);
    expect((await send('POST', '/confirm', {})).status).toBe(200);
    expect((await send('POST', '/cancel', { reason: wide(200, 1) })).status).toBe(200);
    await platform.event(desk.account.id, 'appointment.cancelled');
    const sizes = platform.events(desk.account.id).map((event) => Buffer.byteLength(JSON.stringify(event)));
    expect(Math.max(...sizes)).toBeLessThan(400 * 1_024);
  });
});
