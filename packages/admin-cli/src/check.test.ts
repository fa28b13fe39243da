import { beforeEach, describe, expect, it } from '@jest/globals';
import { deadEvent, failingEndpoint, idOf, liveProcess, page, queue, trace } from '../test/operator-fixtures.ts';
import { useStandIn } from '../test/stand-in-control-plane.ts';

const rest = 'Then Redis, PostgreSQL and the log of NATS: see docs/operations.md';
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
});

describe('the check', () => {
  it('has a row for each command of the table, in its order, and asks for what concerns the account', async () => {
    const { exitCode, output } = await run('--account', idOf(1));
    expect([exitCode, output.split('\n')]).toEqual([
      0,
      [
        '1  ok       services',
        '2  ok       queues list --attention',
        `3  ok       endpoints failing --account ${idOf(1)}`,
        `4  ok       dead list --account ${idOf(1)}`,
        `5  ok       traces list --request-status error --account ${idOf(1)}`,
        '6  ok       addresses list',
        rest,
      ],
    ]);
    expect(Object.fromEntries(plane.seen.map(({ operation, fields }) => [operation, fields]))).toEqual({
      listServices: {},
      listQueues: { attention: true },
      listEndpoints: { limit: 100, account: idOf(1), failing: true },
      listDeadEvents: { limit: 100, account: idOf(1) },
      listTraces: { limit: 100, account: idOf(1), request_status: 'error' },
      listAddresses: { limit: 100 },
    });
  });

  it('says of each row what to look at and on which page, five of each, cut to the terminal, control characters as escapes', async () => {
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
        '2  look     queues list --attention',
        `     cdp outbox: lags by 3m; \\u001b[2J${'r'.repeat(81)}…`,
        '     webhooks deliveries: 2 dead, 3 wait after a failure, paused in part',
        '     see docs/runbooks/outbox-stuck.md',
        '     see docs/runbooks/dead-events.md',
        '     see docs/runbooks/endpoint-failing.md',
        '     see docs/runbooks/deliveries-late.md',
        '3  look     endpoints failing',
        '     webhooks does not respond: its endpoints are not listed',
        `     ${idOf(21)} fails for 3h, 17 pending: 503 Service Unavailable`,
        '     see docs/runbooks/service-gone.md',
        '     see docs/runbooks/endpoint-failing.md',
        '4  look     dead list',
        ...Array(5).fill(`     ${idOf(7)} of calendar contact.updated: version must be a number`),
        '     and 95 more at least',
        '     see docs/runbooks/dead-events.md',
        '5  look     traces list --request-status error',
        `     ${'f'.repeat(32)} of bookAppointment failed after 5,012 ms, begun 30s ago`,
        '     see docs/runbooks/error-budget-burn.md',
        '6  look     addresses list',
        '     203.0.113.7 sent 30 invalid keys in the last hour, the last at 2026-11-20 11:58',
        rest,
      ],
    ]);
  });

  it('says of a row that is refused that it is unknown, and ends with 1', async () => {
    plane.respondWith('listTraces', 404, {
      error: { code: 'not_found', message: 'Traces are at https://traces.example' },
    });
    plane.give('listServices', { data: [], gone: ['gateway', 'crm'] });
    const { exitCode, output } = await run();
    expect(exitCode).toBe(1);
    expect(output.split('\n').slice(0, 4)).toEqual([
      '1  look     services',
      '     NATS does not respond: services may be well',
      '     see docs/runbooks/outbox-stuck.md',
      '2  ok       queues list --attention',
    ]);
    expect(output).toContain(
      '5  unknown  traces list --request-status error\n     not_found: Traces are at https://traces.example\n6  ok',
    );
    const { rows } = JSON.parse((await run('--json')).output);
    expect(rows[4]).toMatchObject({ verdict: 'unknown', findings: [], refusal: { code: 'not_found' } });
  });

  it('sends no more requests where the control plane refuses the first or does not respond', async () => {
    const unreachable = await runTool(['check'], { ADMIN_URL: 'http://127.0.0.1:1' });
    expect([unreachable.exitCode, unreachable.output.split('\n')[0]]).toEqual([1, '1  unknown  services']);
    const wrong = await runTool(['check', '--json'], { ADMIN_TOKEN: 'wrong' });
    expect(JSON.parse(wrong.output).rows).toMatchObject([{ verdict: 'unknown', refusal: { code: 'invalid_key' } }]);
    expect(plane.seen).toEqual([]);
  });
});
