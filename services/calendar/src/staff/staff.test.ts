import { pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addMember, emailOf, invalid, nineToFive, openDesk, refusal } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
const desk = await openDesk(platform);
afterAll(() => platform.stop());

const path = '/v1/calendar/staff';
const create = (body: unknown) => desk.account.request('POST', path, { body });

describe('a teammate', () => {
  it('is a member of the team, with sorted hours and merged overlaps', async () => {
    await addMember(platform, desk.account.id, 'mona');
    const made = await create({
      email: 'Mona@Desk.example',
      hours: {
        mon: [
          ['13:00', '24:00'],
          ['09:00', '12:00'],
          ['11:00', '12:30'],
        ],
      },
      overrides: { '2026-12-24': [] },
    });
    expect(made).toMatchObject({ status: 201 });
    expect(made.body).toEqual({
      name: 'Mona',
      email: emailOf('mona'),
      active: true,
      hours: {
        mon: [
          ['09:00', '12:30'],
          ['13:00', '24:00'],
        ],
      },
      overrides: { '2026-12-24': [] },
      location: '',
      meeting_link: '',
    });
    expect(await desk.get(`${path}/MONA@desk.example`)).toEqual(made.body);
    const again = await create({ email: emailOf('mona') });
    expect(again).toMatchObject(refusal(409, 'invalid_state'));
    expect(await create({ email: 'stranger@desk.example' })).toMatchObject(invalid('email'));
  });

  it('has hours by weekday that end after they start; other keys and values are rejected with a correction', async () => {
    await addMember(platform, desk.account.id, 'olga');
    const days = 'mon, tue, wed, thu, fri, sat, sun';
    const time = (last: string) => `must be a time from 00:00 to ${last} as HH:MM, with two digits each, such as 09:00`;
    const pair = 'must be a pair such as ["09:00","17:00"]';
    const wrong: [unknown, string][] = [
      [{ monday: [['09:00', '17:00']] }, `hours.monday is not one of ${days}`],
      [{ mon: ['09:00'] }, `hours.mon[0] ${pair}`],
      [{ mon: [['09:00']] }, `hours.mon[0] ${pair}`],
      [{ mon: [['9:00', '17:00']] }, `hours.mon[0][0] ${time('23:59')}`],
      [{ mon: [['09:00', '5:00']] }, `hours.mon[0][1] ${time('24:00')}`],
      [{ mon: [['09:00', '24:01']] }, `hours.mon[0][1] ${time('24:00')}`],
    ];
    for (const [hours, message] of wrong) {
      const error = { code: 'invalid_request', field: 'hours', message };
      expect((await create({ email: emailOf('olga'), hours })).body).toEqual({ error });
      expect((await desk.account.request('PATCH', `${path}/${emailOf('ada')}`, { body: { hours } })).body).toEqual({
        error,
      });
    }
    const others: [string, unknown][] = [
      ['hours', { mon: [['12:00', '12:00']] }],
      ['hours', { mon: [['12:00', '09:00']] }],
      ['hours', { mon: [['24:00', '24:00']] }],
      ['overrides', { '2026-02-30': [] }],
      ['overrides', { '2026-12-24': [['12:00', '09:00']] }],
      ['location', 'x'.repeat(256)],
      ['meeting_link', 'x'.repeat(501)],
    ];
    for (const [field, value] of others)
      expect([value, await create({ email: emailOf('olga'), [field]: value })]).toMatchObject([value, invalid(field)]);
    expect(await create({ email: emailOf('olga'), hours: { mon: [], tue: null } })).toMatchObject({
      status: 201,
      body: { hours: { mon: [] } },
    });
  });

  it('changes by key: a given date or day is replaced, and null removes it', async () => {
    const own = await openDesk(platform);
    const mine = `${path}/${emailOf('ada')}`;
    const override = { '2026-12-24': [['09:00', '12:00']], '2026-12-25': [] };
    expect((await own.patch(mine, { overrides: override })).overrides).toEqual(override);
    const changed = await own.patch(mine, { hours: { sat: null, sun: [] }, overrides: { '2026-12-25': null } });
    const { sat: _sat, ...week } = nineToFive;
    expect(changed).toMatchObject({ hours: { ...week, sun: [] }, overrides: { '2026-12-24': [['09:00', '12:00']] } });
    expect(Object.keys(changed.hours)).not.toContain('sat');
    expect(await own.get(mine)).toEqual(changed);
    expect(await own.patch(mine, {})).toEqual(changed);
  });

  it('accepts null for optional fields and rejects it for required ones', async () => {
    const own = await openDesk(platform);
    const mine = `${path}/${emailOf('ada')}`;
    const texts = { location: 'Room 1', meeting_link: 'https://meet.example/ada' };
    let expected = await own.patch(mine, { ...texts, overrides: { '2026-12-24': [], '2026-12-25': [] } });
    for (const field of ['active', 'hours']) {
      const response = await own.account.request('PATCH', mine, { body: { location: 'Room 2', [field]: null } });
      expect([field, response]).toMatchObject([field, invalid(field)]);
    }
    for (const [field, empty] of Object.entries({ location: '', meeting_link: '', overrides: {} })) {
      expected = { ...expected, [field]: empty };
      expect([field, await own.patch(mine, { [field]: null })]).toEqual([field, expected]);
    }
    expect(await own.get(mine)).toEqual(expected);
  });

  it('is not written if its values are unchanged', async () => {
    const own = await openDesk(platform);
    const mine = `${path}/${emailOf('ada')}`;
    const overrides = { '2026-12-24': [['09:00', '12:00']] };
    const before = await own.patch(mine, { overrides, location: 'Room 1' });
    const version = async () => {
      const [row] = await platform.database('calendar')<{ version: string }[]>`
        select xmin::text as version from staff where account_id = ${own.account.id} and email = ${emailOf('ada')}`;
      return row!.version;
    };
    const written = await version();
    const { active, hours, location } = before;
    const halves = [
      ['10:00', '12:00'],
      ['09:00', '11:00'],
    ];
    for (const same of [
      {},
      { location },
      { active, hours, overrides },
      { overrides: { '2026-12-25': null, '2026-12-24': halves } },
    ]) {
      expect(await own.patch(mine, same)).toEqual(before);
      expect([same, await version()]).toEqual([same, written]);
    }
    await own.patch(mine, { location: 'Room 2' });
    expect(await version()).not.toBe(written);
  });

  it('is inactive after leaving the team, and active again after returning', async () => {
    const id = await addMember(platform, desk.account.id, 'leo');
    await create({ email: emailOf('leo') });
    const isActive = async () => (await desk.get(`${path}/${emailOf('leo')}`)).active;
    expect(await isActive()).toBe(true);
    await platform.admin('DELETE', `/admin/accounts/${desk.account.id}/members/${id}`);
    await waitFor('the teammate to be inactive', async () => !(await isActive()));
    await addMember(platform, desk.account.id, 'leo');
    await waitFor('the teammate to be active', isActive);
  });

  it('is listed newest first, in pages with emails as cursors', async () => {
    const own = await openDesk(platform, { staff: { ada: {}, bob: {}, cleo: {} } });
    const first = await own.get(`${path}?limit=2`);
    expect(first).toMatchObject({ data: [{ name: 'Cleo' }, { name: 'Bob' }], has_more: true, next: emailOf('bob') });
    const last = await own.get(`${path}?limit=2&starting_after=${first.next}`);
    expect(last).toMatchObject({ data: [{ name: 'Ada' }], has_more: false, next: null });
    const stranger = await own.account.request('GET', `${path}?starting_after=stranger@desk.example`);
    expect(stranger).toMatchObject(invalid('starting_after'));
  });
});

describe('teammates with very many overrides', () => {
  it('have at most 1,000 dates and 64 KiB of them', async () => {
    const own = await openDesk(platform);
    const mine = `${path}/${emailOf('ada')}`;
    const hours = (count: number, from = 0, ranges = 3) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          new Date(Date.UTC(2026, 0, 1 + from + index)).toISOString().slice(0, 10),
          [...Array(ranges).keys()].map((hour) => [`0${2 * hour}:00`, `0${2 * hour + 1}:00`]),
        ]),
      );
    // 69 bytes per date; the braces replace the last comma.
    const most = Math.floor((65_536 - 1) / 69);
    await own.patch(mine, { overrides: hours(most) });
    const change = (overrides: object) => own.account.request('PATCH', mine, { body: { overrides } });
    expect(await change(hours(1, most))).toMatchObject(invalid('overrides'));
    expect((await change({ ...hours(1, most), '2026-01-01': null })).status).toBe(200);
    expect(await change(hours(1_001, 0, 0))).toMatchObject(invalid('overrides'));
    await own.patch(mine, { overrides: hours(1_000, 0, 0) });
    const body = { email: emailOf('bob'), overrides: hours(1_000) };
    expect(await (await platform.account()).request('POST', path, { body })).toMatchObject(invalid('overrides'));
  });

  it('shorten a page, and none is missing', async () => {
    const account = await platform.account();
    const ranges = Array.from({ length: 48 }, () => ['09:00', '17:00']);
    const day = (index: number) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);
    const overrides = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [day(index), ranges]));
    const sql = platform.database('calendar');
    await sql`
      with member as (
        insert into members (account_id, email, name, active, sequence)
        select ${account.id}, 'm' || number || '@desk.example', 'M', true, 1 from generate_series(1, 8) as number
        returning account_id, email
      )
      insert into staff (account_id, email, active, hours, overrides, location, meeting_link)
      select account_id, email, true, '{}', ${sql.json(overrides as never)}, '', '' from member`;
    const { data, sizes } = await pagesOf((query) => account.client.calendar.staff.list({ query }));
    expect([data.length, new Set(data.map(({ email }) => email)).size]).toEqual([8, 8]);
    expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
  });
});

describe('time off', () => {
  const timeOff = `${path}/${emailOf('ada')}/time-off`;
  const take = (from: unknown, to: unknown, reason?: string) =>
    desk.account.request('POST', timeOff, { body: { from, to, reason } });

  it('has dates or instants, is shown in the account’s zone, and frees the time when deleted', async () => {
    const { body } = await take('2026-06-08', '2026-06-10', 'holiday');
    expect(body).toEqual({
      id: expect.any(String),
      from: '2026-06-08T00:00:00+02:00',
      to: '2026-06-10T00:00:00+02:00',
      reason: 'holiday',
    });
    expect((await take('2026-06-10T07:00:00Z', '2026-06-10T09:30:00+02:00')).body.from).toBe(
      '2026-06-10T09:00:00+02:00',
    );
    const free = () => desk.starts({ from: '2026-06-08', to: '2026-06-11' });
    expect((await free())[0]).toBe('2026-06-10T09:30:00+02:00');
    expect((await desk.account.request('DELETE', `${timeOff}/${body.id}`)).status).toBe(204);
    expect((await free())[0]).toBe('2026-06-08T09:00:00+02:00');
    for (const id of [body.id, 'x']) {
      const again = await desk.account.request('DELETE', `${timeOff}/${id}`);
      expect(again).toMatchObject(refusal(404, 'not_found'));
    }
  });

  it('ends after it begins, and both are dates or instants', async () => {
    expect(await take('2026-06-08', '2026-06-08')).toMatchObject(invalid('to'));
    expect(await take('2026-06-08', '2026-06-07')).toMatchObject(invalid('to'));
    expect(await take('2026-06-08', undefined)).toMatchObject(invalid('to'));
    expect(await take('2026-06-08T09:00:00', '2026-06-09')).toMatchObject(invalid('from'));
    expect(await take('2026-06-08', '2026-06-09', 'x'.repeat(201))).toMatchObject(invalid('reason'));
  });

  it('is limited to 1,000 periods per teammate that have not ended', async () => {
    const own = await openDesk(platform);
    const sql = platform.database('calendar');
    await sql`
      insert into time_off (account_id, staff_id, starts_at, ends_at, reason)
      select account_id, id, day, day + interval '1 hour', '' from staff,
        lateral (select ${platform.clock.now()}::timestamptz + (n - 2) * interval '1 day' as day from generate_series(1, 1000) as n) as period
      where account_id = ${own.account.id} and email = ${emailOf('ada')}`;
    const add = () => own.account.request('POST', timeOff, { body: { from: '2030-06-11', to: '2030-06-20' } });
    // The first one has ended.
    const last = await add();
    expect(last.status).toBe(201);
    const { status, body } = await add();
    expect([status, body.error.code]).toEqual([409, 'invalid_state']);
    expect(body.error.message).toContain('at most 1,000 periods of time off that have not ended; delete one first');
    await own.account.request('DELETE', `${timeOff}/${last.body.id}`);
    expect((await add()).status).toBe(201);
  });

  it('is listed latest first, in pages', async () => {
    const own = await openDesk(platform);
    for (const day of ['12', '11', '13']) await own.post(timeOff, { from: `2026-06-${day}`, to: '2026-06-20' });
    const first = await own.get(`${timeOff}?limit=2`);
    expect(first.data.map(({ from }: { from: string }) => from.slice(8, 10))).toEqual(['13', '12']);
    const last = await own.get(`${timeOff}?limit=2&starting_after=${first.next}`);
    expect(last).toMatchObject({ data: [{ from: '2026-06-11T00:00:00+02:00' }], has_more: false, next: null });
    const foreign = await desk.account.request('GET', `${timeOff}?starting_after=${first.next}`);
    expect(foreign).toMatchObject(invalid('starting_after'));
  });
});
