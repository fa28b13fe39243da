import { describe, expect, it } from '@jest/globals';
import type { buildConnector } from 'undici';
import { parseAddressRanges } from './address-ranges.ts';
import {
  ConnectError,
  checkTargetUrl,
  createGuardedConnector,
  type GuardedConnectorOptions,
} from './guarded-connector.ts';

const loopback = parseAddressRanges('127.0.0.0/8,::1');
const knownNames: Record<string, string[]> = {
  'public.example': ['93.184.216.34', '2606:2800:220:1::1'],
  'inside.example': ['10.0.0.7'],
  'mixed.example': ['10.0.0.7', '93.184.216.34'],
  'loop.example': ['127.0.0.1'],
  'half.example': ['127.0.0.1', '93.184.216.34'],
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1', '::1'],
  'empty.example': [],
};

async function resolve(name: string): Promise<string[]> {
  const addresses = knownNames[name];
  if (!addresses) throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' });
  return addresses;
}

const check = (url: string, allowedRanges = parseAddressRanges('')) => checkTargetUrl(url, { allowedRanges, resolve });

describe('checkTargetUrl', () => {
  it.each([
    'https://public.example/hook',
    'https://public.example:8443/hook?a=b#c',
    'https://93.184.216.34/',
    'https://[2606:4700::1111]/',
    'https://not-yet-registered.example/',
    'https://mixed.example/',
    'https://empty.example/',
  ])('%s may be registered', async (url) => {
    expect(await check(url)).toBeNull();
  });

  it.each([
    '127.0.0.1 127.1 127.0.0.1. 2130706433 017700000001 0x7f000001 0x7f.1 %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 0',
    '10.0.0.1 169.254.169.254/latest/meta-data localhost LOCALHOST localhost. ⓛocalhost inside.example',
    '[::1] [::] [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [fe80::1]',
    '[64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [fd00:ec2::254]',
  ])('each of %s is refused as an internal target', async (hosts) => {
    for (const url of [...hosts.split(' ').map((host) => `https://${host}/`), 'https:\\\\127.0.0.1/'])
      expect([url, await check(url)]).toEqual([
        url,
        expect.stringMatching(/^url leads to .+; it must lead to a public address$/),
      ]);
  });

  it('the refusal shows an address in the URL, but no private address that a name resolves to', async () => {
    expect(await check('https://10.0.0.1/')).toContain('url leads to 10.0.0.1 (private)');
    expect(await check('https://inside.example/')).toContain('url leads to an address that is not public;');
  });

  it.each([
    ['https://[fe80::1%25eth0]/', 'absolute URL'],
    ['not a url', 'spaces or control characters'],
    ['hook', 'absolute URL'],
    ['', 'absolute URL'],
    ['https://', 'absolute URL'],
    [`https://${'一'.repeat(261)}.example/`, 'host of at most 253 characters'],
    ['ftp://public.example/', 'begin with https://'],
    ['javascript:alert(1)', 'begin with https://'],
    ['file:///etc/passwd', 'begin with https://'],
    ['https://user@public.example/', 'user or a password'],
    ['https://user:secret@public.example/', 'user or a password'],
    ['https://public.example:0/', 'port from 1 to 65535'],
    ['https://public.exa\nmple/', 'spaces or control characters'],
    [' https://public.example/', 'spaces or control characters'],
    ['https://999.1.1.1/', 'absolute URL'],
    ['http://public.example/', 'http is only for'],
    ['http://127.0.0.1/', 'http is only for'],
    ['http://not-yet-registered.example/', 'http is only for'],
  ])('%s is refused: %s', async (url, reason) => {
    expect(await check(url)).toContain(reason);
  });

  it('a URL of 2,048 characters may be registered, one more may not', async () => {
    const url = `https://public.example/${'é'.repeat(2048 - 23)}`;
    expect(await check(url)).toBeNull();
    expect(await check(`${url}é`)).toBe('url must be at most 2048 characters');
  });

  it('http and loopback may be registered where the operator allowed loopback', async () => {
    expect(await check('http://127.0.0.1:8080/', loopback)).toBeNull();
    expect(await check('http://localhost:8080/', loopback)).toBeNull();
    expect(await check('https://[::1]/', loopback)).toBeNull();
    expect(await check('http://public.example/', loopback)).toContain('http is only for');
    expect(await check('http://half.example/', loopback)).toBeNull();
    expect(await check('http://[::ffff:127.0.0.1]/', loopback)).toContain('http is only for');
    expect(await check('https://10.0.0.1/', loopback)).toContain('10.0.0.1 (private)');
  });

  it('a name whose look-up does not end is accepted after 3 s', async () => {
    const endless = () => new Promise<string[]>(() => undefined);
    expect(await checkTargetUrl('https://slow.example/', { allowedRanges: [], resolve: endless })).toBeNull();
  });
});

type Dialled = Pick<buildConnector.Options, 'hostname' | 'servername' | 'host'>;

/** A dial that records its targets and does not connect. */
function recordDials(fail: (address: string) => string = () => 'ECONNREFUSED') {
  const dialed: Dialled[] = [];
  const dial: buildConnector.connector = (target, callback) => {
    const { hostname, servername, host } = target;
    dialed.push({ hostname, ...(servername ? { servername } : {}), ...(host ? { host } : {}) });
    callback(Object.assign(new Error('no dial in tests'), { code: fail(hostname) }), null);
  };
  return { dial, dialed };
}

function connect(options: Partial<GuardedConnectorOptions>, target: Partial<buildConnector.Options>) {
  const connector = createGuardedConnector({ allowedRanges: [], resolve, connectTimeoutMs: 1000, ...options });
  return new Promise<ConnectError>((settle) => {
    const whole = { protocol: 'https:', port: '443', hostname: '', host: target.hostname ?? '', ...target };
    connector(whole, (...[error]) => {
      if (error instanceof ConnectError) settle(error);
      else throw new Error('a test connected to a server');
    });
  });
}

describe('createGuardedConnector', () => {
  it('connects only to the checked addresses, with the name as SNI', async () => {
    const { dial, dialed } = recordDials();
    const error = await connect({ dial }, { hostname: 'mixed.example' });
    expect(error.failure).toBe('refused');
    expect(dialed).toEqual([{ hostname: '93.184.216.34', servername: 'mixed.example', host: 'mixed.example' }]);
  });

  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'ECONNREFUSED', 'tls'],
    ['ECONNREFUSED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['CERT_HAS_EXPIRED', 'ETIMEDOUT', 'tls'],
    ['CERT_HAS_EXPIRED', 'ECONNRESET', 'tls'],
    ['ECONNRESET', 'ETIMEDOUT', 'http'],
    ['ENETUNREACH', 'ETIMEDOUT', 'timeout'],
    ['ETIMEDOUT', 'ENETUNREACH', 'timeout'],
  ])('of %s at one address and %s at the next it reports the later stage: %s', async (first, second, failure) => {
    const { dial, dialed } = recordDials((address) => (address.includes(':') ? second : first));
    expect((await connect({ dial }, { hostname: 'public.example' })).failure).toBe(failure);
    expect(dialed.map((target) => target.hostname)).toEqual(['93.184.216.34', '2606:2800:220:1::1']);
  });

  it.each(['10.0.0.1', '127.0.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '0.0.0.0', 'fe80::1'])(
    'never connects to the literal %s',
    async (hostname) => {
      const { dial, dialed } = recordDials();
      const error = await connect({ dial }, { hostname });
      expect([error.failure, dialed]).toEqual(['blocked', []]);
    },
  );

  it('a name that resolves to a private address at its second look-up is refused then', async () => {
    const { dial, dialed } = recordDials();
    const lookups = [['93.184.216.34'], ['127.0.0.1']];
    const rebinding = async () => lookups.shift() ?? [];
    const options = { dial, resolve: rebinding };
    expect((await connect(options, { hostname: 'rebinding.example' })).failure).toBe('refused');
    expect((await connect(options, { hostname: 'rebinding.example' })).failure).toBe('blocked');
    expect(dialed.map((target) => target.hostname)).toEqual(['93.184.216.34']);
  });

  it('plain http only goes to allowed ranges', async () => {
    const { dial, dialed } = recordDials();
    const options = { dial, allowedRanges: loopback };
    const half = await connect(options, { hostname: 'half.example', protocol: 'http:' });
    const outside = await connect(options, { hostname: 'public.example', protocol: 'http:' });
    expect([half.failure, outside.failure]).toEqual(['refused', 'blocked']);
    expect(dialed).toEqual([{ hostname: '127.0.0.1', host: 'half.example' }]);
  });

  it('SNI has no trailing dot and never an address', async () => {
    const { dial, dialed } = recordDials();
    await connect({ dial, allowedRanges: loopback }, { hostname: 'localhost.' });
    await connect({ dial, allowedRanges: loopback }, { hostname: '::1' });
    expect(dialed.map((target) => target.servername)).toEqual(['localhost', 'localhost', undefined]);
  });

  it('at most 64 of the thousands of addresses of a name are checked', async () => {
    const resolve = async () => Array.from({ length: 5000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    const error = await connect({ resolve }, { hostname: 'many.example' });
    expect([error.failure, error.message.match(/\(private\)/g)?.length]).toEqual(['blocked', 64]);
  });

  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['EHOSTUNREACH', 'refused'],
    ['ECONNRESET', 'http'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
  ])('a connection attempt that fails with %s is a failure of class %s', async (code, failure) => {
    const { dial } = recordDials(() => code);
    expect((await connect({ dial }, { hostname: '93.184.216.34' })).failure).toBe(failure);
  });
});
