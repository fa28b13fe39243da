import { randomUUIDv7 } from 'node:crypto';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { listenAndTell } from './listen.ts';

// Hostile customers, in a separate process so that their CPU cost does not distort the measured latencies. All start at once; the first
// argument is their setting as JSON. A request stops them and is answered with the outcomes of each.

/** Environment of the hostile customers; everything is on loopback. */
export interface HostileSetting {
  gatewayUrl: string;
  databaseUrl: string;
  /** URL that accepts requests under `/hang` and never responds. */
  hangingUrl: string;
  textsKey: string;
  growing: { id: string; key: string; contact: string };
  /** Keys of accounts with the maximum number of endpoints each. */
  hangingKeys: string[];
  slow: { key: string; testKey: string; hookPath: string };
}

/** Outcomes of a hostility: how often each status or action occurred, and the error if it failed. */
export interface Outcome {
  name: string;
  counts: Record<string, number>;
  error?: string;
}

/** One run of a hostility, which ends with the signal. `add` counts outcomes by name. */
interface Run {
  setting: HostileSetting;
  signal: AbortSignal;
  add(outcome: string | number, count?: number): void;
}

type Hostility = (run: Run) => Promise<unknown>;

interface HostileRequest {
  key: string;
  method: string;
  path: string;
  body?: string;
}

/** Request whose body is sent slowly: `piece` every `everyMs`, up to `length` bytes. */
interface SlowRequest extends Pick<RequestOptions, 'localAddress'> {
  path: string;
  headers: Record<string, string>;
  length: number;
  piece: Buffer;
  everyMs: number;
}

const mebibyte = 1_048_576;
const hangingEndpointsOfAccount = 20;
const jsonType = { 'content-type': 'application/json' };
/** Client address of hostile hook calls. Hooks are limited per client address, so it differs from that of the healthy customer's providers. */
const localAddress = '127.0.0.66';
const aByteASecond = { length: mebibyte / 2, piece: Buffer.from(' '), everyMs: 1_000 };

const hostilities: Record<string, Hostility> = {
  'template texts': twiceASecond(({ textsKey: key }) => {
    // Texts that would take minutes in a backtracking regular expression: within the limit, over it, and as long as a body may be.
    const spaces = (count: number) => `{{${' '.repeat(count)}`;
    const bodies = [spaces(3_000), '{{'.repeat(2_000), spaces(8_000), spaces(1_000_000)];
    return bodies.map((text) => {
      const body = JSON.stringify({ appointment_booked: { body: text } });
      return { key, method: 'PATCH', path: '/v1/messages/templates', body };
    });
  }),
  'bodies of 90,000 unknown keys': twiceASecond(({ textsKey: key }) => {
    const keys = Array.from({ length: 90_000 }, (_, index) => `"k${index}":0`);
    const body = `{${keys.join(',')}}`;
    const paths = ['/v1/cdp/contacts', '/v1/crm/deals', '/v1/messages'];
    return paths.map((path) => ({ key, method: 'POST', path, body }));
  }),
  // Every field and tag changes each time, so the event contains all of them twice.
  'PATCHes of a contact at its bounds': twiceASecond(({ growing: { key, contact } }) =>
    ['a', 'b'].map((letter) => {
      const fields = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`f${index}`, letter.repeat(990)]));
      const tags = Array.from({ length: 100 }, (_, index) => `${letter.repeat(95)}${index}`);
      return { key, method: 'PATCH', path: `/v1/cdp/contacts/${contact}`, body: JSON.stringify({ fields, tags }) };
    }),
  ),
  'events over the limit of the bus, put into two outboxes': oversizedEvents,
  'hanging endpoints': (run) => Promise.all(run.setting.hangingKeys.map((key) => keepHanging(run, key))),
  '400 slow bodies of a customer with a key': keptOpen(({ slow: { key } }) => {
    const headers = { ...jsonType, authorization: `Bearer ${key}` };
    return [
      ...Array<SlowRequest>(200).fill({ ...aByteASecond, path: '/v1/cdp/contacts', headers }),
      ...Array<SlowRequest>(200).fill({ ...aByteASecond, path: '/v1/messages', headers }),
    ];
  }),
  '200 slow bodies of hooks without a key': keptOpen(({ slow: { hookPath } }) => {
    const hook = { ...aByteASecond, headers: jsonType, localAddress };
    return [
      ...Array<SlowRequest>(150).fill({ ...hook, path: hookPath }),
      ...Array<SlowRequest>(50).fill({ ...hook, path: '/hooks/messages/nobody' }),
    ];
  }),
  'hooks with unknown tokens': (run) => {
    const body = { length: 2, piece: Buffer.from('{}'), everyMs: 1, headers: jsonType, localAddress };
    return atPace(20, run.signal, async (index) => {
      run.add(await sendSlowly(run, { ...body, path: `/hooks/messages/unknown-${index}` }));
    });
  },
  // Two from the live account and two from its sandbox, each just fast enough not to be refused.
  'four slow uploads of a customer': keptOpen(({ slow: { key, testKey } }) => {
    const piece = { length: 10 * mebibyte, piece: Buffer.alloc(2_048, 'a'), everyMs: 250 };
    return [key, key, testKey, testKey].map((bearer) => {
      const headers = { 'content-type': 'multipart/form-data; boundary=slow', authorization: `Bearer ${bearer}` };
      return { ...piece, path: '/v1/agents/knowledge/files', headers };
    });
  }),
};

/** Returns a hostility that sends two requests a second, one at a time. */
function twiceASecond(requestsOf: (setting: HostileSetting) => HostileRequest[]): Hostility {
  return (run) => {
    const requests = requestsOf(run.setting);
    return atPace(2, run.signal, async (index) =>
      run.add((await send(run, requests[index % requests.length]!)).status),
    );
  };
}

/** Returns a hostility that keeps slow requests open; each is sent again 2 s after it has ended. */
function keptOpen(requestsOf: (setting: HostileSetting) => SlowRequest[]): Hostility {
  return (run) => {
    const keepOne = async (request: SlowRequest) => {
      while (!run.signal.aborted) {
        run.add(await sendSlowly(run, request));
        await pause(2_000, run.signal);
      }
    };
    return Promise.all(requestsOf(run.setting).map(keepOne));
  };
}

/** Inserts events that are larger than the bus accepts into the outboxes of two services, all at once; each is retried repeatedly. */
async function oversizedEvents({ setting: { databaseUrl, growing }, add }: Run): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const head = { type: 'contact.updated', timestamp: new Date().toISOString(), account: growing.id, mode: 'live' };
  const envelope = JSON.stringify({ id: randomUUIDv7(), ...head, data: { text: 'x'.repeat(1_500_000) } });
  try {
    // Inserted once, then copied in its stored form: quoting and compressing 60 MB would use CPU that the round measures.
    await sql`create temporary table oversized (envelope text)`;
    await sql`insert into oversized values (${envelope})`;
    for (const [schema, kind] of [
      ['cdp', 'contact.updated'],
      ['crm', 'deal.updated'],
    ] as const) {
      const { count } = await sql`
        insert into ${sql(schema)}.outbox (account_id, id, kind, audience, envelope)
        select ${growing.id}::uuid, uuidv7(), ${kind}, 'public', envelope from oversized, generate_series(1, 20)`;
      add('rows', count);
    }
  } finally {
    await sql.end();
  }
}

/** Keeps the maximum number of endpoints that never respond. The oldest is constantly replaced, so that there is always a new one. */
async function keepHanging(run: Run, key: string): Promise<void> {
  const endpoints: string[] = [];
  const create = async () => {
    const body = JSON.stringify({ url: `${run.setting.hangingUrl}/hang`, events: ['contact.*'] });
    const made = await send(run, { key, method: 'POST', path: '/v1/webhooks', body });
    if (made.status !== 201) throw new Error(`creating an endpoint returned ${made.status}: ${made.text}`);
    endpoints.push(JSON.parse(made.text).id);
  };
  while (endpoints.length < hangingEndpointsOfAccount) await create();
  run.add('made', hangingEndpointsOfAccount);
  const makeEvents = atPace(0.5, run.signal, async () => {
    const { status } = await send(run, { key, method: 'POST', path: '/v1/cdp/contacts', body: '{"name":"Hung"}' });
    run.add(status === 201 ? 'events' : `contact ${status}`);
  });
  const replace = async () => {
    const { status } = await send(run, { key, method: 'DELETE', path: `/v1/webhooks/${endpoints.shift()}` });
    if (status !== 204) throw new Error(`deleting an endpoint returned ${status}`);
    await create();
    run.add('made again');
  };
  await Promise.all([makeEvents, atPace(1, run.signal, replace, 1)]);
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * Calls `work` at a steady rate until the signal, with at most `mostUnderWay` concurrent calls, then waits for those. Throws what
 * a call throws, unless the signal is aborted.
 */
async function atPace(
  perSecond: number,
  signal: AbortSignal,
  work: (index: number) => Promise<void>,
  mostUnderWay = 10,
): Promise<void> {
  const under = new Set<Promise<void>>();
  let failure: unknown;
  for (let index = 0; !signal.aborted && failure === undefined; index++) {
    if (under.size < mostUnderWay) {
      const call: Promise<void> = work(index)
        .catch((error: unknown) => {
          if (!signal.aborted) failure ??= error;
        })
        .finally(() => under.delete(call));
      under.add(call);
    }
    await pause(1_000 / perSecond, signal);
  }
  await Promise.all(under);
  if (failure !== undefined) throw failure;
}

/** Sends one request and returns its status and body; throws when the signal is aborted first or after 20 s. */
async function send(
  { setting, signal }: Run,
  { key, method, path, body }: HostileRequest,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${setting.gatewayUrl}${path}`, {
    method,
    headers: { ...jsonType, authorization: `Bearer ${key}` },
    body: body ?? null,
    signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
  });
  return { status: response.status, text: await response.text() };
}

/** Sends one slow request until a response arrives, the connection ends or the signal is aborted. Returns the status or how it ended. */
async function sendSlowly(
  { setting, signal }: Run,
  { path, headers, length, piece, everyMs, localAddress }: SlowRequest,
): Promise<string> {
  const { hostname, port } = new URL(setting.gatewayUrl);
  const to = { hostname, port, localAddress, path, method: 'POST', agent: false as const, signal };
  const { promise, resolve } = Promise.withResolvers<string>();
  const sent = httpRequest({ ...to, headers: { ...headers, 'content-length': length } });
  sent.on('response', ({ statusCode }) => resolve(String(statusCode)));
  sent.on('error', () => resolve(signal.aborted ? 'held to the end' : 'reset'));
  sent.flushHeaders();
  let left = length;
  const timer = setInterval(() => {
    if (left > 0) sent.write(piece.subarray(0, left));
    left -= piece.length;
  }, everyMs);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    sent.destroy();
  }
}

const setting = JSON.parse(process.argv[2]!) as HostileSetting;
const end = new AbortController();

async function outcomeOf([name, run]: [string, Hostility]): Promise<Outcome> {
  const counts: Record<string, number> = {};
  const add = (outcome: string | number, count = 1) => {
    counts[outcome] = (counts[outcome] ?? 0) + count;
  };
  try {
    await run({ setting, signal: end.signal, add });
  } catch (error) {
    if (!end.signal.aborted) return { name, counts, error: String(error) };
  }
  return { name, counts };
}

const running = Promise.all(Object.entries(hostilities).map(outcomeOf));
listenAndTell(async (_request, response) => {
  end.abort();
  response.setHeader('content-type', 'application/json').end(JSON.stringify(await running));
});
