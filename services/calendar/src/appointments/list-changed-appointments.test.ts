import type { Appointment } from '@customer-platform/contracts/calendar';
import { listDuringWrite, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, emailOf, invalid, openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
const sql = platform.database('calendar');
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-06-01T08:00:00Z'));

type Query = Record<string, string | number>;
const path = '/v1/calendar/appointments';
const list = ({ account }: Desk, query: Query) =>
  account.request('GET', `${path}?${new URLSearchParams(query as Record<string, string>)}`);
const ids = async (desk: Desk, query: Query) => (await list(desk, query)).body.data.map(({ id }: Appointment) => id);
const byChange = (a: Appointment, b: Appointment) => (`${a.updated_at} ${a.id}` < `${b.updated_at} ${b.id}` ? -1 : 1);
const long = '2000-01-01T00:00:00Z';
const at = (hour: number, day = '02') => `2026-06-${day}T${String(hour).padStart(2, '0')}:00:00+02:00`;

/** Books at these times, a second apart. */
async function booked(desk: Desk, hours: number[]): Promise<Appointment[]> {
  const made: Appointment[] = [];
  for (const hour of hours) {
    platform.clock.advance(1_000);
    made.push((await desk.book(at(hour))).body);
  }
  platform.clock.advance(1_000);
  return made;
}

describe('the list of appointments by updated_since', () => {
  it('contains changes since that time, least recently changed first, whatever their start', async () => {
    const desk = await openDesk(platform);
    const [first, second, third] = (await booked(desk, [15, 9, 12])) as [Appointment, Appointment, Appointment];
    const noted = await desk.patch(`${path}/${first.id}`, { notes: 'x' });
    expect((await list(desk, { updated_since: second.updated_at })).body).toEqual({
      data: [second, third, noted],
      has_more: false,
      next: null,
    });
    const after = new Date(Date.parse(second.updated_at) + 1).toISOString();
    expect(await ids(desk, { updated_since: after })).toEqual([third.id, first.id]);
    expect(await ids(desk, { updated_since: long, starting_after: second.id })).toEqual([third.id, first.id]);
  });

  it('can be filtered by time, status, teammate, type and contact, alone and together', async () => {
    const desk = await openDesk(platform, { staff: { ada: {}, bob: {} } });
    const other = await desk.post('/v1/cdp/contacts', { name: 'Other' });
    const type = await desk.post('/v1/calendar/booking-types', {
      name: 'Other',
      duration_minutes: 30,
      staff: [emailOf('ada'), emailOf('bob')],
    });
    for (let index = 0; index < 16; index++) {
      const more = {
        staff: emailOf(index % 2 === 0 ? 'ada' : 'bob'),
        ...(index % 3 === 0 ? { contact: other.id } : {}),
        ...(index % 5 < 2 ? { booking_type: type.id } : {}),
      };
      const { body } = await desk.book(at(9 + (index >> 1), index % 4 < 2 ? '02' : '03'), more);
      if (index % 4 === 3) await desk.post(`${path}/${body.id}/${index % 8 === 3 ? 'cancel' : 'complete'}`);
    }
    const all = (await desk.get(path)).data as Appointment[];
    const since = all.toSorted(byChange)[3]!.updated_at;
    const choices: Record<string, (string | number)[]> = {
      status: ['confirmed', 'cancelled', 'completed'],
      staff: [emailOf('ada'), emailOf('bob')],
      booking_type: [desk.bookingType, type.id],
      contact: [desk.contact.id, other.id],
      from: ['2026-06-03'],
    };
    const queries = Object.entries(choices).reduce<Query[]>(
      (most, [name, values]) =>
        most.flatMap((query) => [query, ...values.map((value) => ({ ...query, [name]: value }))]),
      [{ updated_since: since }],
    );
    for (const query of queries) {
      const expected = all.filter(
        (one) =>
          Date.parse(one.updated_at) >= Date.parse(since) &&
          (query.status === undefined || one.status === query.status) &&
          (query.staff === undefined || one.staff.email === query.staff) &&
          (query.booking_type === undefined || one.booking_type!.id === query.booking_type) &&
          (query.contact === undefined || one.contact.id === query.contact) &&
          (query.from === undefined || one.starts_at.slice(0, 10) >= String(query.from)),
      );
      expect([query, (await list(desk, query)).body.data]).toEqual([query, expected.toSorted(byChange)]);
    }
    expect(await list(desk, { updated_since: '2026-06-01' })).toMatchObject(invalid('updated_since'));
  });

  it('can be paged during changes, and a mirror that follows it is complete', async () => {
    const desk = await openDesk(platform);
    const made = await booked(desk, [9, 10, 11, 12, 13]);
    const mirror = new Map<string, Appointment>();
    let since = long;
    for (const isQuiet of [false, true]) {
      let hour = 13;
      for (let next: string | null = ''; next !== null; ) {
        const query: Query = { updated_since: since, limit: 2, ...(next === '' ? {} : { starting_after: next }) };
        const { body } = await list(desk, query);
        for (const appointment of body.data) mirror.set(appointment.id, appointment);
        next = body.next;
        since = body.data.at(-1).updated_at;
        if (isQuiet || ++hour > 16) continue;
        // The last one of the page, where the next page begins, and the last one in the list.
        await desk.patch(`${path}/${body.data.at(-1).id}`, { notes: `${hour}` });
        await desk.patch(`${path}/${made.at(-1)!.id}`, { location: `${hour}` });
        expect((await desk.book(at(hour))).status).toBe(201);
      }
    }
    expect([...mirror.values()].toSorted(byChange)).toEqual((await desk.get(path)).data.toSorted(byChange));
    expect(mirror.size).toBe(8);
  });

  it('includes a change that began before it and commits after it', async () => {
    const desk = await openDesk(platform);
    const [appointment] = (await booked(desk, [9])) as [Appointment];
    const cancel = () => desk.post(`${path}/${appointment.id}/cancel`);
    const { changed, listed } = await listDuringWrite(sql, cancel, () => list(desk, { updated_since: long }));
    expect(listed.body.data).toEqual([changed]);
  });

  it('never inserts a change before its cursor, even from a process with a slow clock', async () => {
    const desk = await openDesk(platform);
    const { body: requested } = await desk.book(at(9), { status: 'requested' });
    const [confirmed, other] = (await booked(desk, [10, 11])) as [Appointment, Appointment];
    const past = (await desk.book(at(11, '01'))).body;
    const act = ({ id }: Appointment, action: string, body = {}) => desk.post(`${path}/${id}/${action}`, body);
    const changes: Record<string, () => Promise<unknown>> = {
      'a booking': () => desk.book(at(14)),
      'new notes': () => desk.patch(`${path}/${other.id}`, { notes: 'x' }),
      'a new place': () => desk.patch(`${path}/${other.id}`, { location: 'There' }),
      confirm: () => act(requested, 'confirm'),
      reschedule: () => act(confirmed, 'reschedule', { starts_at: at(15) }),
      complete: () => act(confirmed, 'complete'),
      cancel: () => act(other, 'cancel'),
      no_show: () => act(past, 'no_show'),
    };
    const now = new Date('2026-06-01T11:00:00Z');
    for (const [name, change] of Object.entries(changes)) {
      platform.clock.set(now);
      const before = (await list(desk, { updated_since: long })).body.data as Appointment[];
      platform.clock.set(new Date(now.getTime() - 3_600_000));
      await change();
      const after = (await list(desk, { updated_since: before.at(-1)!.updated_at })).body.data as Appointment[];
      const [latest] = after.slice(-1);
      expect([name, after.length > 0, before]).toEqual([name, true, expect.not.arrayContaining([latest])]);
      const { history: _history, ...shown } = await desk.get(`${path}/${latest!.id}`);
      expect([name, shown]).toEqual([name, latest]);
    }
  });
});
