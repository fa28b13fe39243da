/**
 * Telemetry can start only once in a process.
 * @jest-environment node
 */
import {
  type ExportedMetrics,
  exportMetrics,
  type Platform,
  rawRequest,
  startPlatform,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../test/raw-http.ts';

let platform: Platform;
let metrics: string;
let exported: ExportedMetrics;

beforeAll(async () => {
  exported = await exportMetrics();
  platform = await startPlatform({ services: [] });
  const { key } = await platform.account({ rate_limit: { per_minute: 1, burst: 1 } });
  const get = (path: string, asKey = key) => rawRequest(platform.gatewayUrl, 'GET', path, { key: asKey });
  expect([(await get('/v1/me')).status, (await get('/v1/me')).status]).toEqual([200, 429]);
  const { key: other } = await platform.account();
  expect((await get('/v1/me/too', other)).status).toBe(404);
  expect((await get('/v1/calendar/settings', other)).status).toBe(503);
  expect((await get('/healthz', 'none')).status).toBe(200);
  expect((await get('/healthz-or-not', 'wrong')).status).toBe(401);
  expect((await sendRaw(platform.gatewayUrl, 'NONSENSE\r\n\r\n')).status).toBe(400);
  const large = `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`;
  expect((await sendRaw(platform.gatewayUrl, large)).status).toBe(431);
  expect((await sendRaw(platform.gatewayUrl, 'GET / HTTP/1.1\r\n\r\n')).status).toBe(400);
  const admin = (path: string, asKey: string) => rawRequest(platform.adminUrl, 'GET', path, { key: asKey });
  expect((await admin('/admin/queues', 'wrong')).status).toBe(401);
  expect((await admin('/admin/none', platform.adminToken)).status).toBe(404);
  metrics = await exported.text();
});
afterAll(async () => {
  await platform?.stop();
  exported?.stop();
});

/** Returns the values of a metric, each with its labels. */
function seriesOf(name: string): { labels: Record<string, string>; value: number }[] {
  return metrics.split('\n').flatMap((line) => {
    const [, found, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (found !== name) return [];
    const pairs = labels.split('",').map((pair) => pair.replace(/"$/, '').split('="') as [string, string]);
    return [{ labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

describe('metrics for Prometheus, without a collector', () => {
  const durations = (status: string) =>
    seriesOf('http_server_request_duration_bucket').filter(
      ({ labels }) => labels.http_response_status_code === status && !labels.http_route?.startsWith('/admin'),
    );

  it('have the duration of requests by method, route and status, in buckets from 5 ms to 10 s', () => {
    expect(durations('200').map(({ labels }) => labels)).toMatchObject(
      [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, '+Inf'].map((le) => ({
        http_request_method: 'GET',
        http_route: '/v1/me',
        le: String(le),
      })),
    );
    expect(durations('503')[0]?.labels).toMatchObject({ http_route: '/v1/calendar/settings' });
  });

  it('have no route for an unknown path', () => {
    expect(durations('404')[0]?.labels).toMatchObject({ http_request_method: 'GET' });
    expect(durations('404')[0]?.labels).not.toHaveProperty('http_route');
  });

  it('count reached limits', () => {
    expect(seriesOf('platform_limits_reached_total')).toMatchObject([
      { labels: { platform_limit: 'key_rate' }, value: 1 },
      { labels: { platform_limit: 'head_size' }, value: 1 },
    ]);
    expect(seriesOf('gateway_rate_limit_local')).toMatchObject([{ value: 0 }]);
  });

  it('count refusals by error code', () => {
    const codes = seriesOf('gateway_requests_refused_total').map(({ labels, value }) => [
      labels.platform_error_code,
      value,
    ]);
    expect(Object.fromEntries(codes)).toEqual({
      rate_limited: 1,
      not_found: 1,
      service_unavailable: 1,
      invalid_key: 1,
    });
  });

  it('count requests refused before they were read', () => {
    const unread = seriesOf('gateway_requests_unread_total');
    expect(unread.map(({ labels, value }) => [labels.http_response_status_code, value])).toEqual([
      ['400', 2],
      ['431', 1],
    ]);
  });

  it('have the duration of requests that no handler served', () => {
    const counted = seriesOf('http_server_request_duration_count').filter(({ labels }) => !labels.http_route);
    const statuses = counted.map(({ labels, value }) => [labels.http_response_status_code, value]);
    // One unknown path and one wrong key on each port. One of the keys was sent to a path that only begins like a health check.
    expect(Object.fromEntries(statuses)).toEqual({ 401: 2, 404: 2 });
  });
});
