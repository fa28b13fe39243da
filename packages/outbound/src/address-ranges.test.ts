import { describe, expect, it } from '@jest/globals';
import { isInRanges, parseAddressRanges, refusalOfAddress } from './address-ranges.ts';

const refusedAddresses: [string, string][] = [
  ['127.0.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['10.1.2.3', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['169.254.169.254', 'link-local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['2606:4700::1%eth0', 'link-local'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['224.0.0.1', 'multicast'],
  ['ff02::1', 'multicast'],
  ['192.0.2.1', 'reserved'],
  ['198.51.100.1', 'reserved'],
  ['203.0.113.1', 'reserved'],
  ['2001:db8::1', 'reserved'],
  ['3fff::1', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['2001:2::1', 'benchmarking'],
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['::', 'unspecified'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['192.0.0.192', 'reserved'],
  ['64:ff9b::7f00:1', 'NAT64'],
  ['64:ff9b:1::7f00:1', 'NAT64'],
  ['2002:7f00:1::', '6to4'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
  ['::ffff:127.0.0.1', 'IPv4-mapped'],
  ['::ffff:8.8.8.8', 'IPv4-mapped'],
  ['::ffff:0:7f00:1', 'IPv4-translated'],
  ['::127.0.0.1', 'IPv4-mapped'],
  ['::7f00:1', 'IPv4-compatible or unassigned'],
  ['fc00::1', 'private (unique local)'],
  ['fd00:ec2::254', 'private (unique local)'],
  ['fec0::1', 'private (site-local)'],
  ['100::1', 'discard'],
  ['4000::1', 'IPv4-compatible or unassigned'],
  ['168.63.129.16', 'cloud platform'],
  ['localhost', 'malformed'],
];

describe('refusalOfAddress', () => {
  it.each(refusedAddresses)('%s is refused as %s', (address, word) => {
    expect(refusalOfAddress(address, [])).toBe(word);
  });

  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::5'])(
    'the public address %s may be called',
    (address) => {
      expect(refusalOfAddress(address, [])).toBeNull();
    },
  );

  it('an allowed range opens itself and nothing else', () => {
    const allowed = parseAddressRanges('127.0.0.0/8, ::1, 10.1.0.0/16');
    expect(refusalOfAddress('127.9.9.9', allowed)).toBeNull();
    expect(refusalOfAddress('::1', allowed)).toBeNull();
    expect(refusalOfAddress('10.1.2.3', allowed)).toBeNull();
    expect(refusalOfAddress('10.2.0.1', allowed)).toBe('private');
    expect(refusalOfAddress('::ffff:127.0.0.1', allowed)).toBe('IPv4-mapped');
    expect(refusalOfAddress('::2', allowed)).toBe('IPv4-compatible or unassigned');
  });
});

describe('parseAddressRanges', () => {
  it('an empty text is an empty list', () => {
    expect(parseAddressRanges(' ')).toEqual([]);
  });

  it.each(['10.0.0.0/33', '::1/129', 'localhost', '10/8', '1.2.3.4/8/8', 'fe80::1%eth0/64', '127.1', '10.0.0.0/-1'])(
    '%s is refused by name',
    (text) => {
      expect(() => parseAddressRanges(`127.0.0.0/8,${text}`)).toThrow(`"${text}" is not an address range`);
    },
  );

  it('an address counts as in a range of its own family alone', () => {
    const all = parseAddressRanges('0.0.0.0/0');
    expect(isInRanges('8.8.8.8', all)).toBe(true);
    expect(isInRanges('2606:4700::1', all)).toBe(false);
    expect(isInRanges('example.com', all)).toBe(false);
  });
});
