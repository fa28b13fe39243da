import { randomUUID } from 'node:crypto';
import { inTransaction } from '@customer-platform/service-kit';
import { rowsRead, startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { emailOf, insertAppointments, invalid, openDesk } from '../../test/calendar.ts';
import { listAppointmentRows } from './appointments.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T00:00:00Z');
afterAll(() => platform.stop());

const desk = await openDesk(platform, { staff: { ada: {}, bob: {} } });
const booked: { id: string; starts_at: string; staff: { email: string } }[] = [];
for (const day of ['02', '03', '04', '05']) {
  for (const name of ['ada', 'bob']) {
    const response = await desk.book(`2026-06-${day}T09:00:00+02:00`, { staff: emailOf(name) });
    booked.push(response.body);
  }
}

const list = (query: Record<string, string | number>) =>
  desk.account.request('GET', `/v1/calendar/appointments?${new URLSearchParams(query as Record<string, string>)}`);
const ids = async (query: Record<string, string | number>) =>
  (await list(query)).body.data.map(({ id }: { id: string }) => id);
const expected = (...indexes: number[]) => indexes.map((index) => booked[index]!.id);

describe('the list of appointments', () => {
  it('begins with the latest start, without history', async () => {
    const { body } = await list({});
    expect(body).toMatchObject({ has_more: false, next: null });
    expect(body.data).toEqual([...booked].sort(byStartThenId).reverse());
  });

  it('can be filtered by time, status, teammate, type and contact', async () => {
    const { id } = booked[0]!;
    await desk.post(`/v1/calendar/appointments/${id}/cancel`);
    expect(await ids({ status: 'cancelled' })).toEqual([id]);
    expect(await ids({ staff: emailOf('bob') })).toEqual(expected(7, 5, 3, 1));
    expect((await ids({ from: '2026-06-03', to: '2026-06-04' })).sort()).toEqual(expected(2, 3).sort());
    expect(await ids({ from: '2026-06-03T07:00:00Z', to: '2026-06-04T09:00:00+02:00', staff: emailOf('ada') })).toEqual(
      expected(2),
    );
    expect(await ids({ booking_type: desk.bookingType, contact: desk.contact.id })).toHaveLength(8);
    const other = await desk.post('/v1/calendar/booking-types', { name: 'Other', duration_minutes: 30 });
    expect(await ids({ booking_type: other.id })).toEqual([]);
  });

  it('of a contact reads only a page, however many appointments the contact and the account have', async () => {
    const sql = platform.database('calendar');
    const other = await openDesk(platform, { staff: { ada: {} } });
    const account = other.account.id;
    const [many, few] = [randomUUID(), randomUUID()];
    const ended = (contact: string, count: number) => {
      const ranges = Array.from({ length: count }, (_, index) => ({
        startsAt: index * 60_000,
        endsAt: (index + 30) * 60_000,
      }));
      return insertAppointments(sql, other, ranges, { status: 'cancelled', contact });
    };
    await ended(many, 10_000);
    await ended(few, 3);
    await sql.unsafe('analyze appointments');
    for (const [contactId, found] of [
      [many, 5],
      [few, 3],
      [randomUUID(), 0],
    ] as const) {
      await inTransaction(sql, async (tx) => {
        const before = await rowsRead(tx, 'appointments');
        expect(await listAppointmentRows(tx, account, { contactId }, { after: undefined, limit: 5 })).toHaveLength(
          found,
        );
        expect((await rowsRead(tx, 'appointments')) - before).toBeLessThan(50);
      });
    }
  });

  it('rejects a period that ends before it begins, and accepts a date-time with an unescaped "+"', async () => {
    const refused = await list({ from: '2026-06-04', to: '2026-06-03' });
    expect([refused.status, refused.body.error]).toEqual([
      400,
      { code: 'invalid_request', field: 'to', message: 'to must not be before from' },
    ]);
    expect(await ids({ from: '2026-06-03', to: '2026-06-03' })).toEqual([]);
    const raw = 'from=2026-06-05T09:00:00+02:00&to=2026-06-05T09:00:01+02:00';
    const { status, body } = await desk.account.request('GET', `/v1/calendar/appointments?${raw}`);
    expect([status, body.data?.length]).toEqual([200, 2]);
    const twice = await desk.account.request('GET', '/v1/calendar/appointments?limit=1&limit=2');
    expect(twice.body).toEqual({
      error: { code: 'invalid_request', field: 'limit', message: 'limit must be given once' },
    });
    const late = await desk.account.request('GET', `/v1/calendar/appointments?${'&'.repeat(1_000)}limit=0`);
    expect([late.status, late.body.error?.field]).toEqual([400, 'limit']);
  });

  it('names the resource and the format of its ids for an invalid id in a path', async () => {
    for (const [path, message] of [
      ['appointments/42', 'There is no such appointment: appointment_id must be an id in UUID form'],
      ['booking-types/x', 'There is no such booking type: booking_type_id must be an integer'],
    ])
      expect(await desk.account.request('GET', `/v1/calendar/${path}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found', message } },
      });
  });

  it('rejects filters with unknown ids or wrong values', async () => {
    const wrong: Record<string, string | number>[] = [
      { contact: crypto.randomUUID() },
      { contact: 'x' },
      { staff: 'stranger@desk.example' },
      { booking_type: 999_999_999 },
      { status: 'open' },
      { from: '2026-06-31' },
      { to: '2026-06-01T00:00:00' },
    ];
    for (const query of wrong) {
      const [field] = Object.keys(query);
      expect([query, await list(query)]).toMatchObject([query, invalid(field!)]);
    }
  });

  it('neither repeats nor omits any during bookings between the pages', async () => {
    const before = await ids({ limit: 100 });
    const seen: string[] = [];
    let next: string | null = null;
    for (let page = 0; page < 10; page += 1) {
      const { body } = await list({ limit: 3, ...(next === null ? {} : { starting_after: next }) });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      await desk.book(`2026-06-02T1${page}:00:00+02:00`, { staff: emailOf('ada') });
      next = body.next;
      if (next === null) break;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(before.filter((id: string) => !seen.includes(id))).toEqual([]);
  });
});

function byStartThenId(a: { starts_at: string; id: string }, b: { starts_at: string; id: string }): number {
  return `${a.starts_at}${a.id}` < `${b.starts_at}${b.id}` ? -1 : 1;
}
