import { gzipSync } from 'node:zlib';
import { type Platform, rawRequest, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const token = 'trace-token-'.padEnd(32, 'x');
const account = '0198a1b2-0000-7000-8000-000000000001';
const request = '0198a1b2-0000-7000-8000-000000000002';
const idOf = (index: number) => index.toString(16).padStart(32, 'a');

let platform: Platform;
let other: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: [], env: { TRACE_TOKEN: token } });
  other = await startPlatform({ services: [], env: { TRACE_URL: 'https://traces.example/t/{trace_id}' } });
  for (const [index, { ms, isError }] of [
    { ms: 5, isError: false },
    { ms: 50, isError: true },
    { ms: 500, isError: false },
  ].entries()) {
    expect(await send(exported(index, ms, isError))).toMatchObject({ status: 200, body: {} });
  }
});
afterAll(() => Promise.all([platform?.stop(), other?.stop()]));

function exported(index: number, ms: number, isError = false): string {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = {
    traceId: idOf(index),
    spanId: 'b'.repeat(16),
    name: 'GET /v1/things',
    kind: 2,
    startTimeUnixNano: `${1_790_000_000_000 + index}000000`,
    endTimeUnixNano: `${1_790_000_000_000 + index + ms}000000`,
    status: isError ? { code: 2 } : {},
    attributes:
      index === 2
        ? []
        : [
            attribute('platform.account', account),
            attribute('platform.operation', `operation${index}`),
            ...(index === 0 ? [attribute('platform.request_id', request)] : []),
          ],
  };
  const resource = { attributes: [attribute('service.name', 'gateway')] };
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 's' }, spans: [span] }] }] });
}

const send = (rawBody: string | Uint8Array, headers: Record<string, string> = {}, key: string | null = token) =>
  rawRequest(platform.adminUrl, 'POST', '/v1/traces', { rawBody, headers, key });
const ids = async (query: string) => {
  const { status, body } = await platform.admin('GET', `/admin/traces${query}`);
  return status === 200 ? body.data.map((trace: { trace_id: string }) => trace.trace_id) : [status, body.error.field];
};

describe('the list of traces', () => {
  it('is newest first, with the fields that operators need', async () => {
    const { body } = await platform.admin('GET', '/admin/traces');
    expect(body).toEqual({
      data: [
        {
          trace_id: idOf(2),
          request_id: null,
          account: null,
          operation: null,
          request: null,
          request_status: 'ok',
          request_duration_ms: 500,
          status_code: null,
          error_code: null,
          status: 'ok',
          started_at: '2026-09-21T14:13:20.002+00:00',
          duration_ms: 500,
          spans: 1,
        },
        {
          trace_id: idOf(1),
          request_id: null,
          account,
          operation: 'operation1',
          request: null,
          request_status: 'error',
          request_duration_ms: 50,
          status_code: null,
          error_code: null,
          status: 'error',
          started_at: '2026-09-21T14:13:20.001+00:00',
          duration_ms: 50,
          spans: 1,
        },
        {
          trace_id: idOf(0),
          request_id: request,
          account,
          operation: 'operation0',
          request: null,
          request_status: 'ok',
          request_duration_ms: 5,
          status_code: null,
          error_code: null,
          status: 'ok',
          started_at: '2026-09-21T14:13:20+00:00',
          duration_ms: 5,
          spans: 1,
        },
      ],
      has_more: false,
      next: null,
    });
  });

  it('has filters and pages', async () => {
    expect(await ids(`?account=${account}`)).toEqual([idOf(1), idOf(0)]);
    expect(await ids('?operation=operation0')).toEqual([idOf(0)]);
    expect(await ids('?status=error')).toEqual([idOf(1)]);
    expect(await ids('?status=ok&min_duration_ms=6')).toEqual([idOf(2)]);
    const { body } = await platform.admin('GET', '/admin/traces?limit=1');
    expect(body).toMatchObject({ data: [{ trace_id: idOf(2) }], has_more: true, next: idOf(2) });
    expect(await ids(`?limit=2&starting_after=${body.next}`)).toEqual([idOf(1), idOf(0)]);
  });

  it("has a request's own status and time besides those of its whole trace, and filters by both", async () => {
    const [trace, attempt] = [exported(3, 20), exported(3, 9_000, true)].map((each) =>
      JSON.parse(each.replaceAll(account, '0198a1b2-0000-7000-8000-000000000003')),
    );
    attempt.resourceSpans[0].resource.attributes[0].value.stringValue = 'webhooks';
    Object.assign(attempt.resourceSpans[0].scopeSpans[0].spans[0], { spanId: 'c'.repeat(16), kind: 3 });
    const other = JSON.parse(JSON.stringify(attempt).replaceAll(idOf(3), idOf(4)));
    // Spans of later work may arrive first.
    for (const each of [attempt, trace, other]) expect((await send(JSON.stringify(each))).status).toBe(200);
    const { body } = await platform.admin('GET', '/admin/traces?limit=2');
    const ofRequest = { request_status: 'ok', request_duration_ms: 20 };
    expect(body.data).toEqual([
      expect.not.objectContaining({ request_status: expect.anything(), request_duration_ms: expect.anything() }),
      expect.objectContaining({ trace_id: idOf(3), ...ofRequest, status: 'error', duration_ms: 9_000 }),
    ]);
    expect(await ids('?request_status=error')).toEqual([idOf(1)]);
    expect(await ids('?request_status=ok&request_min_duration_ms=21')).toEqual([idOf(2)]);
    expect(await ids('?status=error&request_min_duration_ms=0')).toEqual([idOf(3), idOf(1)]);
    expect(await ids('?request_status=bad')).toEqual([400, 'request_status']);
  });

  it('finds refused requests by status or class, and shows those without a valid key only if requested', async () => {
    const refused = (index: number, code: string, status: number | string, of?: string) => {
      const trace = JSON.parse(exported(index, 5).replaceAll(account, of ?? account));
      const { attributes } = trace.resourceSpans[0].scopeSpans[0].spans[0];
      if (!of) attributes.shift();
      attributes.push({ key: 'http.response.status_code', value: { intValue: status } });
      attributes.push({ key: 'platform.error_code', value: { stringValue: code } });
      return JSON.stringify(trace);
    };
    const owner = '0198a1b2-0000-7000-8000-000000000004';
    const traces = [
      refused(5, 'rate_limited', 429, owner),
      refused(6, 'invalid_key', '401'),
      refused(7, 'slot_taken', 409, owner),
    ];
    for (const each of traces) expect((await send(each)).status).toBe(200);
    expect(await ids(`?account=${owner}`)).toEqual([idOf(7), idOf(5)]);
    expect(await ids('?status_code=429')).toEqual([idOf(5)]);
    expect(await ids('?status_code=4xx')).toEqual([idOf(7), idOf(5)]);
    expect(await ids('?status_code=4xx&unauthenticated=true')).toEqual([idOf(7), idOf(6), idOf(5)]);
    const { body } = await platform.admin('GET', '/admin/traces?status_code=429');
    expect(body.data[0]).toMatchObject({ status_code: 429, error_code: 'rate_limited', account: owner });
    for (const wrong of ['42', '600', '4x', 'xxx'])
      expect(await ids(`?status_code=${wrong}`)).toEqual([400, 'status_code']);
  });

  it('refuses invalid filters and cursors', async () => {
    expect(await ids('?account=x')).toEqual([400, 'account']);
    expect(await ids('?status=bad')).toEqual([400, 'status']);
    expect(await ids('?min_duration_ms=-1')).toEqual([400, 'min_duration_ms']);
    for (const cursor of ['', 'x', idOf(9)])
      expect(await ids(`?starting_after=${cursor}`)).toEqual([400, 'starting_after']);
    expect(await ids(`?status=ok&starting_after=${idOf(1)}`)).toEqual([400, 'starting_after']);
  });
});

describe('a trace', () => {
  it('is found with all its spans by its id and by a request id', async () => {
    const byId = await platform.admin('GET', `/admin/traces/${idOf(0)}`);
    expect(byId.body).toEqual(JSON.parse(exported(0, 5)));
    expect((await platform.admin('GET', `/admin/traces/${request}`)).text).toBe(byId.text);
  });

  it('is 404 if it does not exist or the id is malformed', async () => {
    for (const id of [idOf(9), account, 'x', '%00', 'constructor']) {
      const { status, body } = await platform.admin('GET', `/admin/traces/${id}`);
      expect([status, body.error.code]).toEqual([404, 'not_found']);
    }
  });

  it('is 404 with a link if another collector has it', async () => {
    const { status, body } = await other.admin('GET', `/admin/traces/${idOf(0)}`);
    expect([status, body.error.message]).toEqual([404, `The trace is at https://traces.example/t/${idOf(0)}`]);
    expect((await other.admin('GET', '/admin/traces')).body.error.message).toContain('traces.example');
    const sent = await rawRequest(other.adminUrl, 'POST', '/v1/traces', { rawBody: '{}', key: other.adminToken });
    expect(sent.status).toBe(404);
  });
});

describe('an export of spans', () => {
  it('is only for holders of the trace token', async () => {
    expect((await send('{}', {}, null)).body.error.code).toBe('key_required');
    expect((await send('{}', {}, platform.adminToken)).body.error.code).toBe('invalid_key');
    const { status, headers } = await rawRequest(platform.adminUrl, 'GET', '/v1/traces', { key: token });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  const span = { traceId: idOf(90), spanId: 'b'.repeat(16), startTimeUnixNano: '1', endTimeUnixNano: 2 };
  const of = (spans: unknown) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const packed = { 'content-encoding': 'gzip' };

  it.each([
    '',
    '[]',
    '{"resourceSpans":{}}',
    of([0]),
    of([span, { ...span, traceId: 'x' }]),
    of([{ ...span, traceId: '0'.repeat(32) }]),
    of([{ ...span, spanId: span.traceId }]),
    of([{ ...span, endTimeUnixNano: 'soon' }]),
    of([{ ...span, attributes: 'x' }]),
    of('x').replace('"x"', `[{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`),
  ])('is refused if it is malformed, and nothing of it is stored: %.60s', async (text) => {
    const { status, body } = await send(text);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'body']);
    expect((await platform.admin('GET', `/admin/traces/${idOf(90)}`)).status).toBe(404);
  });

  it('is refused if it has another type, is no gzip, or is too large', async () => {
    const large = ' '.repeat(4 * 1_048_576 + 1);
    const refused = [
      await send('{}', { 'content-type': 'application/x-protobuf' }),
      await send('{}', packed),
      await send(large),
      await send(gzipSync(large), packed),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 413, 413]);
    expect((await send(gzipSync('{}'), packed)).status).toBe(200);
  });

  it('is stored in part if its trace is full, and the response counts the rejected spans', async () => {
    const name = 'x'.repeat(1_000);
    const spans = Array.from({ length: 8_000 }, (_, index) => ({
      ...span,
      spanId: `${index}`.padStart(16, 'a'),
      name,
    }));
    const taken = [await send(gzipSync(of(spans.slice(0, 3_500))), packed), await send(of(spans.slice(3_500, 3_600)))];
    expect(taken.map(({ status, body }) => [status, body.partialSuccess !== undefined])).toEqual([
      [200, true],
      [200, true],
    ]);
    expect((await platform.admin('GET', `/admin/traces/${span.traceId}`)).status).toBe(200);
  });

  it('may have any time and unknown fields, and is shown as received', async () => {
    const made = JSON.parse(exported(79, 1));
    const [given] = made.resourceSpans[0].scopeSpans[0].spans;
    Object.assign(given, { startTimeUnixNano: '9'.repeat(20), endTimeUnixNano: '9'.repeat(20), events: [{ a: [{}] }] });
    given.attributes.push({ key: 'count', value: { intValue: '7' } }, { key: 'none' });
    expect((await send(JSON.stringify(made))).status).toBe(200);
    expect((await platform.admin('GET', `/admin/traces/${idOf(79)}`)).body).toEqual(made);
    expect((await ids('?limit=1'))[0]).toBe(idOf(79));
  });

  it('does not stop the gateway, however many arrive', async () => {
    const spans = Array.from({ length: 4_000 }, (_, index) => ({ ...span, spanId: `${index}`.padStart(16, 'b') }));
    const body = of(spans);
    const flood = Promise.all(Array.from({ length: 100 }, () => send(body)));
    const { status } = await platform.admin('GET', '/admin/accounts');
    expect(status).toBe(200);
    const statuses = new Set((await flood).map((each) => each.status));
    expect(statuses).toContain(200);
    expect(statuses).toContain(503);
  });
});
