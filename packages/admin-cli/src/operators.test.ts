import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { deadEvent, failingEndpoint, idOf, liveProcess, page, queue } from '../test/operator-fixtures.ts';
import { type StandInControlPlane, startStandInControlPlane } from '../test/stand-in-control-plane.ts';
import { runCommand } from './cli.ts';

const token = 'a token of the operators, long enough';
let plane: StandInControlPlane;

beforeAll(async () => {
  plane = await startStandInControlPlane(token);
});
beforeEach(() => plane.reset());
afterAll(async () => await plane.stop());

/** Runs a command at a terminal of 80 columns. */
async function run(...args: string[]) {
  return await runCommand(args, { ADMIN_URL: plane.url, ADMIN_TOKEN: token }, tmpdir());
}

async function lines(...args: string[]): Promise<string[]> {
  const { exitCode, output } = await run(...args);
  expect([exitCode, output]).toEqual([0, expect.any(String)]);
  return output.split('\n');
}

describe('commands that change something', () => {
  const path = { service: 'webhooks', queue: 'deliveries' };
  const cases: [string[], object][] = [
    [
      ['queues', 'pause', 'webhooks', 'deliveries', '--endpoint', idOf(2), '--reason', 'their server is down'],
      { operation: 'pauseQueue', params: path, fields: { endpoint: idOf(2), reason: 'their server is down' } },
    ],
    [
      ['queues', 'resume', 'webhooks', 'deliveries', '--account', idOf(1)],
      { operation: 'resumeQueue', params: path, fields: { account: idOf(1) } },
    ],
    [['dead', 'requeue', idOf(7)], { operation: 'requeueDeadEvent', params: { dead_id: idOf(7) }, fields: {} }],
    [
      ['dead', 'drop', idOf(7), '--reason', 'a test'],
      { operation: 'dropDeadEvent', params: { dead_id: idOf(7) }, fields: { reason: 'a test' } },
    ],
  ];

  it.each(cases)('%j sends one request and says that it is done', async (args, expected) => {
    expect(await run(...args)).toEqual({ exitCode: 0, output: 'done' });
    expect(plane.seen).toEqual([expected]);
    expect(await run(...args, '--json')).toEqual({ exitCode: 0, output: '{}' });
  });

  const counting: [string[], 'retryQueue' | 'requeueDeadEvents' | 'republishEvents', object, string][] = [
    [['queues', 'retry', 'webhooks', 'deliveries'], 'retryQueue', {}, 'tried now'],
    [
      ['dead', 'requeue', '--service', 'calendar', '--queue', 'contact.updated', '--account', idOf(1)],
      'requeueDeadEvents',
      { service: 'calendar', queue: 'contact.updated', account: idOf(1) },
      'requeued',
    ],
    [
      ['events', 'republish', '--since', '2026-11-20T00:00:00Z', '--service', 'cdp'],
      'republishEvents',
      { since: '2026-11-20T00:00:00Z', service: 'cdp' },
      'published again',
    ],
  ];

  it.each(counting)('%j says how many it matched, and what becomes of them', async (args, operation, fields, what) => {
    plane.give(operation, { matched: 3 });
    expect(await run(...args)).toEqual({ exitCode: 0, output: `3 are ${what}` });
    expect(plane.seen).toMatchObject([{ operation, fields }]);
    expect(await run(...args, '--json')).toEqual({ exitCode: 0, output: '{"matched":3}' });
    plane.give(operation, { matched: 1 });
    expect((await run(...args)).output).toBe(`1 is ${what}`);
  });

  it('ends with 1 where it is refused, with --json the envelope on standard output', async () => {
    const error = { code: 'invalid_request', message: 'queue "deliveries" has no endpoints', field: 'endpoint' };
    plane.respondWith('retryQueue', 400, { error });
    const args = ['queues', 'retry', 'webhooks', 'deliveries'];
    const said = 'refused (400 invalid_request): queue "deliveries" has no endpoints';
    expect(await run(...args)).toEqual({ exitCode: 1, output: said });
    error.message += ' \u009b2J\u202e \u{e0001}';
    plane.respondWith('retryQueue', 400, { error });
    const machines = await run(...args, '--json');
    expect(machines.output).toMatch(/^[ -~]+$/);
    expect([machines.exitCode, JSON.parse(machines.output)]).toEqual([1, { error }]);
  });

  it('has an envelope with --json even where none came', async () => {
    plane.respondWith('listServices', 502, '<h1>Bad Gateway\u001b[2J</h1>');
    expect((await run('services')).output).toBe('refused (502 service_unavailable): <h1>Bad Gateway\\u{1b}[2J</h1>');
    expect(JSON.parse((await run('services', '--json')).output).error.code).toBe('service_unavailable');
    plane.respondWith('listServices', 200, '<h1>Another server</h1>');
    expect(await run('services')).toMatchObject({ exitCode: 1, output: expect.stringContaining('Another server') });
    const nowhere = { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN: token };
    const unreachable = await runCommand(['services', '--json'], nowhere, tmpdir());
    expect([unreachable.exitCode, JSON.parse(unreachable.output).error.code]).toEqual([1, 'service_unavailable']);
  });

  it('ends with 2 and the usage where it is used wrongly, without any request', async () => {
    const wrong = [
      ['queues'],
      ['queues', 'show', 'webhooks'],
      ['queues', 'pause', 'webhooks', 'deliveries'],
      ['queues', 'pause', 'webhooks', '..', '--reason', 'x'],
      ['queues', 'explode'],
      ['dead', 'requeue'],
      ['dead', 'requeue', '--service', 'cdp'],
      ['dead', 'requeue', idOf(7), '--service', 'cdp'],
      ['dead', 'show', ''],
      ['endpoints', 'failing', '--failing', 'false'],
      ['endpoints', 'list'],
      ['services', 'list'],
      ['audit', '--actr', 'anna'],
      ['trace'],
      ['queues', 'list', '--attention', 'perhaps'],
      ['traces', 'list', '--min-duration-ms', 'long'],
      ['check', '--fast'],
      ['check', 'everything'],
      ['top', '--fast'],
      ['top'],
    ];
    for (const args of wrong) {
      const { exitCode, output } = await run(...args);
      expect([args, exitCode]).toEqual([args, 2]);
      expect(output).toContain(args[0]);
    }
    expect(plane.seen).toEqual([]);
  });
});

describe('commands that show something', () => {
  it('lists queues in a table that fits, errors whole with their age, under the services whose queues are missing', async () => {
    const pause = { reason: 'their server is down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
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
    expect(await lines('queues', 'list', '--attention')).toEqual([
      'crm, cdp do not respond:',
      'their queues are not listed. See docs/runbooks/service-gone.md',
      'service    queue            ready  run  wait  dead  lag  paused',
      'webhooks   deliveries      120000   12  4711     0   3m  -',
      `  error 2m ago: ${error}`,
      'catalogue  contact.merged       0    0     0     2    -  all',
      'messaging  receipts             0    0     0     0    -  part',
    ]);
    expect(plane.seen).toMatchObject([{ operation: 'listQueues', fields: { attention: true } }]);
    await run('queues', 'list', '--attention', '--history', 'false', '--json');
    expect(plane.seen.at(-1)).toMatchObject({ fields: { attention: true, history: false } });
  });

  it('says of a list that lacks services which, also where it is empty, and of one that lacks the gateway that the bus is gone', async () => {
    const empty = { data: [], has_more: false as const, next: null };
    plane.give('listDeadEvents', { ...empty, gone: ['cdp'] });
    expect(await lines('dead', 'list')).toEqual([
      'cdp does not respond:',
      'its dead events are not listed. See docs/runbooks/service-gone.md',
      'none of those who respond',
    ]);
    plane.give('listEndpoints', { ...empty, gone: ['webhooks'] });
    expect(await lines('endpoints', 'failing')).toEqual([
      'webhooks does not respond:',
      'its endpoints are not listed. See docs/runbooks/service-gone.md',
      'none of those who respond',
    ]);
    plane.give('listDeadEvents', { ...empty, gone: ['gateway', 'cdp'] });
    plane.give('listQueues', { data: [], gone: ['gateway', 'cdp'] });
    for (const list of ['dead', 'queues']) {
      expect(await lines(list, 'list')).toEqual([
        'NATS does not respond (or PostgreSQL, if processes are listed):',
        'services may be well. See docs/runbooks/outbox-stuck.md',
      ]);
    }
    plane.give('listServices', { data: [], gone: ['gateway', 'cdp'] });
    expect(await lines('services')).toEqual([
      'NATS does not respond:',
      'services may be well. See docs/runbooks/outbox-stuck.md',
    ]);
  });

  it('shows a queue whole in the words of the list, its pauses, then its parts as a table', async () => {
    const error = `503 ${'x'.repeat(200)}`;
    const pause = { endpoint: idOf(2), reason: 'down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
    const part = { account: idOf(1), ready: 3, running: 0, waiting: 1, dead: 0, last_error: error };
    const due = { oldest_due_at: '2026-11-20T11:58:00.000Z', failing_since: '2026-11-20T09:00:00.000Z' };
    plane.give('getQueue', {
      ...queue({ ready: 3, waiting: 1, lag_seconds: 120, last_error: error, pauses: [pause] }),
      top: [{ ...part, endpoint: idOf(2), ...due }],
    });
    const shown = await lines('queues', 'show', 'webhooks', 'deliveries', '--by', 'endpoint');
    expect(plane.seen).toMatchObject([{ operation: 'getQueue', fields: { by: 'endpoint' } }]);
    expect(shown.slice(7, 11)).toEqual(['lag      2m', 'paused   part', `error    ${error}`, 'oldest   -']);
    expect(shown).toContain(`pause: endpoint ${idOf(2)}, by anna 1h ago: down`);
    const parts = shown.slice(shown.indexOf('') + 1);
    expect(parts).toEqual([
      'endpoint                              ready  run  wait  dead  oldest  failing',
      `${idOf(2)}      3    0     1     0      2m       3h`,
      `  account ${idOf(1)}`,
      `  error ${error}`,
    ]);
  });

  it('shows how many entries wait after a failure, and the last hour where it is asked for', async () => {
    const depth = { ready: 3, running: 1, waiting: 40, dead: 0 };
    const whole = queue({ ...depth, failed_waiting: 38 });
    plane.give('getQueue', {
      ...whole,
      history: [{ at: '2026-11-20T11:58:00.000Z', ...depth }],
      top: [{ account: idOf(1), ...depth, failed_waiting: 38 }],
    });
    const shown = await lines('queues', 'show', 'webhooks', 'deliveries', '--history', 'true');
    expect(shown).toContain('failed   38');
    expect(shown.slice(shown.indexOf('') + 1)).toEqual([
      'account                               ready  run  wait  failed  dead',
      `${idOf(1)}      3    1    40      38     0`,
      '',
      'at                ready  run  wait  dead',
      '2026-11-20 11:58      3    1    40     0',
    ]);
  });

  it('lists dead events with whole ids and whole reasons', async () => {
    plane.give('listDeadEvents', {
      data: [
        deadEvent({ account: idOf(1), kind: 'contact.updated', queue: 'domain-events', reason: 'r'.repeat(300) }),
        deadEvent({ id: idOf(8) }),
      ],
      has_more: true,
      gone: [],
      next: idOf(8),
    });
    const shown = await lines('dead', 'list', '--service', 'calendar', '--limit', '2');
    expect(plane.seen).toMatchObject([{ fields: { service: 'calendar', limit: 2 } }]);
    expect(shown.slice(0, -1)).toEqual([
      'id                                    age  service   queue            bytes',
      `${idOf(7)}   3m  calendar  domain-events        5`,
      `  reason ${'r'.repeat(300)}`,
      `  account ${idOf(1)}  tries 10  kind contact.updated`,
      `${idOf(8)}   3m  calendar  contact.updated      5`,
      '  reason version must be a number  tries 10  kind events.cdp.contact',
    ]);
    expect(shown.at(-1)).toBe(`more: --starting-after ${idOf(8)}`);
  });

  it('shows a dead event with its fields, then its text without what a terminal would obey', async () => {
    const text = '{"name":"\u001b[2Jx"}\n\tend';
    const bytes = Buffer.from(text).toString('base64');
    const headers = { 'Nats-Msg-Id': 'm\r\n1' };
    plane.give('getDeadEvent', { ...deadEvent({ reason: 'r'.repeat(300) }), bytes, text, headers });
    const shown = await lines('dead', 'show', idOf(7));
    expect(shown).toContain(`reason      ${'r'.repeat(300)}`);
    expect(shown).toContain('header Nats-Msg-Id: m\\r\\n1');
    expect(shown.slice(shown.indexOf('') + 1)).toEqual(['{"name":"\\u{1b}[2Jx"}', '    end']);
  });

  it('shows a dead event that is no text as a hex dump of its first 512 bytes', async () => {
    const bytes = Buffer.from(Array.from({ length: 600 }, (_value, index) => 255 - (index % 256)));
    plane.give('getDeadEvent', { ...deadEvent({}), bytes: bytes.toString('base64'), text: null, headers: {} });
    const shown = await lines('dead', 'show', idOf(7));
    const dump = shown.slice(shown.indexOf('') + 1);
    expect(dump).toHaveLength(33);
    expect(dump[0]).toBe('00000000: fffe fdfc fbfa f9f8 f7f6 f5f4 f3f2 f1f0  ................');
    expect(dump[9]).toBe('00000090: 6f6e 6d6c 6b6a 6968 6766 6564 6362 6160  onmlkjihgfedcba`');
    expect(dump.at(-1)).toBe('the first 512 of 600 bytes');
    expect(shown).toContain('headers none');
  });

  it('lists endpoints that fail', async () => {
    plane.give('listEndpoints', {
      ...page(failingEndpoint({}), failingEndpoint({ id: idOf(22), paused: true })),
      gone: [],
    });
    const shown = await lines('endpoints', 'failing');
    expect(plane.seen).toMatchObject([{ operation: 'listEndpoints', fields: { failing: true } }]);
    expect(shown[0]).toMatch(/^id +failing +pending +state$/);
    expect(shown.slice(-3)).toEqual([
      expect.stringMatching(new RegExp(`^${RegExp.escape(idOf(22))} +3h +17 +paused$`)),
      `  url https://hooks.example.com/in  account ${idOf(1)}`,
      '  error 1m ago: 503 Service Unavailable',
    ]);
    expect(shown.every((line) => line.length <= 80)).toBe(true);
  });

  it('lists live processes, and which services have none', async () => {
    plane.give('listServices', {
      data: [liveProcess({ pid: 4711 }), liveProcess({ waiting_for: 'Redis' })],
      gone: ['crm'],
    });
    const shown = await lines('services');
    expect(shown.slice(0, 2)).toEqual([
      'crm does not respond:',
      'its processes are not listed. See docs/runbooks/service-gone.md',
    ]);
    expect(shown[2]).toMatch(/^service +pid +host +up +waiting for +loop ms +MiB +pool +version$/);
    expect(shown[3]).toMatch(/^webhooks +4711 +node-a +2d +- +3.25 +120 +10\/10\+4/);
    expect(shown[4]).toMatch(/^webhooks +- +node-a +2d +Redis /);
    expect(shown.every((line) => line.length <= 80)).toBe(true);
    const wide = await runCommand(['services'], { ADMIN_URL: plane.url, ADMIN_TOKEN: token, COLUMNS: '200' }, tmpdir());
    expect(wide.output).toContain(idOf(31));
    expect(wide.output).toContain('0007_pauses.sql');
  });

  it('lists changes that operators made, targets whole', async () => {
    const at = '2026-11-20T11:58:00.000Z';
    plane.give(
      'listAudit',
      page(
        {
          id: idOf(1),
          at,
          actor: 'anna',
          action: 'accounts.update',
          target: `accounts/${idOf(3)}`,
          before: { name: 'A', created_at: '2026-11-01T09:30:00.000+01:00' },
          after: { name: 'B', created_at: '2026-11-01T09:30:00.000+01:00' },
        },
        {
          id: idOf(2),
          at,
          actor: 'ben',
          action: 'queues.pause',
          target: 'webhooks/deliveries',
          account: idOf(3),
          after: { account: idOf(3), reason: 'down' },
        },
      ),
    );
    const shown = await lines('audit', '--actor', 'anna');
    expect(plane.seen).toMatchObject([{ operation: 'listAudit', fields: { actor: 'anna' } }]);
    expect(shown.slice(1, 5)).toEqual([
      expect.stringMatching(new RegExp(`^ *2m  anna +accounts.update  accounts/${RegExp.escape(idOf(3))}$`)),
      '  at 2026-11-20 11:58',
      '  change name "A" → "B", created_at "2026-11-01T08:30:00.000Z" → "2026-11-01T08:30:00.000Z"',
      expect.stringMatching(/^ *2m {2}ben +queues.pause +webhooks\/deliveries$/),
    ]);
    expect(shown.slice(5)).toEqual([
      '  at 2026-11-20 11:58',
      `  change account "${idOf(3)}", reason "down"`,
      `  account ${idOf(3)}`,
    ]);
    const wide = await runCommand(['audit'], { ADMIN_URL: plane.url, ADMIN_TOKEN: token, COLUMNS: '220' }, tmpdir());
    expect(wide.output).toContain('name "A" → "B"');
    expect(wide.output).toMatch(/^2026-11-20 11:58 .*reason "down"/m);
  });

  it('lists traces, and none where there are none', async () => {
    plane.give('listTraces', page());
    expect(await lines('traces', 'list')).toEqual(['none']);
    const trace = { trace_id: 'f'.repeat(32), status: 'error' as const, started_at: '2026-11-20T11:59:30.000Z' };
    plane.give(
      'listTraces',
      page({
        ...trace,
        account: idOf(1),
        request_id: 'req_1',
        operation: 'bookAppointment',
        request_status: 'ok' as const,
        request_duration_ms: 35.21,
        duration_ms: 5371,
        spans: 12,
      }),
    );
    const shown = await lines('traces', 'list', '--request-status', 'ok', '--min-duration-ms', '30');
    expect(plane.seen.at(-1)).toMatchObject({ fields: { request_status: 'ok', min_duration_ms: 30 } });
    expect(shown.slice(1)).toEqual([
      `${'f'.repeat(32)}  30s  35.2  ok       5,371  error  bookAppoint…`,
      `  account ${idOf(1)}  request req_1`,
      'no room for: spans (--json has all)',
    ]);
  });

  it('draws one trace as a waterfall', async () => {
    const span = { traceId: 'f'.repeat(32), spanId: 'a', name: 'GET /v1/me' };
    const times = { startTimeUnixNano: '1763640000000000000', endTimeUnixNano: '1763640000010000000' };
    plane.give('getTrace', { resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, ...times }] }] }] });
    expect((await lines('trace', 'req_1'))[0]).toBe(`trace ${'f'.repeat(32)}, 1 span of 1 service, 10.0 ms`);
    expect(plane.seen).toMatchObject([{ params: { trace_id: 'req_1' } }]);
    plane.give('getTrace', { resourceSpans: [{ scopeSpans: 'none' }] });
    expect(await run('trace', 'req_1')).toMatchObject({ exitCode: 1, output: expect.stringContaining('OTLP/JSON') });
  });

  it('shows as well what a newer control plane says beyond the contract', async () => {
    const entry = { at: '2026-11-20T11:58:00.000Z', actor: 'anna', action: 'queues.empty', target: 'cdp/audiences' };
    plane.respondWith('listAudit', 200, { data: [{ id: idOf(1), ...entry }], has_more: false, next: null });
    expect((await lines('audit'))[1]).toMatch(new RegExp(`^${RegExp.escape(idOf(1))}  2026-11-20 11:58  anna`));
  });
});
