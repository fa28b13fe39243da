import { operations } from '@customer-platform/contracts';
import { describe, expect, it } from '@jest/globals';
import { RouteTable } from '../routes/route-table.ts';
import { readRequestPath } from './request-head.ts';

describe('a path', () => {
  it('is matched and forwarded in one form', () => {
    const read = (url: string) => readRequestPath(url);
    expect(read('/v1/me')).toEqual({ segments: ['v1', 'me'], target: '/v1/me' });
    expect(read('/v1/me?a=b/../c&d=%2F')).toEqual({ segments: ['v1', 'me'], target: '/v1/me?a=b/../c&d=%2F' });
    expect(read('/v1/%6de')).toEqual({ segments: ['v1', 'me'], target: '/v1/me' });
    expect(read('/v1/staff/dana@x.example')!.target).toBe('/v1/staff/dana@x.example');
    expect(read('/v1/staff/dana%40x.example?x=%')!.target).toBe('/v1/staff/dana%40x.example?x=%');
    expect(read('/v1/%C3%BC')!.target).toBe('/v1/%C3%BC');
    expect(read('/v1/calendar%2fsettings')!.segments).toEqual(['v1', 'calendar%2Fsettings']);
    expect(read('/v1/calendar%5csettings')!.target).toBe('/v1/calendar%5Csettings');
  });

  it('that is ambiguous is undefined', () => {
    const tricks = [
      '',
      'v1/me',
      '*',
      'http://evil/v1/me',
      '//v1/me',
      '/v1//me',
      '/v1/me/',
      '/v1/./me',
      '/v1/../me',
      '/v1/%2e%2e/me',
      '/v1/%2E/me',
      '/v1/.%2e/me',
      '/v1/calendar\\settings',
      '/v1/me%00',
      '/v1/me%',
      '/v1/%zz',
      '/v1/%C3',
      '/v1/%c0%ae%c0%ae/me',
      '/v1/me#x',
      '/v1/me?x#y',
      '/v1/m\u00fc',
      '/v1/me?\u00fc',
      '/v1/me x',
    ];
    expect(tricks.filter((url) => readRequestPath(url) !== undefined)).toEqual([]);
  });
});

describe('the route table', () => {
  const table = new RouteTable(operations);

  it('finds every operation by its own path', () => {
    for (const operation of operations) {
      const segments = operation.path
        .replace(/\{\w+\}/g, 'some-id')
        .split('/')
        .slice(1);
      expect([operation.key, table.find(segments)?.byMethod.get(operation.method)?.key]).toEqual([
        operation.key,
        operation.key,
      ]);
    }
  });

  it('has no other paths', () => {
    const paths = [
      '',
      'v1',
      'v1/me/x',
      'v1/calendar/appointments/1/2/3',
      'v1/calendar%2Fappointments',
      'V1/me',
      'v1/Me',
    ];
    for (const path of paths) {
      expect(table.find(path.split('/'))).toBeUndefined();
    }
  });

  it('refuses two operations for one path', () => {
    expect(() => new RouteTable([operations[0]!, operations[0]!])).toThrow(/must get another path/);
  });
});
