import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { newDataFolder, type Platform, programsFolder, startPlatform, waitFor } from '@customer-platform/testkit';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';

let directory: string;
let nats: Awaited<ReturnType<typeof startServer>>;
let platform: Platform;
/** Returns bus settings of a process, with a client certificate and key by their names in the directory. */
let settingsWith: (certificate: string, key: string) => Record<string, string>;

/** Starts NATS with mandatory TLS and client certificates of its authority. */
beforeAll(async () => {
  directory = newDataFolder();
  const certificate = join(directory, 'certificate.pem');
  const key = join(directory, 'key.pem');
  writeFileSync(certificate, testCertificate);
  writeFileSync(key, testCertificateKey, { mode: 0o600 });
  const port = await freePort();
  const described = await natsServer({ directory, port, cacheDirectory: programsFolder() });
  const tls = { cert_file: certificate, key_file: key, ca_file: certificate, verify: true };
  writeFileSync(join(directory, 'server.conf'), `tls: ${JSON.stringify(tls)}\n`);
  nats = await startServer(described);
  settingsWith = (ofClient, keyOfClient) => ({
    NATS_URL: `tls://127.0.0.1:1,tls://127.0.0.1:${port}`,
    NATS_TLS_CA_FILE: certificate,
    NATS_TLS_CERT_FILE: join(directory, ofClient),
    NATS_TLS_KEY_FILE: join(directory, keyOfClient),
  });
  platform = await startPlatform({
    services: ['cdp', 'webhooks'],
    env: settingsWith('certificate.pem', 'key.pem'),
  });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await nats?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const connectBus = (url: string, settings: Record<string, string> = {}) =>
  Bus.connect(url, { prefix: 'x', service: 'cdp', log: createLogger('test', 'silent'), settings });

it('carries events over TLS, through the first server of a list that responds', async () => {
  const { client } = await platform.account();
  const { id } = await client.cdp.contacts.create({ body: { name: 'Ada' } });
  const event = await waitFor(
    'the event',
    async () => (await client.events.list({ query: { type: 'contact.created' } })).data[0],
  );
  expect((event.data as { contact: { id: string } }).contact.id).toBe(id);
});

it('connects with a certificate that was written while the process ran', async () => {
  const files = { 'renewed.pem': testCertificate, 'renewed-key.pem': testCertificateKey };
  for (const name of Object.keys(files)) writeFileSync(join(directory, name), 'not there yet');
  const { NATS_URL, ...renewed } = settingsWith('renewed.pem', 'renewed-key.pem');
  const bus = await connectBus(NATS_URL!, renewed);
  try {
    expect(bus.isConnected()).toBe(false);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    await waitFor('the connection', () => bus.isConnected());
  } finally {
    await bus.close();
  }
});

it('is rejected without a certificate of the authority', async () => {
  const servers = nats.url.replace('nats:', 'tls:');
  await expect(connect({ servers, reconnect: false, tls: { ca: testCertificate } })).rejects.toThrow();
  await expect(connect({ servers, reconnect: false })).rejects.toThrow(/self-signed/);
  const tls = { ca: testCertificate, cert: testCertificate, key: testCertificateKey };
  await (await connect({ servers, reconnect: false, tls })).close();
});

describe('a server of NATS', () => {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const serve = async (take: (socket: Socket) => void) => {
    const server = createServer((socket) => take(keep(socket))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, port: (server.address() as AddressInfo).port };
  };

  it.each(['true', 'false'])('gets no password if TLS is required, tls_available: %s', async (said) => {
    let attempts = 0;
    let got = '';
    const { server, port } = await serve((socket) => {
      attempts++;
      socket.setEncoding('latin1').on('data', (text) => (got += text));
      socket.write(`INFO {"server_id":"x","version":"2.11.0","proto":1,"headers":true,"tls_available":${said}}\r\n`);
      // The handshake has begun at this point.
      if (said === 'true') socket.once('data', () => socket.destroy());
    });
    const bus = await connectBus(`tls://user:password@127.0.0.1:${port}`);
    try {
      await waitFor('two connection attempts', () => attempts > 1);
      expect(bus.isConnected()).toBe(false);
      expect(got).not.toContain('CONNECT');
      expect(got).not.toContain('password');
    } finally {
      await bus.close();
      cut();
      server.close();
    }
  });

  it('crashes no process by a reset before the handshake', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtException', note);
    let attempts = 0;
    const { server, port } = await serve((socket) => {
      attempts++;
      const info = 'INFO {"server_id":"x","version":"2.11.0","proto":1,"headers":true,"tls_required":true}\r\n';
      socket.write(info, () => socket.resetAndDestroy());
    });
    const { NATS_URL: _, ...files } = settingsWith('certificate.pem', 'key.pem');
    const bus = await connectBus(`tls://127.0.0.1:${port}`, files);
    try {
      await waitFor('five connection attempts', () => attempts > 4);
      expect(uncaught).toEqual([]);
    } finally {
      await bus.close();
      process.off('uncaughtException', note);
      cut();
      server.close();
    }
  });
});
