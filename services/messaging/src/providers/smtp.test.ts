import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type MailServer,
  mailLogin,
  outgoing,
  providerTools,
  startMailServer,
  trustTestCertificate,
} from '../../test/provider-servers.ts';
import { createSmtpProvider, provider } from './smtp.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
let trustAsBefore: () => void;
beforeAll(() => {
  trustAsBefore = trustTestCertificate();
});
afterAll(() => trustAsBefore());

const message = { channel: 'email' as const, to: 'ada@example.com', subject: 'Grüße', body: 'Grüße\n.\nEnd' };
const base = { host: 'localhost', security: 'starttls' as const, from: 'Shop <hello@shop.example>' };
const tools = providerTools();

async function started(...args: Parameters<typeof startMailServer>): Promise<MailServer> {
  const server = await startMailServer(...args);
  stops.push(server.stop);
  return server;
}

const send = (port: number, given = {}, settings = {}, deadlineMs = 15_000) =>
  createSmtpProvider(deadlineMs).send(outgoing({ ...message, ...given }), { ...base, port, ...settings }, tools);
/** Sends with a short deadline to a server that does not respond in time. The other tests never reach their deadline. */
const sendUntilDeadline = (port: number, given = {}, deadlineMs = 300) => send(port, given, {}, deadlineMs);

/** Starts a TCP server, and returns its port. */
async function startServer(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a server that sends `greeting` to every client, and responds to each chunk with `respond`. */
function startBareServer(greeting: string, respond: (said: string) => string = () => ''): Promise<number> {
  return startServer((socket) => {
    socket.write(greeting);
    socket.on('data', (said) => socket.write(respond(said.toString())));
  });
}

describe('sending', () => {
  it('transmits a mail after STARTTLS and a login, with its own id', async () => {
    const { port, mails } = await started('starttls', 'asked');
    const id = `<${outgoing().attemptId}@shop.example>`;
    expect(await send(port, {}, mailLogin)).toEqual({ outcome: 'accepted', providerId: id });
    const [mail] = mails;
    expect(mail).toMatchObject({ from: 'hello@shop.example', to: [message.to], isOverTls: true, user: 'shop' });
    expect(mail!.text).toContain(`Message-ID: ${id}\r\n`);
    expect(mail!.text).toMatch(/^From: Shop <hello@shop\.example>\r$/m);
    expect(mail!.text).toMatch(/^To: ada@example\.com\r$/m);
    expect(mail!.text).toMatch(/^Subject: =\?UTF-8\?Q\?Gr=C3=BC=C3=9Fe\?=\r$/m);
    expect(mail!.text).toMatch(/\r\nGr=C3=BC=C3=9Fe\r\n\.\r\nEnd/);
  });

  it('begins with TLS, also at an IP address, or uses none', async () => {
    const [tls, none] = [await started('tls'), await started('none')];
    expect((await send(tls.port, {}, { security: 'tls' })).outcome).toBe('accepted');
    expect((await send(tls.port, {}, { security: 'tls', host: '127.0.0.1' })).outcome).toBe('accepted');
    expect(tls.mails.map(({ isOverTls }) => isOverTls)).toEqual([true, true]);
    expect((await send(none.port, {}, { security: 'none', ...mailLogin })).outcome).toBe('accepted');
    expect(none.mails[0]).toMatchObject({ isOverTls: false, user: 'shop' });
  });

  it('sends nothing without STARTTLS if it is required', async () => {
    const { port, mails } = await started('none');
    expect(await send(port, {}, mailLogin)).toMatchObject({ outcome: 'unavailable' });
    expect(mails).toEqual([]);
  });

  it('sends nothing to a server whose certificate is not for its name', async () => {
    const { port, mails } = await started('starttls');
    expect(await send(port, {}, { host: 'other.localhost' })).toEqual({
      outcome: 'unavailable',
      message: 'The mail server could not be reached over trusted TLS',
    });
    expect(mails).toEqual([]);
  });

  it('sends to one address whatever it contains', async () => {
    const { port, mails } = await started('starttls');
    expect((await send(port, { to: 'a,b@example.com' })).outcome).toBe('accepted');
    expect(mails[0]?.to).toEqual(['"a,b"@example.com']);
  });
});

describe('the outcome', () => {
  it.each([
    ['rejected', { to: 'refused@example.com' }, {}, '550 5.1.1 No such user'],
    ['rejected', { to: 'unwanted@example.com' }, {}, '554 5.7.1 Looks like spam'],
    ['rejected', {}, { from: 'banned@shop.example' }, '553 5.1.8 Sender is banned'],
    ['unavailable', { to: 'later@example.com' }, {}, '451 4.7.1 Try again later'],
    ['unavailable', { to: 'full@example.com' }, {}, '452 4.3.1 No space left'],
  ])(
    'is %s if the server refuses %j, %j permanently or temporarily, with its text',
    async (outcome, given, settings, said) => {
      const { port } = await started('starttls');
      expect(await send(port, given, settings)).toEqual({ outcome, message: `The mail server responded: ${said}` });
    },
  );

  it('is unknown if the connection or response is lost after the mail, and unavailable before it', async () => {
    const { port, mails } = await started('starttls');
    const unknown = {
      outcome: 'unknown',
      message: 'The mail server did not confirm the message: it may have been sent',
    };
    expect(await send(port, { to: 'lost@example.com' })).toEqual(unknown);
    expect(await sendUntilDeadline(port, { to: 'silent@example.com' }, 5_000)).toEqual(unknown);
    expect(mails).toHaveLength(2);
    expect((await send(port, { to: 'cut@example.com' })).outcome).toBe('unavailable');
    expect(mails).toHaveLength(2);
  });

  it('ends at once if the server exceeds the size of replies', async () => {
    const lines = '\n'.repeat(10_000);
    const port = await startBareServer('220 here\r\n', (said) => (said.startsWith('EHLO') ? '250 here\r\n' : lines));
    const result = await send(port, {}, { security: 'none' }, 600_000);
    expect(result).toEqual({ outcome: 'unavailable', message: 'The mail server closed the connection' });
  });

  it('is refused for a wrong password, which is never shown, and unavailable for a temporary login failure', async () => {
    const asked = await started('starttls', 'asked');
    expect(await send(asked.port, {}, { username: 'shop', password: 'wrong' })).toEqual({
      outcome: 'refused',
      message: 'The mail server responded: 535 5.7.8 Authentication failed for shop with [secret]: AUTH PLAIN [secret]',
    });
    expect((await send(asked.port)).outcome).toBe('rejected');
    const broken = await started('starttls', 'broken');
    expect((await send(broken.port, {}, mailLogin)).outcome).toBe('unavailable');
    const none = await started('starttls', 'none');
    expect(await send(none.port, {}, mailLogin)).toMatchObject({
      outcome: 'rejected',
      message: expect.stringMatching(/offers no login/),
    });
  });

  it('logs in by CRAM-MD5, and rejects a challenge longer than a line', async () => {
    const login = { security: 'none', username: 'tim', password: 'tanstaaftanstaaf' };
    // The example of RFC 2195.
    const challenge = Buffer.from('<1896.697170952@postoffice.reston.mci.net>').toString('base64');
    const digest = Buffer.from('tim b913a602c7eda7a495b4e6e7334d3890').toString('base64');
    const said = (line: string) => (command: string) => {
      if (command.startsWith('EHLO')) return '250-here\r\n250 AUTH CRAM-MD5\r\n';
      if (command.startsWith('AUTH')) return `334 ${line}\r\n`;
      if (command.startsWith('MAIL')) return '552 5.2.2 Full\r\n';
      return command === `${digest}\r\n` ? '235 in\r\n' : '535 5.7.8 Wrong\r\n';
    };
    const port = await startBareServer('220 here\r\n', said(challenge));
    expect(await send(port, {}, login)).toEqual({
      outcome: 'rejected',
      message: 'The mail server responded: 552 5.2.2 Full',
    });
    expect(await send(port, {}, { ...login, password: 'wrong' })).toEqual({
      outcome: 'refused',
      message: 'The mail server responded: 535 5.7.8 Wrong',
    });
    const long = await startBareServer('220 here\r\n', said(`${challenge}${' '.repeat(1_000)}`));
    expect(await send(long, {}, login)).toMatchObject({
      outcome: 'unavailable',
      message: expect.stringContaining('334'),
    });
  });

  it('is unavailable if nothing listens or greets, or the name is unknown', async () => {
    const server = await startMailServer('none');
    await server.stop();
    const isUnavailable = (message: string) => ({ outcome: 'unavailable', message: `The mail server ${message}` });
    expect(await send(server.port)).toEqual(isUnavailable('could not be reached'));
    expect(await sendUntilDeadline(await startBareServer(''))).toEqual(isUnavailable('did not respond in time'));
    const closed = await send(await startBareServer('554 5.3.2 Closed today\r\n'));
    expect(closed).toEqual(isUnavailable('responded: 554 5.3.2 Closed today'));
    const resolve = () => Promise.reject(new Error('no such name'));
    const settings = { ...base, port: 25, host: 'mail.example' };
    const lost = { ...tools, guard: { ...tools.guard, resolve } };
    const unresolved = await provider.send(outgoing(message), settings, lost);
    expect(unresolved).toEqual(isUnavailable('has a host name that cannot be resolved'));
  });

  it.each([
    ['its greeting', '220 mail.example at your service'],
    ['a greeting of many lines', '220-mail.example\r\n'.repeat(50)],
    ['its response to EHLO', `220 mail.example\r\n${'250-SIZE 1\r\n'.repeat(50)}`],
  ])('is unavailable at the deadline where a server sends %s a byte at a time, and hangs up', async (_, said) => {
    const closed = Promise.withResolvers<void>();
    const port = await startServer((socket) => {
      let place = 0;
      const drip = setInterval(() => socket.write(said[place++ % said.length]!), 5);
      socket.on('close', () => {
        clearInterval(drip);
        closed.resolve();
      });
    });
    const { outcome } = await sendUntilDeadline(port);
    expect(outcome).toBe('unavailable');
    await closed.promise;
  });

  it('is rejected if the name resolves to an internal address', async () => {
    const { port } = await started('starttls');
    const guard = { allowedRanges: [], resolve: async () => ['127.0.0.1'] };
    expect(
      await provider.send(outgoing(message), { ...base, port, host: 'mail.example' }, { ...tools, guard }),
    ).toEqual({
      outcome: 'rejected',
      message: 'The mail server is at a blocked address',
    });
  });
});

describe('settings', () => {
  const minimal = { host: 'mail.example', from: 'hello@shop.example' };
  const faultsOf = (given: object) =>
    provider.settings.safeParse({ ...minimal, ...given }).error?.issues.map(({ path }) => path[0]) ?? [];

  it('have a default port and security, and drop unknown fields', () => {
    expect(provider.settings.parse({ ...minimal, other: 1 })).toEqual({ ...minimal, port: 587, security: 'starttls' });
  });

  it('are refused by field', () => {
    for (const host of ['', 'a b', 'https://mail.example', 'mail.example:25', '1.2.3.4.5', 'fe80::1%eth0', 'a..b'])
      expect(faultsOf({ host })).toEqual(['host']);
    for (const from of ['', 'shop', 'Shop <shop>', 'a@b.de, c@d.de', 'A\r\nBcc: x@y.de <a@b.de>'])
      expect(faultsOf({ from })).toEqual(['from']);
    for (const port of [0, 65_536, 1.5, '25']) expect(faultsOf({ port })).toEqual(['port']);
    expect(faultsOf({ security: 'ssl' })).toEqual(['security']);
    expect(faultsOf({ username: 'shop' })).toEqual(['password']);
    expect(faultsOf({ password: 'kept' })).toEqual([]);
    for (const host of ['127.0.0.1', '::1', 'mail.example.', 'localhost', 'mx_1.example'])
      expect(faultsOf({ host })).toEqual([]);
  });

  it('refuse a forbidden host', async () => {
    const works: (() => Promise<void>)[] = [];
    const call = {
      guard: { allowedRanges: [], resolve: async () => ['10.0.0.1'] },
      prefetch: (work: (call: never) => Promise<void>) => works.push(() => work(undefined as never)),
    };
    const given = (host: string) => ({ ...base, port: 587, host });
    for (const host of ['127.0.0.1', '::1', '2130706433']) {
      expect(() => provider.prepare!(given(host), call)).toThrow(/^settings\.host leads to/);
    }
    expect(provider.prepare!(given('mail.example'), call)).toEqual(given('mail.example'));
    await expect(works[0]!()).rejects.toThrow(/^settings\.host leads to an address that is not public/);
  });
});
