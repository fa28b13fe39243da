import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  deadEvent,
  failingEndpoint,
  health,
  idOf,
  liveProcess,
  page,
  queue,
  trace,
} from '../test/operator-fixtures.ts';
import { useStandIn } from '../test/stand-in-control-plane.ts';

const rest = 'Next, check Redis, PostgreSQL and the NATS log: see docs/operations.md';
const idle = { size: 10, used: 0, waiting: 0 };
const { plane, run: runTool } = useStandIn();
const run = async (...args: string[]) => await runTool(['check', ...args]);

beforeEach(() => {
  plane.give('listServices', { data: [liveProcess({ pool: idle })], gone: [] });
  plane.give('listQueues', { data: [], gone: [] });
  plane.give('listEndpoints', { ...page(), gone: [] });
  plane.give('listDeadEvents', { ...page(), gone: [] });
  plane.give('listTraces', page());
  plane.give('listAddresses', page());
  plane.give('listAttention', { channels: [], accounts: [], endpoints: [], addresses: [], gone: [] });
  plane.give('getAccountHealth', health({}));
});

describe('the check', () => {
  it('has one line for rows without a problem, in the order of the table, and limits its requests to the account', async () => {
    const { exitCode, output } = await run('--account', idOf(1));
    expect([exitCode, output.split('\n')]).toEqual([
      0,
      [
        `ok: 1 services, 2 health ${idOf(1)}, 3 queues list, 4`,
        'endpoints failing (active only), 5 dead list, 6 traces list',
        rest,
      ],
    ]);
    expect(Object.fromEntries(plane.seen.map(({ operation, fields }) => [operation, fields]))).toEqual({
      listServices: {},
      getAccountHealth: {},
      listQueues: { attention: true },
      listEndpoints: { limit: 100, account: idOf(1), failing: true },
      listDeadEvents: { limit: 100, account: idOf(1) },
      listTraces: { limit: 100, account: idOf(1), request_status: 'error' },
    });
  });

  it('shows up to ten findings of each row, uncut and with control characters escaped, and the runbooks', async () => {
    const waiting = liveProcess({ pid: 4711, pool: idle, waiting_for: 'Redis' });
    plane.give('listServices', {
      data: [liveProcess({ pool: { size: 10, used: 10, waiting: 4 } }), waiting],
      gone: ['crm'],
    });
    const pauses = [{ account: null, endpoint: null, reason: 'down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' }];
    const outbox = queue({
      service: 'cdp',
      queue: 'outbox',
      lag_seconds: 200,
      last_error: `\u001b[2J${'r'.repeat(300)}`,
    });
    plane.give('listQueues', { data: [outbox, queue({ dead: 2, pauses, failed_waiting: 3 })], gone: [] });
    plane.give('listEndpoints', { ...page(failingEndpoint({})), gone: ['webhooks'] });
    const dead = Array.from({ length: 100 }, () => deadEvent({}));
    plane.give('listDeadEvents', { data: dead, has_more: true, next: idOf(8), gone: [] });
    plane.give('listTraces', page(trace({ request_status: 'error', request_duration_ms: 5012 })));
    const blocked = { address: '203.0.113.7', invalid_keys: 30, last_at: '2026-11-20T11:58:00.000Z' };
    plane.give('listAddresses', page(blocked));
    const { exitCode, output } = await runTool(['check'], { COLUMNS: '120' });
    expect([exitCode, output.split('\n')]).toEqual([
      0,
      [
        '1  look     services',
        '     crm does not respond: its processes are not listed',
        '     webhooks: 4 wait for one of its 10 connections to PostgreSQL',
        '     webhooks 4711: waits for Redis',
        '     see docs/runbooks/service-gone.md',
        '     see docs/runbooks/pool-exhausted.md',
        '     see docs/runbooks/redis-fallback.md',
        '3  look     queues list --attention',
        '     cdp outbox: lags by 3m;',
        `     \\u001b[2J${'r'.repeat(106)}`,
        `     ${'r'.repeat(115)}`,
        `     ${'r'.repeat(79)}`,
        '     webhooks deliveries: 2 dead, 3 waiting for a retry, partly paused',
        '     see docs/runbooks/outbox-stuck.md',
        '     see docs/runbooks/dead-events.md',
        '     see docs/runbooks/endpoint-failing.md',
        '     see docs/runbooks/deliveries-late.md',
        '4  look     endpoints failing',
        '     webhooks does not respond: its endpoints are not listed',
        `     ${idOf(21)} has failed for 3h, 17 pending: 503 Service Unavailable`,
        '     see docs/runbooks/service-gone.md',
        '     see docs/runbooks/endpoint-failing.md',
        '5  look     dead list',
        ...Array(10).fill(`     ${idOf(7)} of calendar contact.updated: version must be a number`),
        '     and at least 90 more',
        '     see docs/runbooks/dead-events.md',
        '6  look     traces list --request-status error',
        `     ${'f'.repeat(32)} of bookAppointment failed after 5,012 ms, started 30s ago`,
        '     see docs/runbooks/error-budget-burn.md',
        '7  look     addresses list',
        '     203.0.113.7 sent 30 invalid keys in the last hour, the last at 2026-11-20 11:58Z',
        '     see docs/runbooks/key-leaked.md',
        'ok: 2 attention',
        rest,
      ],
    ]);
  });

  it('shows a row as unknown if its request is refused, and exits with 1', async () => {
    plane.respondWith('listTraces', 404, {
      error: { code: 'not_found', message: 'Traces are at https://traces.example' },
    });
    const { exitCode, output } = await run();
    expect(exitCode).toBe(1);
    expect(output.split('\n')).toEqual([
      '6  unknown  traces list --request-status error',
      '     not_found: Traces are at https://traces.example',
      'ok: 1 services, 2 attention, 3 queues list, 4 endpoints failing (active only), 5',
      'dead list, 7 addresses list',
      rest,
    ]);
    const { rows } = JSON.parse((await run('--json')).output);
    expect(rows[5]).toMatchObject({ verdict: 'unknown', findings: [], refusal: { code: 'not_found' } });
  });

  it('names a bus that does not respond once, and lists the rows that are unknown without it on one line', async () => {
    plane.give('listServices', { data: [], gone: ['gateway', 'webhooks'] });
    plane.give('listQueues', { data: [queue({ dead: 2 })], gone: ['gateway', 'webhooks'] });
    const attention = { channels: [], accounts: [], endpoints: [], addresses: [], gone: ['webhooks' as const] };
    plane.give('listAttention', attention);
    const { exitCode, output } = await run();
    expect([exitCode, ...output.split('\n')]).toEqual([
      1,
      '1  look     services',
      '     NATS does not respond: the services may still be running',
      '     see docs/runbooks/outbox-stuck.md',
      'unknown while NATS does not respond: 2 attention, 3 queues list',
      'ok: 4 endpoints failing (active only), 5 dead list, 6 traces list, 7 addresses',
      'list',
      rest,
    ]);
  });

  it('sends no more requests if the control plane refuses the first or does not respond', async () => {
    const unreachable = await runTool(['check'], { ADMIN_URL: 'http://127.0.0.1:1' });
    expect([unreachable.exitCode, unreachable.output.split('\n')[0]]).toEqual([1, '1  unknown  services']);
    const wrong = await runTool(['check', '--json'], { ADMIN_TOKEN: 'wrong' });
    expect(JSON.parse(wrong.output).rows).toMatchObject([{ verdict: 'unknown', refusal: { code: 'invalid_key' } }]);
    expect(plane.seen).toEqual([]);
  });

  it('lists all problems of an account, each with the commands that fix it and its runbook', async () => {
    const at = '2026-11-20T11:58:00.000Z';
    const endpoint = { url: 'https://hooks.example.com/in', active: true, paused: false, disabled_reason: null };
    const state = { ...endpoint, failing_since: null, pending: 0, failed_24h: 0 };
    const disabled_reason = 'The endpoint responded with 410 Gone.';
    const working = { rate_limit: null, ended_at: null };
    const of = (count: number) => ({ requests: 9, limited: count, addresses: ['203.0.113.8'] });
    plane.give('getAccountHealth', {
      requests: {
        last_hour: { total: 200, by_code: { module_off: 4, rate_limited: 30, not_found: 90, invalid_key: 5 } },
      },
      rate_limit: { per_minute: 600, burst: 100 },
      keys: [
        {
          ...working,
          id: idOf(3),
          name: 'shop',
          last4: '7gQz',
          requests: 120,
          limited: 30,
          addresses: ['203.0.113.7'],
        },
        { ...working, ...of(0), id: idOf(4), name: 'calm', last4: 'aaaa' },
        { ...of(3), id: idOf(8), name: 'old', last4: 'bbbb', rate_limit: null, ended_at: at },
        { ...of(3), id: idOf(9), name: 'own', last4: 'cccc', rate_limit: { per_minute: 60, burst: 9 }, ended_at: null },
      ],
      messages: {
        failed_24h: [{ channel: 'sms', code: 'rejected', count: 25, last_at: at, last_error: 'no route' }],
        channels: [
          { channel: 'sms', provider: 'http', status: 'failing', error: '401', failing_since: at, held: 3 },
          { channel: 'email', provider: 'http', status: 'ready', error: null, failing_since: null, held: 0 },
        ],
      },
      endpoints: [
        { ...state, id: idOf(5), active: false, disabled_reason },
        { ...state, id: idOf(6), paused: true, pending: 7, failed_24h: 2 },
        { ...state, id: idOf(7), active: false },
      ],
      plans: { failed_24h: 2, last_error: 'Step 1: the stage is not there' },
      modules_off: ['crm', 'cdp'],
      suspended: true,
      gone: ['agents'],
    });
    const { output } = await runTool(['check', '--account', idOf(1)], { COLUMNS: '250' });
    const since = '2026-11-19T12:00:00Z';
    const indented = (lines: string[]) => lines.map((line) => `     ${line}`);
    const look = (command: string) => `  $ npm run -s admin -- ${command}`;
    const change = (command: string) => look(`${command} --reason 'WHY'`);
    const update = (flags: string) => change(`accounts update ${idOf(1)} ${flags}`);
    const rotate = (id: number) => change(`keys rotate ${idOf(id)} --overlap-seconds 0`);
    const rate = `--rate-limit '{"per_minute":NUMBER,"burst":NUMBER}'`;
    expect(output.split('\n').slice(0, -2)).toEqual([
      `2  look     health ${idOf(1)}`,
      ...indented([
        'agents does not respond: its parts are not listed',
        'the account is suspended',
        look(`audit --account ${idOf(1)}`),
        update('--status active'),
        'modules switched off or not in the plan: crm, cdp; requests refused with 404 in the last hour: 4',
        look(`audit --account ${idOf(1)}`),
        update(`--modules '{"crm":{"on":true},"cdp":{"on":true}}'`),
        "key shop (…7gQz): 30 of 120 requests got 429 in the last hour, from 203.0.113.7; the account's limit is 600 per minute. Lowered by us? See audit. Key leaked? Rotate it. Load wanted? Raise the limit",
        look(`audit --account ${idOf(1)}`),
        rotate(3),
        update(rate),
        'key old (…bbbb) ended at 2026-11-20 11:58Z but is still used: 9 requests in the last hour (invalid_key: 5), from 203.0.113.8',
        look(`audit --account ${idOf(1)}`),
        'key own (…cccc): 3 of 9 requests got 429 in the last hour, from 203.0.113.8; its own limit is 60 per minute: only a new key can have another. Lowered by us? See audit. Key leaked? Rotate it. Load wanted? Raise the limit',
        look(`audit --account ${idOf(1)}`),
        rotate(9),
        change(`keys create ${idOf(1)} --name NAME --mode MODE --scopes SCOPES ${rate}`),
        '35 of 200 requests were refused in the last hour: rate_limited 30, invalid_key 5',
        look(`traces list --account ${idOf(1)} --status-code 4xx`),
        'channel sms: http has refused the credentials since 2026-11-20 11:58Z: 401; 3 messages wait. After the customer sets up the channel again, waiting messages are sent automatically',
        'messages by sms: 25 failed in the last day (rejected), the last at 2026-11-20 11:58Z: no route',
        change(`messages resend ${idOf(1)} --since ${since} --code rejected`),
        'plans: 2 failed in the last day, the last: Step 1: the stage is not there',
        look(`traces list --account ${idOf(1)} --status error`),
        'and 3 more',
        ...['service-gone', 'module-off', 'key-leaked', 'channel-failing', 'messages-failing', 'work-late'].map(
          (name) => `see docs/runbooks/${name}.md`,
        ),
        'see docs/runbooks/endpoint-failing.md',
      ]),
    ]);
    const { rows } = JSON.parse((await run('--account', idOf(1), '--json')).output);
    expect(rows[1].findings.at(-1)).toEqual({
      text: `endpoint ${idOf(6)} (https://hooks.example.com/in) is paused, pending: 7`,
      mends: [`queues resume webhooks deliveries --endpoint ${idOf(6)}`],
      runbooks: ['endpoint-failing'],
    });
  });

  it('without an account, names the accounts, channels and endpoints that need attention', async () => {
    const [account, account_name] = [idOf(1), 'Acme'];
    const failing_since = '2026-11-20T09:00:00.000Z';
    const gone = failingEndpoint({ active: false, disabled_reason: 'The endpoint responded with 410 Gone.' });
    plane.give('listAttention', {
      accounts: [
        { account, account_name, failed_messages: 25, requests: 90, refused: 9, reasons: ['messages', 'refusals'] },
      ],
      channels: [{ account, account_name, channel: 'sms', provider: 'http', error: '401', failing_since }],
      endpoints: [{ ...gone, account_name }],
      addresses: [],
      gone: [],
    });
    plane.give('listEndpoints', { ...page(gone), gone: [] });
    const { output } = await run();
    const [change, check] = ["--reason 'WHY'", `       $ npm run -s admin -- check --account ${account}`];
    expect(output.split('\n')).toEqual([
      '2  look     attention',
      '     account Acme, in the last hour: 25 messages failed, 9 of 90 requests',
      '     refused',
      check,
      '     account Acme: channel sms: http has refused the credentials since',
      '     2026-11-20 09:00Z: 401',
      check,
      `     account Acme: endpoint ${gone.id}`,
      '     (https://hooks.example.com/in) is disabled: The endpoint responded with 410',
      '     Gone.',
      `       $ npm run -s admin -- endpoints enable ${gone.id} ${change}`,
      `       $ npm run -s admin -- endpoints replay ${gone.id} --since 2026-11-19T12:00:00Z ${change}`,
      '     see docs/runbooks/messages-failing.md',
      '     see docs/runbooks/key-leaked.md',
      '     see docs/runbooks/channel-failing.md',
      '     see docs/runbooks/endpoint-failing.md',
      'ok: 1 services, 3 queues list, 4 endpoints failing (active only), 5 dead list, 6',
      'traces list, 7 addresses list',
      rest,
    ]);
  });
});
