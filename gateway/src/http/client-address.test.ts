import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { clientAddressReader, isInRanges, parseRange } from './request-head.ts';

describe('an address range', () => {
  it('of IPv4 mapped into IPv6 counts as the IPv4 range', () => {
    const holds = (range: string, address: string) => isInRanges(address, [parseRange(range)]);
    expect(holds('::ffff:127.0.0.1', '127.0.0.1')).toBe(true);
    expect(holds('::ffff:127.0.0.1', '127.0.0.2')).toBe(false);
    expect(holds('::ffff:127.0.0.0/120', '127.0.0.200')).toBe(true);
    expect(holds('::ffff:127.0.0.0/120', '127.0.1.1')).toBe(false);
    expect(holds('::ffff:7f00:0/104', '::ffff:127.1.2.3')).toBe(true);
    expect(holds('::ffff:0:0/96', '203.0.113.7')).toBe(true);
    expect(holds('::ffff:0:0/96', '2001:db8::1')).toBe(false);
  });

  it('of IPv6 contains no IPv4 address, and the reverse', () => {
    expect(isInRanges('203.0.113.7', [parseRange('::/0')])).toBe(false);
    expect(isInRanges('2001:db8::1', [parseRange('0.0.0.0/0')])).toBe(false);
    expect(isInRanges('2001:db8::1', [parseRange('2001:db8::/32')])).toBe(true);
  });

  it('that is invalid or can match no caller is refused', () => {
    for (const text of ['::ffff:0:0/95', '::ffff:10.0.0.0/8', '10.0.0.0/33', 'everybody', ''])
      expect(() => parseRange(text)).toThrow();
  });
});

describe('the address of a client behind trusted proxies', () => {
  const read = clientAddressReader([parseRange('10.0.0.0/8')]);
  const addressOf = (...hops: string[]) =>
    read({
      socket: { remoteAddress: '10.9.9.9' },
      headers: { 'x-forwarded-for': hops.join(', ') },
    } as unknown as IncomingMessage);
  const proxies = (count: number) => Array.from({ length: count }, (_, index) => `10.0.0.${count - index}`);

  it('is the last address that is not a trusted proxy', () => {
    expect(addressOf('198.51.100.1', '203.0.113.7', ...proxies(2))).toBe('203.0.113.7');
  });

  it('is read from the last sixteen hops, however many hops a caller adds', () => {
    expect(addressOf('203.0.113.7', ...proxies(15))).toBe('203.0.113.7');
    expect(addressOf('203.0.113.7', ...proxies(16))).toBe('10.0.0.16');
    expect(addressOf('203.0.113.7', ...Array<string>(1_700).fill('10.0.0.1'))).toBe('10.0.0.1');
  });
});
