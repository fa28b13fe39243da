import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import {
  type Platform,
  rawRequest,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createBookingServer, type Settings } from './server.ts';

const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
const scopes = [...readme.matchAll(/--scopes (\S+)/g)].map(([, scope]) => scope!);
const email = 'ada@example.com';
const visitor = { name: 'Vera Visitor', email: 'vera@example.com', notes: 'By the back door, please.' };

let platform: Platform;
let account: TestAccount;
let bookingType: number;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['calendar', 'cdp'] });
  // Five minutes past the hour, so that no listed time passes while a test runs.
  platform.clock.set(new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 300_000));
}, 60_000);
afterAll(async () => {
  await platform?.stop();
});
beforeEach(async () => {
  account = await platform.account({ timezone: 'Europe/Berlin' });
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, { name: 'Ada', email });
  const open: [string, string][] = [['08:00', '18:00']];
  const hours = { mon: open, tue: open, wed: open, thu: open, fri: open, sat: open, sun: open };
  await account.client.calendar.staff.create({ body: { email, hours } });
  const body = { name: 'Consultation', duration_minutes: 30, staff: [email] };
  bookingType = (await account.client.calendar.bookingTypes.create({ body })).id;
});
afterEach(async () => {
  while (stops.length > 0) await stops.pop()!();
});

/** Starts the page's server. Returns its URL and its visitors' requests. */
async function startPage(settings: Partial<Settings> = {}) {
  const key = settings.key ?? (await platform.issueKey(account.id, { scopes }));
  const logged: string[] = [];
  const log = (line: string) => logged.push(line);
  const server = createBookingServer({ platform: platform.gatewayUrl, bookingType, log, ...settings, key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const get = (path: string) => rawRequest(url, 'GET', path);
  const book = (body: unknown, form: string = crypto.randomUUID()) =>
    rawRequest(url, 'POST', '/bookings', { body, headers: { 'idempotency-key': form } });
  return { url, port, logged, get, book };
}

const appointments = async () => (await account.client.calendar.appointments.list({})).data;

describe('a visitor', () => {
  it('sees the free times, books one, and is shown the booking and nothing else', async () => {
    const page = await startPage();
    const { status, body } = await page.get('/free-times');
    expect([status, body.title]).toEqual([200, 'Consultation']);
    const listed = await account.client.calendar.freeTimes.list({ query: { booking_type: bookingType } });
    expect(body.times.slice(0, 20)).toEqual(listed.data.slice(0, 20).map(({ starts_at }) => starts_at));
    const later = await page.get(`/free-times?from=${encodeURIComponent(body.until)}`);
    expect(Date.parse(later.body.times[0])).toBeGreaterThan(Date.parse(body.times.at(-1)));

    const booked = await page.book({ ...visitor, starts_at: body.times[0] });
    expect([booked.status, booked.body]).toEqual([
      201,
      {
        title: 'Consultation',
        starts_at: body.times[0],
        ends_at: listed.data[0]!.ends_at,
        mode: 'online',
        location: '',
        meeting_link: '',
        staff: 'Ada',
      },
    ]);
    const [appointment] = await appointments();
    expect(appointment).toMatchObject({
      starts_at: body.times[0],
      contact: { name: visitor.name },
      notes: visitor.notes,
    });
    const contact = await account.client.cdp.contacts.get({ params: { contact_id: appointment!.contact.id } });
    expect(contact).toMatchObject({ name: visitor.name, email: visitor.email });
  });

  it('books once, however often the form is sent', async () => {
    const page = await startPage();
    const { times } = (await page.get('/free-times')).body;
    const form = crypto.randomUUID();
    const sent = { ...visitor, starts_at: times[0] };
    const all = await Promise.all([1, 2, 3].map(() => page.book(sent, form)));
    expect(all.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(await appointments()).toHaveLength(1);
  });

  it('whose time was taken meanwhile sees the next free times', async () => {
    const page = await startPage();
    const { times } = (await page.get('/free-times')).body;
    await page.book({ ...visitor, starts_at: times[0] });
    const late = await page.book({ name: 'Lena Late', email: 'lena@example.com', starts_at: times[0] });
    expect([late.status, late.body.error.code]).toEqual([409, 'slot_taken']);
    expect(late.body.times).toEqual(times.slice(1, 7));
    expect((await page.book({ ...visitor, starts_at: late.body.times[0] })).status).toBe(201);
  });

  it('is the same contact again, and cannot change another contact by typing its address', async () => {
    const page = await startPage();
    const { times } = (await page.get('/free-times')).body;
    await page.book({ ...visitor, starts_at: times[0] });
    await page.book({ ...visitor, email: ' VERA@example.com ', starts_at: times[1] });
    await page.book({ ...visitor, name: 'Somebody Else', starts_at: times[2] });
    const [third, second, first] = await appointments();
    expect(second!.contact.id).toBe(first!.contact.id);
    expect([third!.contact.name, first!.contact.name]).toEqual(['Somebody Else', visitor.name]);
    expect(third!.contact.id).not.toBe(first!.contact.id);
  });

  it.each([
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(201) }],
    ['email', { email: 'vera' }],
    ['email', { email: null }],
    ['notes', { notes: ['x'] }],
    ['starts_at', { starts_at: 'tomorrow' }],
    ['starts_at', { starts_at: '2026-12-01T09:00:00' }],
  ])('is told that the %s is invalid in %j', async (field, wrong) => {
    const page = await startPage();
    const { status, body } = await page.book({ ...visitor, starts_at: '2030-01-01T09:00:00Z', ...wrong });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
    expect(await appointments()).toEqual([]);
  });
});

describe('the key', () => {
  it('of the README has exactly the needed scopes', async () => {
    expect(scopes).toHaveLength(3);
    for (const left of scopes) {
      const key = await platform.issueKey(account.id, { scopes: scopes.filter((scope) => scope !== left) });
      const page = await startPage({ key });
      const free = await account.client.calendar.freeTimes.list({ query: { booking_type: bookingType } });
      const [listed, booked] = [await page.get('/free-times'), await page.book({ ...visitor, ...free.data[0] })];
      expect([left, listed.status, booked.status]).toEqual([
        left,
        ...(left === 'calendar:read' ? [502, 201] : [200, 502]),
      ]);
    }
  });

  it('is in no response to a visitor', async () => {
    const page = await startPage();
    const paths = ['/', '/booking.css', '/booking.js', '/free-times', '/server.ts', '/README.md', '/../server.ts'];
    const got = await Promise.all(paths.map((path) => page.get(path)));
    expect(got.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 404, 404]);
    for (const { text, headers } of got) expect(`${text}${JSON.stringify([...headers])}`).not.toContain('cp_live_');
    expect(got[0]!.headers.get('content-security-policy')).toContain("script-src 'self'");
  });
});

describe('the server', () => {
  it('says in one line that its port is in use', async () => {
    const { port } = await startPage({ key: 'cp_live_none' });
    const env = { ...process.env, PLATFORM_KEY: 'cp_live_none', PORT: String(port) };
    const child = spawn(process.execPath, [join(import.meta.dirname, 'server.ts')], { env });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, errors]).toEqual([1, `port ${port} is in use: set PORT to another port\n`]);
  });

  const json = { 'content-type': 'application/json', 'idempotency-key': 'a-form-of-a-visitor' };

  it('accepts at most 16 KiB, and only JSON', async () => {
    const { url } = await startPage();
    const post = (rawBody: string, headers = json) => rawRequest(url, 'POST', '/bookings', { rawBody, headers });
    const long = JSON.stringify({ ...visitor, notes: 'x'.repeat(16_384) });
    expect((await post(long)).status).toBe(413);
    expect((await post('{')).status).toBe(400);
    expect((await post('null')).status).toBe(400);
    expect((await post('{}', { ...json, 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post('{}', { ...json, 'idempotency-key': 'short' })).body.error.field).toBe('Idempotency-Key');
  });

  it('rejects an endless body as soon as it is too large', async () => {
    const { port } = await startPage();
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk))).on('error', () => undefined);
    const head = Object.entries(json).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /bookings HTTP/1.1\r\nHost: page\r\nTransfer-Encoding: chunked\r\n${head.join('')}\r\n`);
    socket.write(`4e20\r\n${' '.repeat(20_000)}\r\n`);
    await waitFor('the refusal', () => received.startsWith('HTTP/1.1 413'));
    socket.destroy();
  });

  it('cancels the request to the platform when a visitor disconnects', async () => {
    const hanging = await startReceiver();
    let ended = 0;
    hanging.respond = (_request, response) => response.once('close', () => ended++);
    // The timeout would also end the request, but long after this test.
    const page = await startPage({ platform: hanging.url, timeoutMs: 600_000 });
    const visit = new AbortController();
    const asked = fetch(`${page.url}/free-times`, { signal: visit.signal });
    await hanging.next();
    visit.abort();
    await expect(asked).rejects.toThrow();
    await waitFor('the request to end', () => ended === 1);
    await hanging.stop();
  });

  it('lets 64 visitors wait for the platform, and responds 503 to others', async () => {
    const hanging = await startReceiver();
    hanging.respond = () => undefined;
    const page = await startPage({ platform: hanging.url });
    const waiting = Array.from({ length: 64 }, () => page.get('/free-times').catch(() => 'ended'));
    await waitFor('all to wait', () => hanging.received.length === 64);
    expect(await page.get('/free-times')).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } });
    expect((await page.get('/')).status).toBe(200);
    await hanging.stop();
    expect(await Promise.all(waiting)).toHaveLength(64);
  });

  it('responds 503 while the platform does not respond or sends no JSON', async () => {
    const broken = await startReceiver();
    const page = await startPage({ platform: broken.url, timeoutMs: 50 });
    broken.respond = () => undefined;
    expect(await page.get('/free-times')).toMatchObject({ status: 503, body: { error: { code: 'unavailable' } } });
    broken.respond = (_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>');
    const refused = await page.book({ ...visitor, starts_at: '2030-01-01T09:00:00Z' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await broken.stop();
    expect((await page.get('/free-times')).status).toBe(503);
  });
});
