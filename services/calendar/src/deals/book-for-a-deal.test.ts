import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { type Deal, getDealSummary } from '@customer-platform/contracts/crm';
import { type Bus, inTransaction } from '@customer-platform/service-kit';
import { busOf, type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Desk, invalid, openDesk, refusal } from '../../test/calendar.ts';

const at = (hour: number) => `2026-06-02T${String(hour).padStart(2, '0')}:00:00+02:00`;
const refused = invalid('deal');
const dealOf = async (desk: Desk, id: string) => (await desk.get(`/v1/calendar/appointments/${id}`)).deal;

describe('an appointment for a deal', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform({ services: ['cdp', 'calendar', 'crm'] });
    platform.clock.set('2026-06-01T08:00:00Z');
  }, 60_000);
  afterAll(() => platform.stop());

  const openDeal = async (account: TestAccount) => (await account.client.crm.deals.create({ body: { title: 'x' } })).id;

  it('shows the deal everywhere until the deal is deleted', async () => {
    const desk = await openDesk(platform);
    const [deal, other] = [await openDeal(desk.account), await openDeal(desk.account)];
    const booked = await desk.book(at(9), { deal: deal.toUpperCase() });
    expect(booked).toMatchObject({ status: 201, body: { deal } });
    expect(await dealOf(desk, booked.body.id)).toBe(deal);
    expect((await desk.get('/v1/calendar/appointments')).data).toEqual([booked.body]);
    const event = await platform.event(desk.account.id, 'appointment.booked');
    expect(event.data.appointment.deal).toBe(deal);
    const kept = await desk.book(at(10), { deal: other });
    await desk.account.client.crm.deals.delete({ params: { deal_id: deal } });
    await waitFor('the deal to be removed', async () => (await dealOf(desk, booked.body.id)) === null);
    expect(await desk.book(at(11), { deal })).toMatchObject(refused);
    expect(await dealOf(desk, kept.body.id)).toBe(other);
  });

  it('is rejected if the account has no such deal', async () => {
    const [desk, stranger] = [await openDesk(platform), await openDesk(platform)];
    const foreign = await openDeal(stranger.account);
    expect((await stranger.book(at(9), { deal: foreign })).status).toBe(201);
    for (const deal of [foreign, randomUUID(), '', 'none', 7]) {
      expect([deal, await desk.book(at(9), { deal })]).toMatchObject([deal, refused]);
    }
    expect((await desk.book(at(9), { deal: null })).body.deal).toBeNull();
  });

  it('is rejected if the account has no Pipelines, even for an earlier deal', async () => {
    const desk = await openDesk(platform);
    const deal = await openDeal(desk.account);
    expect((await desk.book(at(9), { deal })).status).toBe(201);
    await platform.admin('PATCH', `/admin/accounts/${desk.account.id}`, { modules: { crm: { on: false } } });
    const response = await waitFor('Pipelines to be switched off', async () => {
      const tried = await desk.book(at(10), { deal: randomUUID() });
      return /Pipelines/.test(tried.body.error.message) && tried;
    });
    expect(response).toMatchObject(refused);
    expect(await desk.book(at(10), { deal })).toMatchObject(refused);
    expect((await desk.book(at(10))).status).toBe(201);
  });

  it('finally has no deal if the deal is deleted during the booking', async () => {
    const desk = await openDesk(platform);
    const appointments: string[] = [];
    for (let hour = 9; hour < 17; hour++) {
      const deal = await openDeal(desk.account);
      if (hour % 2 === 0) await desk.book(`2026-06-03T${String(hour).padStart(2, '0')}:00:00+02:00`, { deal });
      const remove = () => desk.account.client.crm.deals.delete({ params: { deal_id: deal } });
      const [booked] = await Promise.all([desk.book(at(hour), { deal }), remove()]);
      if (booked.status === 201) appointments.push(booked.body.id);
      else expect(booked).toMatchObject(refused);
    }
    const last = await openDeal(desk.account);
    const marker = await desk.book('2026-06-04T09:00:00+02:00', { deal: last });
    await desk.account.client.crm.deals.delete({ params: { deal_id: last } });
    await waitFor('the last deletion', async () => (await dealOf(desk, marker.body.id)) === null);
    for (const id of appointments) expect(await dealOf(desk, id)).toBeNull();
    const { data } = await desk.get('/v1/calendar/appointments');
    expect(data.filter((appointment: { deal: string | null }) => appointment.deal !== null)).toEqual([]);
  });
});

describe('while Pipelines is unavailable or late', () => {
  let platform: Platform;
  beforeAll(async () => {
    // The stand-in replies only after an event that the test controls, so no request may time out.
    platform = await startPlatform({ services: ['cdp', 'calendar'], env: { BUS_REQUEST_TIMEOUT_MS: '30000' } });
    platform.clock.set('2026-06-01T08:00:00Z');
  }, 60_000);
  afterAll(() => platform.stop());

  /** Stands in for Pipelines on the bus. */
  const connectCrm = () => busOf(platform, 'crm');
  const dealWith = (id: string): Deal => ({
    id,
    title: 'x',
    pipeline: { id: 1, name: 'Sales' },
    stage: { id: 1, name: 'New' },
    status: 'open',
    value_minor: 0,
    currency: 'EUR',
    contact: null,
    notes: '',
    stage_entered_at: at(8),
    closed_at: null,
    created_at: at(8),
    updated_at: at(8),
  });

  it('a deal requested before is known; another one leads to 503 with Retry-After, without a booking', async () => {
    const desk = await openDesk(platform);
    const [known, unknown] = [randomUUID(), randomUUID()];
    const crm = await connectCrm();
    let asked = 0;
    crm.handle(getDealSummary, async (_account, { deal }) => {
      asked++;
      return { deal: dealWith(deal) };
    });
    // A new contact is requested in the same prefetch.
    const { id: contact } = await desk.post('/v1/cdp/contacts', { name: 'Brand New' });
    await waitFor('the stand-in', async () => (await desk.book(at(9), { deal: known, contact })).status === 201);
    expect((await desk.book(at(10), { deal: known })).status).toBe(201);
    expect(asked).toBe(1);
    await crm.close();
    expect((await desk.book(at(11), { deal: known })).body.deal).toBe(known);
    const response = await desk.book(at(12), { deal: unknown });
    expect(response).toMatchObject(refusal(503, 'service_unavailable'));
    expect(response.headers.get('retry-after')).not.toBeNull();
    expect((await desk.book(at(12))).body.deal).toBeNull();
  });

  /** Publishes the deletion of a deal, like Pipelines. */
  const remove = async (crm: Bus, account: string, deal: string, sequence: number) => {
    const [id, kind] = [randomUUIDv7(), 'deal.deleted'];
    const event = { id, type: kind, timestamp: at(8), account, mode: 'live', data: { deal: { id: deal } } };
    await crm.publish({ id, kind, audience: 'internal', sequence, envelope: JSON.stringify(event), trace: undefined });
  };

  it('a deletion waits for a booking for the deal, then removes the deal from the appointment', async () => {
    const desk = await openDesk(platform);
    const crm = await connectCrm();
    crm.handle(getDealSummary, async (_account, { deal }) => ({ deal: dealWith(deal) }));
    const deal = randomUUID();
    const sql = platform.database('calendar');
    try {
      await waitFor('the stand-in', async () => (await desk.book(at(9), { deal })).status === 201);
      let booking: ReturnType<Desk['book']> | undefined;
      await inTransaction(sql, async (tx) => {
        await tx`lock table appointment_history in exclusive mode`; // the booking waits after writing its appointment
        const waiting = async () => {
          const [row] = await sql<{ waiting: number; deleted: boolean }[]>`
            select (select count(*)::int from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock') as waiting,
              (select deleted from deals where account_id = ${desk.account.id} and id = ${deal}) as deleted`;
          return row!.deleted ? 2 : row!.waiting;
        };
        booking = desk.book(at(10), { deal });
        await waitFor('the booking to stop', async () => (await waiting()) === 1);
        await remove(crm, desk.account.id, deal, 1);
        await waitFor('the deletion to wait or to end', async () => (await waiting()) === 2);
      });
      const { status, body } = await booking!;
      expect([status, body.deal]).toEqual([201, deal]);
      await waitFor('the deal to be removed', async () => (await dealOf(desk, body.id)) === null);
    } finally {
      await crm.close();
    }
  });

  it('a reply that arrives after the deletion does not restore the deal', async () => {
    const desk = await openDesk(platform);
    const crm = await connectCrm();
    const [marker, late] = [randomUUID(), randomUUID()];
    let marked = '';
    crm.handle(getDealSummary, async (_account, { deal }) => {
      if (deal === late) {
        await remove(crm, desk.account.id, late, 1);
        await remove(crm, desk.account.id, marker, 2);
        await waitFor('both deletions', async () => (await dealOf(desk, marked)) === null);
      }
      return { deal: dealWith(deal) };
    });
    try {
      marked = await waitFor('the stand-in', async () => (await desk.book(at(9), { deal: marker })).body.id as string);
      expect(await desk.book(at(10), { deal: late })).toMatchObject(refused);
      expect(await desk.book(at(10), { deal: late })).toMatchObject(refused);
    } finally {
      await crm.close();
    }
  });
});
