import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { busOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { type Desk, invalid, openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
const bus = await busOf(platform, 'cdp');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

const startsAt = '2026-06-02T09:00:00+02:00';

/** Publishes an event like customer data, with its own sequence. */
async function publish(account: string, kind: string, sequence: number, data: unknown) {
  const id = randomUUIDv7();
  const envelope = JSON.stringify({ id, type: kind, timestamp: startsAt, account, mode: 'live', data });
  await bus.publish({ id, kind, audience: 'public', sequence, envelope, trace: undefined });
}

const person = (id: string, name: string) => ({ id, number: 1, name, phone: null, email: null, tags: [], fields: {} });
const contactOf = async (desk: Desk, id: string) => (await desk.get(`/v1/calendar/appointments/${id}`)).contact;

it('a contact name is kept up to date, and an older change never overwrites a newer one', async () => {
  const desk = await openDesk(platform);
  const { body } = await desk.book(startsAt);
  await desk.patch(`/v1/cdp/contacts/${desk.contact.id}`, { name: 'Carla Married', phone: '' });
  const called = (name: string) =>
    waitFor(`the contact to be ${name}`, async () => (await contactOf(desk, body.id)).name === name);
  await called('Carla Married');
  expect(await contactOf(desk, body.id)).toEqual({ id: desk.contact.id, name: 'Carla Married', phone: '' });
  await publish(desk.account.id, 'contact.updated', 1_000_000, { contact: person(desk.contact.id, 'Newest') });
  await publish(desk.account.id, 'contact.updated', 999_999, { contact: person(desk.contact.id, 'Older') });
  const other = randomUUID();
  await publish(desk.account.id, 'contact.updated', 1_000_001, { contact: person(other, 'Last') });
  await waitFor(
    'the last event',
    async () => (await desk.book('2026-06-03T09:00:00+02:00', { contact: other })).status === 201,
  );
  expect((await contactOf(desk, body.id)).name).toBe('Newest');
});

it('a deleted contact stays in its appointments and cannot be booked', async () => {
  const desk = await openDesk(platform);
  const { body } = await desk.book(startsAt);
  expect((await desk.account.request('DELETE', `/v1/cdp/contacts/${desk.contact.id}`)).status).toBe(204);
  const later = '2026-06-02T1';
  await waitFor('the contact to be deleted', async () => {
    const free = (await desk.starts({ from: '2026-06-02', to: '2026-06-09' })).find((start) => start > later)!;
    const response = await desk.book(free);
    return response.status === 400 && response.body.error.field === 'contact';
  });
  expect((await contactOf(desk, body.id)).name).toBe('Carla Client');
});

it('a contact missing in the copy is requested from customer data and can be booked; one of another account cannot', async () => {
  const desk = await openDesk(platform);
  const stranger = await openDesk(platform);
  expect(await desk.book(startsAt, { contact: stranger.contact.id })).toMatchObject(invalid('contact'));
  const { id } = await desk.post('/v1/cdp/contacts', { name: 'Brand New' });
  expect((await desk.book(startsAt, { contact: id })).body.contact).toEqual({ id, name: 'Brand New', phone: '' });
});
