import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { emailOf, invalid, openDesk, refusal } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
const desk = await openDesk(platform, { staff: { ada: {}, bob: {} } });
afterAll(() => platform.stop());

const path = '/v1/calendar/booking-types';
const create = (body: Record<string, unknown>) =>
  desk.account.request('POST', path, { body: { name: 'Type', duration_minutes: 30, ...body } });

describe('a booking type', () => {
  it('is created with defaults for omitted values', async () => {
    const { status, body } = await create({ name: 'Talk', duration_minutes: 50 });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(Number),
        name: 'Talk',
        active: true,
        duration_minutes: 50,
        prep_minutes: 0,
        slot_interval_minutes: 30,
        min_notice_minutes: 0,
        window_days: 60,
        mode: 'online',
        location: '',
        meeting_link: '',
        staff: [],
        default_staff: null,
        reminders: [],
      },
    ]);
    expect(await desk.get(`${path}/${body.id}`)).toEqual(body);
    expect((await create({ duration_minutes: 15 })).body.slot_interval_minutes).toBe(15);
  });

  it('keeps its teammates in order, without repetition', async () => {
    const staff = [emailOf('bob'), emailOf('ada'), emailOf('bob').toUpperCase()];
    const { body } = await create({ staff, default_staff: emailOf('ada') });
    expect(body).toMatchObject({ staff: [emailOf('bob'), emailOf('ada')], default_staff: emailOf('ada') });
    expect(await desk.get(`${path}/${body.id}`)).toEqual(body);
  });

  it('rejects values just beyond each limit', async () => {
    const wrong: Record<string, unknown[]> = {
      name: ['', 'x'.repeat(121), undefined],
      duration_minutes: [4, 1_441, 5.5, undefined],
      prep_minutes: [-1, 481],
      slot_interval_minutes: [4, 7, 1_441],
      min_notice_minutes: [-1, 43_201],
      window_days: [0, 366],
      mode: ['phone'],
      location: ['x'.repeat(256)],
      meeting_link: ['x'.repeat(501)],
      staff: [['stranger@desk.example'], 'ada@desk.example'],
      default_staff: [emailOf('ada')],
      reminders: [[{ minutes_before: 0, channel: 'sms' }], [{ minutes_before: 5, channel: 'fax' }]],
      active: ['yes'],
    };
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect([field, value, await create({ [field]: value })]).toMatchObject([field, value, invalid(field)]);
      }
    }
    const edges: Record<string, unknown>[] = [
      {
        duration_minutes: 5,
        slot_interval_minutes: 5,
        prep_minutes: 480,
        min_notice_minutes: 43_200,
        window_days: 365,
      },
      { duration_minutes: 1_440, slot_interval_minutes: 1_440, window_days: 1, name: 'x'.repeat(120) },
    ];
    for (const edge of edges) expect(await create(edge)).toMatchObject({ status: 201, body: edge });
  });

  it('changes only in the given values', async () => {
    const { body } = await create({ staff: [emailOf('ada'), emailOf('bob')], default_staff: emailOf('ada') });
    const change = async (sent: Record<string, unknown>) =>
      await desk.account.request('PATCH', `${path}/${body.id}`, { body: sent });
    expect((await change({})).body).toEqual(body);
    expect((await change({ name: 'New', window_days: 5 })).body).toEqual({
      ...body,
      name: 'New',
      window_days: 5,
    });
    expect(await change({ staff: [emailOf('bob')] })).toMatchObject(invalid('staff'));
    const left = { ...body, name: 'New', window_days: 5, staff: [emailOf('bob')], default_staff: null };
    expect((await change({ staff: [emailOf('bob')], default_staff: '' })).body).toEqual(left);
    expect(await desk.get(`${path}/${body.id}`)).toEqual(left);
  });

  it('accepts null for optional fields and rejects it for required ones', async () => {
    const texts = { location: 'Here', meeting_link: 'https://meet.example/x' };
    const staff = { staff: [emailOf('ada')], default_staff: emailOf('ada') };
    const { body } = await create({ ...texts, ...staff, reminders: [{ minutes_before: 60, channel: 'sms' }] });
    const change = (sent: Record<string, unknown>) =>
      desk.account.request('PATCH', `${path}/${body.id}`, { body: sent });
    const lengths = ['duration_minutes', 'prep_minutes', 'slot_interval_minutes', 'min_notice_minutes', 'window_days'];
    for (const field of ['name', 'active', 'mode', ...lengths]) {
      expect([field, await change({ location: 'There', [field]: null })]).toMatchObject([field, invalid(field)]);
    }
    // The default teammate is in `staff`.
    expect(await change({ staff: null })).toMatchObject(invalid('staff'));
    const cleared = { location: '', meeting_link: '', default_staff: null, staff: [], reminders: [] };
    let expected = body;
    for (const [field, empty] of Object.entries(cleared)) {
      expected = { ...expected, [field]: empty };
      expect([field, (await change({ [field]: null })).body]).toEqual([field, expected]);
    }
    expect(await desk.get(`${path}/${body.id}`)).toEqual(expected);
  });

  it('is deleted without appointments, and switched off with some', async () => {
    const { body: unused } = await create({});
    const remove = (id: number) => desk.account.request('DELETE', `${path}/${id}`);
    expect((await remove(unused.id)).status).toBe(204);
    expect(await remove(unused.id)).toMatchObject(refusal(404, 'not_found'));
    expect((await desk.book('2026-06-02T09:00:00+02:00')).status).toBe(201);
    expect((await remove(desk.bookingType)).status).toBe(204);
    expect(await desk.get(`${path}/${desk.bookingType}`)).toMatchObject({ active: false, name: 'Consultation' });
  });

  it('is listed newest first, in pages', async () => {
    const stranger = await openDesk(platform);
    const all = (await desk.get(`${path}?limit=100`)).data.map(({ id }: { id: number }) => id);
    expect(all).toEqual([...all].sort((a, b) => b - a));
    const first = await desk.get(`${path}?limit=2`);
    expect(first).toMatchObject({ has_more: true, next: String(all[1]) });
    const second = await desk.get(`${path}?limit=100&starting_after=${first.next}`);
    expect(second.data.map(({ id }: { id: number }) => id)).toEqual(all.slice(2));
    const foreign = await stranger.account.request('GET', `${path}?starting_after=${first.next}`);
    expect(foreign).toMatchObject(invalid('starting_after'));
  });
});
