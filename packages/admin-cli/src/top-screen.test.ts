import { adminOperations } from '@customer-platform/contracts/accounts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { failingEndpoint, idOf, liveProcess, page, queue } from '../test/operator-fixtures.ts';
import { widthOf } from './text.ts';
import { drawTop, type TopState } from './top-screen.ts';

const { listQueues, listEndpoints, listServices } = adminOperations;
const usual = { url: 'http://127.0.0.1:8081', now: new Date('2026-11-20T12:00:00Z'), staleSeconds: 0 };
const quiet: TopState = {
  ...usual,
  queues: listQueues.response.parse({ data: [queue({})], gone: [] }),
  endpoints: listEndpoints.response.parse({ ...page(), gone: [] }),
  services: listServices.response.parse({ data: [liveProcess({})], gone: [] }),
};
const size = { columns: 100, rows: 24 };

const pause = { reason: 'their server is down', actor: 'anna', at: '2026-11-20T11:00:00.000Z' };
const failedAt = { last_error_at: '2026-11-20T11:58:00.000Z' };
const busy: TopState = {
  ...quiet,
  queues: listQueues.response.parse({
    data: [
      queue({ queue: 'replays', ready: 5, lag_seconds: 60, failed_waiting: 3 }),
      queue({ ready: 9, running: 1, waiting: 40, lag_seconds: 61, last_error: '503', ...failedAt }),
      queue({ service: 'cdp', queue: 'audiences', waiting: 51, dead: 2 }),
      queue({ service: 'crm', queue: 'outbox', paused: true, pauses: [pause] }),
      queue({ service: 'messaging', queue: 'messages', pauses: [{ ...pause, account: idOf(1) }] }),
    ],
    gone: ['agents', 'crm'],
  }),
  endpoints: listEndpoints.response.parse({ ...page(failingEndpoint({})), gone: [] }),
  services: listServices.response.parse({ data: [liveProcess({})], gone: ['agents', 'catalogue'] }),
};

describe('the live view', () => {
  it('has what needs attention first, then the queues, deepest first', () => {
    expect(drawTop(busy, size)).toEqual([
      'http://127.0.0.1:8081  12:00:00 UTC  1 process  q ends',
      'lag     webhooks deliveries  1m, 9 ready; 2m ago: 503',
      'dead    cdp audiences  2',
      'failed  webhooks replays  3 wait for another try',
      'paused  crm outbox  whole queue, by anna 1h ago: their server is down',
      `paused  messaging messages  account ${idOf(1)}, by anna 1h ago: their ser…`,
      `failing ${idOf(21)}  3h, 17 pending: 503 Service Unavailable  https://hook…`,
      'gone    agents, catalogue do not respond: their processes are not listed. See docs/runbooks/service…',
      'gone    crm does not respond: its queues are not listed. See docs/runbooks/service-gone.md',
      '',
      'service    queue       ready  run  wait  failed  dead  lag  paused  error',
      'cdp        audiences       0    0    51       -     2    -  -       -',
      'webhooks   deliveries      9    1    40       -     0   1m  -       2m ago: 503',
      'webhooks   replays         5    0     0       3     0   1m  -       -',
      'crm        outbox          0    0     0       -     0    -  all     -',
      'messaging  messages        0    0     0       -     0    -  part    -',
    ]);
  });

  it('says that nothing needs attention', () => {
    expect(drawTop(quiet, size).slice(0, 3)).toEqual([expect.any(String), 'nothing needs attention', '']);
  });

  it('says what it still asks for instead of that nothing needs attention', () => {
    expect(drawTop({ ...usual, now: undefined }, size).slice(1)).toEqual([
      'asking for: queues, endpoints that fail, services',
      '',
    ]);
    expect(drawTop({ ...quiet, queues: undefined }, size).slice(1)).toEqual(['asking for: queues', '']);
    const refused = drawTop({ ...busy, endpoints: undefined, problem: 'webhooks does not respond' }, size);
    expect(refused[1]).toBe('not known: endpoints that fail');
    expect(refused[2]).toMatch(/^lag /);
  });

  it('says that the bus does not respond where the gateway itself is gone, and tells queues from processes', () => {
    const queues = listQueues.response.parse({ data: [], gone: ['gateway', 'crm'] });
    const gone = (state: TopState) => drawTop(state, size).filter((line) => line.startsWith('gone'));
    expect(gone({ ...quiet, queues, services: listServices.response.parse({ data: [], gone: ['gateway'] }) })).toEqual([
      'gone    NATS does not respond: services may be well. See docs/runbooks/outbox-stuck.md',
    ]);
    const endpoints = listEndpoints.response.parse({ ...page(), gone: ['webhooks'] });
    expect(gone({ ...quiet, queues, endpoints })).toEqual([
      'gone    gateway, crm do not respond: their queues are not listed. See docs/runbooks/service-gone.md',
      'gone    webhooks does not respond: its endpoints are not listed. See docs/runbooks/service-gone.md',
    ]);
  });

  it('has a refusal in the first line, and goes on to show what it had', () => {
    const problem = 'refused (invalid_key): the admin token is wrong\u001b[2J';
    const [first, ...others] = drawTop({ ...busy, problem, staleSeconds: 12.5 }, size);
    expect(first).toBe('! as of 12s ago: refused (invalid_key): the admin token is wrong\\u{1b}[2J');
    expect(others).toEqual(drawTop(busy, size).slice(1));
    expect(drawTop({ ...usual, now: undefined, problem }, size)).toEqual([
      '! no response yet: refused (invalid_key): the admin token is wrong\\u{1b}[2J',
      '',
    ]);
    expect(drawTop({ ...usual, now: undefined }, size)[0]).toContain('waiting for the first response');
  });

  it('leaves room for every kind of attention and for queues, and counts what it does not show', () => {
    const many = Array.from({ length: 90 }, (_value, index) => queue({ queue: `queue-${index}`, dead: 90 - index }));
    const failing = Array.from({ length: 100 }, (_value, index) => failingEndpoint({ id: idOf(index) }));
    const state: TopState = {
      ...busy,
      queues: listQueues.response.parse({ data: many, gone: ['crm'] }),
      endpoints: listEndpoints.response.parse({ data: failing, has_more: true, next: idOf(99), gone: [] }),
    };
    const lines = drawTop(state, { columns: 80, rows: 24 });
    expect(lines).toHaveLength(24);
    expect(lines.filter((line) => line.startsWith('dead'))).toEqual([
      'dead    webhooks queue-0  90',
      'dead    webhooks queue-1  89',
      'dead    webhooks queue-2  88',
      'dead    and 87',
    ]);
    expect(lines.filter((line) => line.startsWith('failing')).at(-1)).toBe('failing and 97 or more');
    expect(lines.filter((line) => line.startsWith('gone'))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith('webhooks'))).toHaveLength(11);
  });

  it('never has more lines than the terminal, nor longer ones', () => {
    const sizes = fc.record({ columns: fc.integer({ min: 1, max: 250 }), rows: fc.integer({ min: 1, max: 60 }) });
    const states = fc.constantFrom(quiet, busy, { ...busy, problem: '漢'.repeat(300) }, { ...usual, now: undefined });
    fc.assert(
      fc.property(states, sizes, (state, terminal) => {
        const lines = drawTop(state, terminal);
        expect(lines.length).toBeLessThanOrEqual(terminal.rows);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(terminal.columns);
      }),
    );
  });
});
