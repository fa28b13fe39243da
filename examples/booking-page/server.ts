import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';

/** Settings of the page's server. */
export interface Settings {
  /** URL of the platform, such as http://127.0.0.1:8080. */
  platform: string;
  /** API key, which never leaves this server. */
  key: string;
  /** Id of the booking type that visitors book. */
  bookingType: number;
  /** Timeout of a request to the platform, in milliseconds; default 15,000. */
  timeoutMs?: number;
  /** Logs a line for the operator; default: standard error. */
  log?: (line: string) => void;
}

/** Maximum size of a visitor's body, in bytes. */
const maxBodyBytes = 16_384;
/** Maximum number of visitors that wait for the platform at once. Others get 503. */
const maxWaiting = 64;
const daysPerList = 14;
const maxTimes = 200;
/** Number of free times to show in place of a taken one. */
const nextTimes = 6;

/** An error for visitors. The body also has the fields of `more`. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly more: object;

  constructor(
    status: number,
    code: string,
    message: string,
    { field, more = {} }: { field?: string; more?: object } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
    this.more = more;
  }
}

/** Returns the page's server, which does not listen yet. Visitors have 10 s to send a request. */
export function createBookingServer(settings: Settings): Server {
  let waiting = 0;
  const limits = { requestTimeout: 10_000, headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
  const server = createServer(limits, (request, response) => {
    for (const [name, value] of Object.entries(protectiveHeaders)) response.setHeader(name, value);
    const [path, query = ''] = request.url!.split('?', 2) as [string, string?];
    const file = files.get(path);
    if (file) {
      sendFile(request, response, file);
      return;
    }
    const route = routes[`${request.method} ${path}`];
    // A visitor who disconnects cancels the request to the platform.
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    waiting++;
    const serve = async () => {
      if (!route) throw new Refusal(404, 'not_found', 'There is no such page');
      if (waiting > maxWaiting) throw new Refusal(503, 'unavailable', 'Many people are booking; try again shortly');
      const call = platformOf(settings, gone.signal);
      const { status, body } = await route({ request, query: new URLSearchParams(query), call, settings });
      send(response, status, body);
    };
    serve()
      .catch((error: unknown) => refuse(response, error, settings))
      .finally(() => waiting--);
  });
  server.maxConnections = 1_000;
  return server;
}

interface Visit {
  request: IncomingMessage;
  query: URLSearchParams;
  call: Call;
  settings: Settings;
}

const routes: Record<string, ((visit: Visit) => Promise<{ status: number; body: object }>) | undefined> = {
  'GET /free-times': async ({ query, call, settings }) => {
    const from = query.get('from') ?? new Date().toISOString();
    if (!isInstant(from)) throw invalid('from', 'must be a time with its offset, such as 2026-12-01T09:00:00Z');
    const to = new Date(Date.parse(from) + daysPerList * 86_400_000).toISOString();
    return { status: 200, body: await listTimes(call, settings, { from, to, limit: String(maxTimes) }) };
  },
  'POST /bookings': async ({ request, call, settings }) => {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || !/^[\w-]{16,64}$/.test(key))
      throw invalid('Idempotency-Key', 'must be 16 to 64 letters, digits, _ or -, and new for each form');
    const { name, email, notes, starts_at } = readForm(await readBody(request));
    // The same name and address give the same contact. Typing another person's address does not change that person's contact.
    const id = createHash('sha256').update(`${name}\n${email.toLowerCase()}`).digest('base64url');
    const contact = await call('PUT', `/v1/cdp/contacts/by-external-id/booking-page-${id}`, { body: { name, email } });
    const body = { contact: contact.id, booking_type: settings.bookingType, starts_at, ...(notes ? { notes } : {}) };
    try {
      const booked = await call('POST', '/v1/calendar/appointments', { body, key: `booking-page-${key}` });
      return { status: 201, body: shownOf(booked) };
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'slot_taken')) throw error;
      const more = await listTimes(call, settings, { from: starts_at, limit: String(nextTimes) });
      throw new Refusal(409, 'slot_taken', 'This time is no longer free. Please choose another one.', { more });
    }
  },
};

/** Returns free times for the page. `until` is the start of the next list. */
async function listTimes(call: Call, settings: Settings, query: Record<string, string>): Promise<object> {
  const asked = new URLSearchParams({ booking_type: String(settings.bookingType), ...query });
  const list = await call('GET', `/v1/calendar/free-times?${asked}`);
  const times = (list.data as { starts_at: string }[]).map(({ starts_at }) => starts_at);
  const last = times.at(-1);
  const until = list.has_more && last ? new Date(Date.parse(last) + 1).toISOString() : query.to;
  return { title: (list.booking_type as { name: string }).name, times, ...(until ? { until } : {}) };
}

/** Returns the fields of an appointment that a visitor may see: nothing of the contact, and only the teammate's name. */
function shownOf({ title, starts_at, ends_at, mode, location, meeting_link, staff }: Json): object {
  return { title, starts_at, ends_at, mode, location, meeting_link, staff: (staff as { name: string }).name };
}

type Json = Record<string, unknown>;
type Call = (method: string, path: string, sent?: { body?: object; key?: string }) => Promise<Json>;

/** Returns a function that sends requests to the platform. It throws Refusal, and logs errors that visitors cannot fix. */
function platformOf(settings: Settings, gone: AbortSignal): Call {
  const { platform, key: apiKey, timeoutMs = 15_000, log = console.error } = settings;
  return async (method, path, { body, key } = {}) => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(key ? { 'idempotency-key': key } : {}),
    };
    const signal = AbortSignal.any([gone, AbortSignal.timeout(timeoutMs)]);
    const sent = {
      method,
      headers,
      signal,
      redirect: 'error' as const,
      ...(body ? { body: JSON.stringify(body) } : {}),
    };
    const asked = `${method} ${path.split('?', 1)[0]}`;
    const lost = (error: unknown): never => {
      if (!gone.aborted) log(`${asked} got no response: ${error}`);
      throw unavailable();
    };
    const response = await fetch(platform + path, sent).catch(lost);
    const received = (await response.json().catch(lost)) as Json;
    if (response.ok) return received;
    const { refusal, notice } = refusalOf(response, received);
    if (notice) log(`${asked} got ${notice}`);
    throw refusal;
  };
}

/** Returns the error that visitors see, and a notice for the log if only the operator can fix the platform's error. */
function refusalOf({ status, headers }: Response, { error }: Json): { refusal: Refusal; notice?: string } {
  const { code, message = '', field } = (error ?? {}) as { code?: string; message?: string; field?: string };
  if (code === 'slot_taken') return { refusal: new Refusal(409, code, message) };
  if (code === 'invalid_request' && field && visitorsFields.includes(field))
    return { refusal: new Refusal(400, code, message, { field }) };
  const notice = `${status} ${code}: ${message} (Request-Id ${headers.get('request-id')})`;
  // Rate limited, unavailable, or still processing the same form: a retry may succeed.
  if (status === 429 || status >= 500 || headers.has('retry-after')) return { refusal: unavailable(), notice };
  return { refusal: new Refusal(502, 'not_set_up', 'Booking is not possible at the moment'), notice };
}

function unavailable(): Refusal {
  return new Refusal(503, 'unavailable', 'The calendar does not respond; try again shortly');
}

function invalid(field: string, rule: string): Refusal {
  return new Refusal(400, 'invalid_request', `${field} ${rule}`, { field });
}

const visitorsFields = ['name', 'email', 'notes', 'starts_at', 'from', 'to', 'Idempotency-Key'];
const lengths = { name: [1, 200], email: [3, 254], notes: [0, 1_000], starts_at: [1, 40] } as const;

/** Returns the known fields of a form. Throws Refusal if one is invalid. */
function readForm(sent: unknown): Record<keyof typeof lengths, string> {
  const given = (typeof sent === 'object' && sent !== null ? sent : {}) as Json;
  const form = { name: '', email: '', notes: '', starts_at: '' };
  for (const field of Object.keys(lengths) as (keyof typeof lengths)[]) {
    const value = given[field] ?? '';
    const [least, most] = lengths[field];
    if (typeof value !== 'string' || value.trim().length < least || value.length > most)
      throw invalid(field, `must be a string of ${least} to ${most} characters`);
    form[field] = value.trim();
  }
  if (!isInstant(form.starts_at)) throw invalid('starts_at', 'must be one of the free times');
  return form;
}

function isInstant(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))
  );
}

/** Returns the parsed JSON body. Throws Refusal if it is too large or not JSON; a form on another site cannot send JSON. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const [type] = (request.headers['content-type'] ?? '').split(';', 1);
  if (type!.trim().toLowerCase() !== 'application/json')
    throw new Refusal(415, 'invalid_request', 'The body must be application/json');
  const chunks: Buffer[] = [];
  let size = 0;
  // Ending the loop early must not close the connection, which still carries the error response.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Refusal(413, 'invalid_request', 'The body must be at most 16 KiB');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Refusal(400, 'invalid_request', 'The body must be JSON');
  }
}

function refuse(response: ServerResponse, error: unknown, { log = console.error }: Settings): void {
  if (!response.socket || response.socket.destroyed) return;
  if (!(error instanceof Refusal)) log(`A request failed: ${error}`);
  const refusal =
    error instanceof Refusal ? error : new Refusal(500, 'internal_error', 'Something went wrong on our side');
  const { status, code, message, field, more } = refusal;
  if (status === 503) response.setHeader('Retry-After', '5');
  // The rest of the body stays unread.
  if (status === 413) response.setHeader('Connection', 'close');
  send(response, status, { error: { code, message, ...(field ? { field } : {}) }, ...more });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

const protectiveHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

interface PageFile {
  type: string;
  bytes: Buffer;
}

const files = new Map<string, PageFile>(
  [
    ['/', 'index.html', 'text/html; charset=utf-8'],
    ['/booking.css', 'booking.css', 'text/css; charset=utf-8'],
    ['/booking.js', 'booking.js', 'text/javascript; charset=utf-8'],
  ].map(([path, name, type]) => [path!, { type: type!, bytes: readFileSync(join(import.meta.dirname, name!)) }]),
);

function sendFile({ method }: IncomingMessage, response: ServerResponse, { type, bytes }: PageFile): void {
  if (method === 'GET' || method === 'HEAD')
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes);
  else response.writeHead(405, { Allow: 'GET, HEAD' }).end();
}

if (import.meta.main) {
  const { PLATFORM_URL = 'http://127.0.0.1:8080', PLATFORM_KEY, BOOKING_TYPE = '1', PORT = '8090' } = process.env;
  if (!PLATFORM_KEY || !Number.isSafeInteger(Number(BOOKING_TYPE))) {
    console.error('Set PLATFORM_KEY to an API key and BOOKING_TYPE to the id of a booking type: see README.md');
    process.exit(2);
  }
  const settings = { platform: PLATFORM_URL, key: PLATFORM_KEY, bookingType: Number(BOOKING_TYPE) };
  const server = createBookingServer(settings);
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`port ${PORT} is in use: set PORT to another port`);
    process.exit(1);
  });
  server.listen(Number(PORT), '127.0.0.1', () => console.log(`Book at http://127.0.0.1:${PORT}`));
}
