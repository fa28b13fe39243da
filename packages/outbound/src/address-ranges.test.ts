import { describe, expect, it } from '@jest/globals';
import { isInRanges, parseAddressRanges, refusalOfAddress } from './address-ranges.ts';

/** Refused addresses by the reason. */
const refused = {
  loopback: '127.0.0.1 ::1',
  private: '10.1.2.3 172.31.255.255 192.168.0.1',
  'link-local': '169.254.169.254 fe80::1 fe80::1%eth0 2606:4700::1%eth0',
  'carrier-grade NAT': '100.64.0.1',
  multicast: '224.0.0.1 ff02::1',
  reserved: '192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 198.18.0.1 240.0.0.1 192.0.0.192',
  benchmarking: '2001:2::1',
  unspecified: '0.0.0.0 0.1.2.3 ::',
  broadcast: '255.255.255.255',
  NAT64: '64:ff9b::7f00:1 64:ff9b:1::7f00:1',
  '6to4': '2002:7f00:1::',
  Teredo: '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  'IPv4-mapped': '::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1',
  'IPv4-translated': '::ffff:0:7f00:1',
  'IPv4-compatible or unassigned': '::7f00:1 4000::1',
  'private (unique local)': 'fc00::1 fd00:ec2::254',
  'private (site-local)': 'fec0::1',
  discard: '100::1',
  'cloud platform': '168.63.129.16',
  malformed: 'localhost',
};

describe('refusalOfAddress', () => {
  it.each(Object.entries(refused))('%s addresses are refused for that reason: %s', (word, addresses) => {
    for (const address of addresses.split(' '))
      expect([address, refusalOfAddress(address, [])]).toEqual([address, word]);
  });

  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::5'])(
    'connections to the public address %s are allowed',
    (address) => {
      expect(refusalOfAddress(address, [])).toBeNull();
    },
  );

  it('an allowed range permits only its own addresses', () => {
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
  it('an empty string is an empty list', () => {
    expect(parseAddressRanges(' ')).toEqual([]);
  });

  it.each(['10.0.0.0/33', '::1/129', 'localhost', '10/8', '1.2.3.4/8/8', 'fe80::1%eth0/64', '127.1', '10.0.0.0/-1'])(
    '%s is refused and the error names it',
    (text) => {
      expect(() => parseAddressRanges(`127.0.0.0/8,${text}`)).toThrow(`"${text}" is not an address range`);
    },
  );

  it('an address is only in ranges of its own family', () => {
    const all = parseAddressRanges('0.0.0.0/0');
    expect(isInRanges('8.8.8.8', all)).toBe(true);
    expect(isInRanges('2606:4700::1', all)).toBe(false);
    expect(isInRanges('example.com', all)).toBe(false);
  });
});
