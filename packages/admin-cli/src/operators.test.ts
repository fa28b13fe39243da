import { describe, expect, it } from '@jest/globals';
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

const { plane, run } = useStandIn();
/** Splits a command line without quotes into its arguments. */
const words = (line: string) => line.split(' ');

/** Runs a command that succeeds and returns its lines. */
async function lines(line: string, environment: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const { exitCode, output } = await run(words(line), environment);
  expect([exitCode, output]).toEqual([0, expect.any(String)]);
  return output.split('\n');
}

describe('commands that change something', () => {
  const path = { service: 'webhooks', queue: 'deliveries' };

  it.each<[string, object]>([
    [
      `queues pause webhooks deliveries --endpoint ${idOf(2)} --reason down`,
      { operation: 'pauseQueue', params: path, fields: { endpoint: idOf(2), reason: 'down' } },
    ],
    [
      `endpoints enable ${idOf(2)} --reason mended`,
      { operation: 'enableEndpoint', params: { endpoint_id: idOf(2) }, fields: { reason: 'mended' } },
    ],
    [
      `keys revoke ${idOf(3)} --reason leaked`,
      { operation: 'revokeKey', params: { key_id: idOf(3) }, fields: { reason: 'leaked' } },
    ],
    [`dead requeue ${idOf(7)}`, { operation: 'requeueDeadEvent', params: { dead_id: idOf(7) }, fields: {} }],
    [
      `dead drop ${idOf(7)} --reason test`,
      { operation: 'dropDeadEvent', params: { dead_id: idOf(7) }, fields: { reason: 'test' } },
    ],
  ])('%s sends one request and prints done', async (line, expected) => {
    expect(await lines(line)).toEqual(['done']);
    expect(plane.seen).toEqual([expected]);
    expect(await lines(`${line} --json`)).toEqual(['{}']);
  });

  it('checks the pauses before it resumes a queue, and says so if none matches exactly', async () => {
    const pause = { account: idOf(1), endpoint: null, reason: 'down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
    plane.give('getQueue', { ...queue({ pauses: [pause] }), top: [] });
    const resume = 'queues resume webhooks deliveries';
    expect(await lines(`${resume} --account ${idOf(1)} --reason mended`)).toEqual(['done']);
    expect(plane.seen).toMatchObject([
      { operation: 'getQueue', params: path },
      { operation: 'resumeQueue', params: path, fields: { account: idOf(1), reason: 'mended' } },
    ]);
    expect(await lines(resume)).toEqual([
      'nothing to resume: no pause matches exactly',
      `paused: account ${idOf(1)}, by anna 1h ago: down`,
    ]);
    expect(plane.seen.at(-1)).toMatchObject({ operation: 'resumeQueue', fields: {} });
    expect(await lines(`${resume} --json`)).toEqual(['{}']);
  });

  it.each<
    [
      string,
      'retryQueue' | 'requeueDeadEvents' | 'republishEvents' | 'replayEndpoint' | 'resendMessages',
      object,
      string,
    ]
  >([
    ['queues retry webhooks deliveries', 'retryQueue', {}, 'due now'],
    [
      `dead requeue --service calendar --queue contact.updated --account ${idOf(1)}`,
      'requeueDeadEvents',
      { service: 'calendar', queue: 'contact.updated', account: idOf(1) },
      'requeued',
    ],
    [
      'events republish --since 2026-11-20T00:00:00Z --service cdp',
      'republishEvents',
      { since: '2026-11-20T00:00:00Z', service: 'cdp' },
      'published again',
    ],
    [
      `endpoints replay ${idOf(2)} --since 2026-11-20T00:00:00Z`,
      'replayEndpoint',
      { since: '2026-11-20T00:00:00Z' },
      'deliveries are sent again',
    ],
    [
      `messages resend ${idOf(1)} --since 2026-11-20T00:00:00Z --code rejected`,
      'resendMessages',
      { since: '2026-11-20T00:00:00Z', code: 'rejected' },
      'messages are sent again',
    ],
  ])('%s prints how many it matched, and what happens to them', async (line, operation, fields, what) => {
    plane.give(operation, { matched: 3 });
    expect(await lines(line)).toEqual([`3 ${what}`]);
    expect(plane.seen).toMatchObject([{ operation, fields }]);
    expect(await lines(`${line} --json`)).toEqual(['{"matched":3}']);
  });

  it('exits with 1 for an error response, and with --json prints the error envelope to the standard output', async () => {
    const error = { code: 'invalid_request', message: 'queue "deliveries" has no endpoints', field: 'endpoint' };
    plane.respondWith('retryQueue', 400, { error });
    const args = words('queues retry webhooks deliveries');
    const said = 'refused (400 invalid_request): queue "deliveries" has no endpoints';
    expect(await run(args)).toEqual({ exitCode: 1, output: said });
    error.message += ' \u009b2J\u202e \u{e0001}';
    plane.respondWith('retryQueue', 400, { error });
    const machines = await run([...args, '--json']);
    expect(machines.output).toMatch(/^[ -~]+$/);
    expect([machines.exitCode, JSON.parse(machines.output)]).toEqual([1, { error }]);
  });

  it('prints an error envelope with --json even if the response has none', async () => {
    plane.respondWith('listServices', 502, '<h1>Bad Gateway\u001b[2J</h1>');
    expect((await run(['services'])).output).toBe('refused (502 service_unavailable): <h1>Bad Gateway\\u001b[2J</h1>');
    expect(JSON.parse((await run(['services', '--json'])).output).error.code).toBe('service_unavailable');
    plane.respondWith('listServices', 200, '<h1>Another server</h1>');
    expect(await run(['services'])).toMatchObject({ exitCode: 1, output: expect.stringContaining('Another server') });
    const unreachable = await run(['services', '--json'], { ADMIN_URL: 'http://127.0.0.1:1' });
    expect([unreachable.exitCode, JSON.parse(unreachable.output).error.code]).toEqual([1, 'service_unavailable']);
  });

  it.each([
    '',
    'accounts list --limit many',
    'accounts create --name x --plan big',
    'queues',
    'queues show webhooks',
    'queues pause webhooks deliveries',
    'queues pause webhooks .. --reason x',
    'queues explode',
    'dead requeue',
    'dead requeue --service cdp',
    `dead requeue ${idOf(7)} --service cdp`,
    'dead show ',
    'endpoints failing --failing false',
    'endpoints list',
    'services list',
    'audit --actr anna',
    'trace',
    'queues list --attention perhaps',
    'traces list --min-duration-ms long',
    'check --fast',
    'check everything',
    'top --fast',
    'top',
  ])('%j exits with 2 and the usage, without any request', async (line) => {
    const { exitCode, output } = await run(words(line));
    expect([exitCode, output]).toEqual([2, expect.stringContaining(words(line)[0]!)]);
    expect(plane.seen).toEqual([]);
  });
});

describe('commands that show something', () => {
  it('show their flags when asked for help', async () => {
    expect((await run(['--help'])).exitCode).toBe(0);
    expect(await lines('queues pause --help')).toContain('  --reason *               text');
    expect((await lines('keys create --help')).join()).toContain('--allowed-addresses');
  });

  it('lists queues in a table that fits, with uncut errors and their age, below the services whose queues are missing', async () => {
    const whole = { account: null, endpoint: null };
    const pause = { ...whole, reason: 'their server is down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
    const error = 'connect ECONNREFUSED 203.0.113.9:443 after 15,000 ms and many more words';
    const last_error_at = '2026-11-20T11:58:00.000Z';
    plane.give('listQueues', {
      data: [
        queue({ ready: 120_000, running: 12, waiting: 4711, lag_seconds: 200, last_error: error, last_error_at }),
        queue({ service: 'catalogue', queue: 'contact.merged', dead: 2, paused: true, pauses: [pause] }),
        queue({ service: 'messaging', queue: 'receipts', pauses: [{ ...pause, account: idOf(1) }] }),
      ],
      gone: ['crm', 'cdp'],
    });
    expect(await lines('queues list --attention')).toEqual([
      'crm, cdp do not respond:',
      'their queues are not listed. See docs/runbooks/service-gone.md',
      'service    queue            ready  run  wait  dead  lag  paused',
      'webhooks   deliveries      120000   12  4711     0   3m  -',
      `  error 2m ago: ${error}`,
      'catalogue  contact.merged       0    0     0     2    -  all',
      'messaging  receipts             0    0     0     0    -  part',
    ]);
    expect(plane.seen).toMatchObject([{ operation: 'listQueues', fields: { attention: true } }]);
    await lines('queues list --attention --history false --json');
    expect(plane.seen.at(-1)).toMatchObject({ fields: { attention: true, history: false } });
  });

  it('names the services that a list lacks, even if it is empty; if the gateway is gone too, names the bus', async () => {
    plane.give('listDeadEvents', { ...page(), gone: ['cdp'] });
    expect(await lines('dead list')).toEqual([
      'cdp does not respond:',
      'its dead events are not listed. See docs/runbooks/service-gone.md',
      'none',
    ]);
    plane.give('listEndpoints', { ...page(), gone: ['gateway', 'cdp'] });
    expect(await lines('endpoints failing')).toEqual([
      'NATS or PostgreSQL does not respond:',
      'the services may still be running. See docs/runbooks/outbox-stuck.md',
    ]);
    plane.give('getAccountHealth', health({ gone: ['webhooks'] }));
    expect((await lines(`health ${idOf(1)}`)).slice(0, 2)).toEqual([
      'webhooks does not respond:',
      'its parts are not listed. See docs/runbooks/service-gone.md',
    ]);
  });

  it('lists keys with their rate limit and end', async () => {
    const given = { mode: 'live' as const, scopes: ['*'], allowed_addresses: [], last_used_at: null };
    const key = { ...given, last4: '7gQz', created_at: '2026-11-01T08:00:00.000Z', revoked_at: null };
    const [ended, ends] = ['2026-11-20T09:00:00.000Z', '2026-11-20T12:05:00.000Z'];
    plane.give(
      'listKeys',
      page(
        { ...key, id: idOf(1), name: 'old', rate_limit: null, expires_at: ended },
        { ...key, id: idOf(2), name: 'new', rate_limit: { per_minute: 60, burst: 10 }, expires_at: ends },
        { ...key, id: idOf(3), name: 'shop', rate_limit: null, expires_at: null },
      ),
    );
    expect((await lines(`keys list ${idOf(4)}`)).filter((line) => !line.startsWith(' '))).toEqual([
      'id                                    name  last4  mode  ended   rate    scopes',
      `${idOf(1)}  old   7gQz   live  3h ago  -       *`,
      `${idOf(2)}  new   7gQz   live  in 5m   60/min  *`,
      `${idOf(3)}  shop  7gQz   live  -       -       *`,
    ]);
  });

  it('shows what needs attention as the check words it, with addresses', async () => {
    const [account, account_name] = [idOf(1), 'Acme'];
    const counts = { failed_messages: 0, requests: 90, refused: 60, reasons: ['modules' as const] };
    const addresses = [{ address: '203.0.113.7', invalid_keys: 130, last_at: '2026-11-20T11:58:00.000Z' }];
    const accounts = [{ account, account_name, ...counts }];
    plane.give('listAttention', { accounts, channels: [], endpoints: [], addresses, gone: [] });
    expect(await lines('attention', { COLUMNS: '120' })).toEqual([
      'account Acme, in the last hour: 60 of 90 requests refused, mostly because a module is off',
      `  $ npm run -s admin -- check --account ${account}`,
      '203.0.113.7 sent 130 invalid keys in the last hour, the last at 2026-11-20 11:58Z',
      'see docs/runbooks/module-off.md',
      'see docs/runbooks/key-leaked.md',
    ]);
  });

  it('shows a queue with the columns of the list, its pauses, its shares as a table, and the last hour if requested', async () => {
    const error = `503 ${'x'.repeat(200)}`;
    const pause = { account: null, endpoint: idOf(2), reason: 'down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
    const depth = { ready: 3, running: 0, waiting: 40, dead: 0 };
    const nothing = { failed_waiting: null, oldest_due_at: null, last_error: null, last_error_trace_id: null };
    const part = { account: idOf(1), ...depth, ...nothing, endpoint: null, failing_since: null };
    const due = { oldest_due_at: '2026-11-20T11:58:00.000Z', failing_since: '2026-11-20T09:00:00.000Z' };
    plane.give('getQueue', {
      ...queue({ ...depth, failed_waiting: 38, lag_seconds: 120, last_error: error, pauses: [pause] }),
      history: [{ at: '2026-11-20T11:58:00.000Z', ...depth }],
      top: [{ ...part, failed_waiting: 38, last_error: error, endpoint: idOf(2), ...due }],
    });
    const shown = await lines('queues show webhooks deliveries --by endpoint --history true');
    expect(plane.seen).toMatchObject([{ operation: 'getQueue', fields: { by: 'endpoint', history: true } }]);
    expect(shown.slice(5)).toEqual([
      ...['failed   38', 'dead     0', 'lag      2m', 'paused   part', `error    ${error}`, 'oldest   -'],
      `pause: endpoint ${idOf(2)}, by anna 1h ago: down`,
      '',
      'endpoint                              ready  run  wait  failed  dead  failing',
      `${idOf(2)}      3    0    40      38     0       3h`,
      `  oldest 2m  account ${idOf(1)}`,
      `  error ${error}`,
      '',
      'at                 ready  running  waiting  dead',
      '2026-11-20 11:58Z      3        0       40     0',
    ]);
    plane.give('getQueue', { ...queue(depth), top: [part] });
    expect((await lines('queues show webhooks deliveries')).slice(-2)).toEqual([
      'account                               ready  run  wait  dead',
      `${idOf(1)}      3    0    40     0`,
    ]);
  });

  it('lists dead events with uncut ids and reasons', async () => {
    const long = { account: idOf(1), kind: 'contact.updated', queue: 'domain-events', reason: 'r'.repeat(300) };
    const data = [deadEvent(long), deadEvent({ id: idOf(8) })];
    plane.give('listDeadEvents', { data, has_more: true, gone: [], next: idOf(8) });
    const shown = await lines('dead list --service calendar --limit 2');
    expect(plane.seen).toMatchObject([{ fields: { service: 'calendar', limit: 2 } }]);
    expect(shown).toEqual([
      'id                                    age  service   queue            tries',
      `${idOf(7)}   3m  calendar  domain-events       10`,
      `  bytes 5  kind contact.updated  account ${idOf(1)}`,
      `  reason ${'r'.repeat(300)}`,
      `${idOf(8)}   3m  calendar  contact.updated     10`,
      '  bytes 5  kind events.cdp.contact  reason version must be a number',
      `more: --starting-after ${idOf(8)}`,
    ]);
  });

  it('shows a dead event with its fields, then its text with control characters escaped', async () => {
    const text = '{"name":"\u001b[2Jx"}\n\tend';
    const bytes = Buffer.from(text).toString('base64');
    const headers = { 'Nats-Msg-Id': 'm\r\n1' };
    plane.give('getDeadEvent', { ...deadEvent({ reason: 'r'.repeat(300) }), bytes, text, headers });
    const shown = await lines(`dead show ${idOf(7)}`);
    expect(shown).toContain(`reason      ${'r'.repeat(300)}`);
    expect(shown.slice(-4)).toEqual(['header Nats-Msg-Id: m\\r\\n1', '', '{"name":"\\u001b[2Jx"}', '    end']);
  });

  it('shows a binary dead event as a hex dump of its first 512 bytes', async () => {
    const bytes = Buffer.from(Array.from({ length: 600 }, (_value, index) => 255 - (index % 256)));
    plane.give('getDeadEvent', { ...deadEvent({}), bytes: bytes.toString('base64'), text: null, headers: {} });
    const shown = await lines(`dead show ${idOf(7)}`);
    const dump = shown.slice(shown.indexOf('headers none') + 2);
    expect(dump).toHaveLength(33);
    expect(dump[9]).toBe('00000090: 6f6e 6d6c 6b6a 6968 6766 6564 6362 6160  onmlkjihgfedcba`');
    expect(dump.at(-1)).toBe('the first 512 of 600 bytes');
  });

  it('lists failing endpoints', async () => {
    const off = failingEndpoint({ id: idOf(22), active: false, disabled_reason: 'gone' });
    plane.give('listEndpoints', { ...page(failingEndpoint({ paused: true }), off), gone: [] });
    const below = [`  url https://hooks.example.com/in  account ${idOf(1)}`, '  error 1m ago: 503 Service Unavailable'];
    expect(await lines('endpoints failing')).toEqual([
      'id                                    failing  pending  paused  off',
      ...[`${idOf(21)}       3h       17  yes     -`, ...below],
      ...[`${idOf(22)}       3h       17  -       gone`, ...below],
    ]);
    expect(plane.seen).toMatchObject([{ operation: 'listEndpoints', fields: { failing: true } }]);
  });

  it('lists live processes, and the services without any', async () => {
    const data = [liveProcess({ pid: 4711 }), liveProcess({ waiting_for: 'Redis' })];
    plane.give('listServices', { data, gone: ['crm'] });
    expect(await lines('services')).toEqual([
      'crm does not respond:',
      'its processes are not listed. See docs/runbooks/service-gone.md',
      'service    pid  host    up  waiting for  loop ms  MiB  pool     version',
      'webhooks  4711  node-a  2d  -               3.25  120  10/10+4  1.0.0',
      '  requests 2  migration 0007_pauses.sql',
      'webhooks     -  node-a  2d  Redis           3.25  120  10/10+4  1.0.0',
      '  requests 2  migration 0007_pauses.sql',
    ]);
  });

  it('lists the changes of operators, with uncut targets and times in UTC', async () => {
    const created_at = '2026-11-01T09:30:00.000+01:00';
    const by = { id: idOf(1), at: '2026-11-20T11:58:00.000Z', actor: 'anna' };
    const entry = { ...by, action: 'accounts.update' as const, account: null, reason: null, before: null };
    const change = {
      target: `accounts/${idOf(3)}`,
      before: { name: 'A', created_at },
      after: { name: 'B', created_at },
    };
    const after = { account: idOf(3), reason: 'down' };
    const pause = { ...entry, action: 'queues.pause' as const, target: 'webhooks/deliveries', account: idOf(3), after };
    plane.give('listAudit', page({ ...entry, ...change }, pause));
    expect(await lines('audit --actor anna')).toEqual([
      'age  actor  action           target',
      ` 2m  anna   accounts.update  accounts/${idOf(3)}`,
      '  at 2026-11-20 11:58Z',
      '  change {"name":"A","created_at":"2026-11-01T08:30:00.000Z"} → {"name":"B","created_at":"2026-11-01T08:30:00.000Z"}',
      ' 2m  anna   queues.pause     webhooks/deliveries',
      `  at 2026-11-20 11:58Z  account ${idOf(3)}`,
      `  change {"account":"${idOf(3)}","reason":"down"}`,
    ]);
    expect(plane.seen).toMatchObject([{ operation: 'listAudit', fields: { actor: 'anna' } }]);
    expect((await lines('audit', { COLUMNS: '250' }))[1]).toMatch(/^ 2m .*"name":"B"/);
  });

  it('lists traces, and prints none for an empty list', async () => {
    plane.give('listTraces', page());
    expect(await lines('traces list')).toEqual(['none']);
    const request = { request_id: 'req_1', request_status: 'ok' as const, request_duration_ms: 35.21 };
    plane.give('listTraces', page(trace({ account: idOf(1), ...request })));
    const shown = await lines('traces list --request-status ok --min-duration-ms 30');
    expect(plane.seen.at(-1)).toMatchObject({ fields: { request_status: 'ok', min_duration_ms: 30 } });
    expect(shown.slice(1)).toEqual([
      `${'f'.repeat(32)}  30s  35.2  ok      bookAppointment   5,371`,
      '  all error  spans 12  at 2026-11-20 11:59Z',
      `  account ${idOf(1)}  request req_1`,
    ]);
  });

  it('shows traffic as a table, and the health of an account without empty values, times in UTC', async () => {
    const minute = { minute: '2026-11-20T12:58:00.000+01:00', requests: 12, s2xx: 10, s4xx: 2, s5xx: 0, limited: 2 };
    plane.give('listTraffic', { data: [{ ...minute, p99_ms: 35 }] });
    expect((await lines(`traffic --account ${idOf(1)}`))[1]).toMatch(/^2026-11-20 11:58Z +12 +10 +2 +0 +2 +35$/);
    plane.give('getAccountHealth', health({}));
    const rate = ['rate_limit.per_minute  600', 'rate_limit.burst       100'];
    expect(await lines(`health ${idOf(1)}`)).toEqual([...rate, 'suspended              false']);
    const failed = { channel: 'sms' as const, code: 'rejected', count: 3, last_error: 'no such route' };
    const messages = { failed_24h: [{ ...failed, last_at: '2026-11-20T11:58:00.000Z' }], channels: [] };
    const last_hour = { total: 7, by_code: { module_off: 2, rate_limited: 0 } };
    plane.give('getAccountHealth', health({ requests: { last_hour }, messages, modules_off: ['crm', 'cdp'] }));
    expect(await lines(`health ${idOf(1)}`)).toEqual([
      'requests.last_hour.total               7',
      'requests.last_hour.by_code.module_off  2',
      'rate_limit.per_minute                  600',
      'rate_limit.burst                       100',
      'modules_off                            crm,cdp',
      'suspended                              false',
      '',
      'messages.failed_24h:',
      'channel  code      count  last_at            last_error',
      'sms      rejected      3  2026-11-20 11:58Z  no such route',
    ]);
  });

  it('finds accounts by part of the name', async () => {
    plane.give('listAccounts', page());
    expect(await lines('accounts list --q acme')).toEqual(['none']);
    expect(plane.seen).toMatchObject([{ operation: 'listAccounts', fields: { q: 'acme' } }]);
  });

  it.each([
    ['queues explode', 'queues list'],
    ['acount list', 'accounts list'],
    ['chek', 'check'],
    ['trafic', 'traffic'],
  ])('for the unknown command %j, suggests %s', async (line, nearest) => {
    const { exitCode, output } = await run(words(line));
    expect([exitCode, output.split('\n')[1]]).toEqual([2, expect.stringContaining(`  ${nearest} `)]);
  });

  it('draws one trace as a waterfall', async () => {
    const times = { startTimeUnixNano: '1763640000000000000', endTimeUnixNano: '1763640000010000000' };
    const key = [{ key: 'platform.key', value: { stringValue: '7gQz' } }];
    const spans = [{ traceId: 'f'.repeat(32), spanId: 'a', name: 'GET /v1/me', attributes: key, ...times }];
    const attributes = [{ key: 'service.name', value: { stringValue: 'gateway' } }];
    plane.give('getTrace', { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] });
    expect((await lines('trace req_1'))[0]).toBe(`trace ${'f'.repeat(32)} of gateway, 10.0 ms, key …7gQz`);
    expect(plane.seen).toMatchObject([{ params: { trace_id: 'req_1' } }]);
  });

  it('shows values of a newer control plane that the contract lacks', async () => {
    const entry = { at: '2026-11-20T11:58:00.000Z', actor: 'anna', action: 'queues.empty', target: 'cdp/audiences' };
    plane.respondWith('listAudit', 200, { data: [{ id: idOf(1), ...entry }], has_more: false, next: null });
    expect((await lines('audit'))[1]).toMatch(/^ 2m {2}anna {3}queues\.empty {2}cdp\/audiences/);
  });
});
