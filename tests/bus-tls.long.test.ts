import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
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
/** Settings of a process that reaches the bus, with a client's certificate and key by their names in the directory. */
let settingsWith: (certificate: string, key: string) => Record<string, string>;

/** Starts NATS with TLS only, which requires client certificates of its authority. */
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

it('carries events over TLS, by the first server of a list that responds', async () => {
  const { client } = await platform.account();
  const { id } = await client.createContact({ body: { name: 'Ada' } });
  const event = await waitFor(
    'the event',
    async () => (await client.listEvents({ query: { type: 'contact.created' } })).data[0],
  );
  expect((event.data as { contact: { id: string } }).contact.id).toBe(id);
});

it('dials with a certificate that came while the process ran', async () => {
  const files = { 'renewed.pem': testCertificate, 'renewed-key.pem': testCertificateKey };
  for (const name of Object.keys(files)) writeFileSync(join(directory, name), 'not there yet');
  const { NATS_URL, ...renewed } = settingsWith('renewed.pem', 'renewed-key.pem');
  const log = createLogger('test', 'silent');
  const bus = await Bus.connect(NATS_URL!, { prefix: 'renewed', service: 'cdp', log, files: renewed });
  try {
    expect(bus.isConnected()).toBe(false);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    await waitFor('the connection', () => bus.isConnected());
  } finally {
    await bus.close();
  }
});

it('is refused without a certificate of the authority', async () => {
  const servers = nats.url.replace('nats:', 'tls:');
  await expect(connect({ servers, reconnect: false, tls: { ca: testCertificate } })).rejects.toThrow();
  await expect(connect({ servers, reconnect: false })).rejects.toThrow(/self-signed/);
  const tls = { ca: testCertificate, cert: testCertificate, key: testCertificateKey };
  await (await connect({ servers, reconnect: false, tls })).close();
});

describe('whoever stands between a process and NATS', () => {
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

  it.each(['1', '"x"', 'true', 'false'])('gets nothing by saying of TLS that it is available: %s', async (said) => {
    let dials = 0;
    let got = '';
    const { server, port } = await serve((socket) => {
      dials++;
      socket.on('data', (bytes) => {
        got += bytes.toString('latin1');
      });
      socket.write(`INFO {"server_id":"x","version":"2.11.0","proto":1,"headers":true,"tls_available":${said}}\r\n`);
      // A handshake that begins has begun by then.
      if (said === 'true') socket.once('data', () => socket.destroy());
    });
    const log = createLogger('test', 'silent');
    const bus = await Bus.connect(`tls://user:password@127.0.0.1:${port}`, {
      prefix: 'x',
      service: 'cdp',
      log,
      files: {},
    });
    try {
      await waitFor('two dials', () => dials > 1);
      expect(bus.isConnected()).toBe(false);
      expect(got).not.toContain('CONNECT');
      expect(got).not.toContain('password');
    } finally {
      await bus.close();
      cut();
      server.close();
    }
  });

  it('ends no process by a reset before the handshake', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtException', note);
    let dials = 0;
    const { server, port } = await serve((socket) => {
      dials++;
      const info = 'INFO {"server_id":"x","version":"2.11.0","proto":1,"headers":true,"tls_required":true}\r\n';
      socket.write(info, () => socket.resetAndDestroy());
    });
    const log = createLogger('test', 'silent');
    const { NATS_URL: _, ...files } = settingsWith('certificate.pem', 'key.pem');
    const bus = await Bus.connect(`tls://127.0.0.1:${port}`, { prefix: 'x', service: 'cdp', log, files });
    try {
      await waitFor('five dials', () => dials > 4);
      expect(uncaught).toEqual([]);
    } finally {
      await bus.close();
      process.off('uncaughtException', note);
      cut();
      server.close();
    }
  });

  it('is read no further than a first line can be long', async () => {
    let dials = 0;
    let most = 0;
    const { server, port } = await serve((socket) => {
      dials++;
      let written = 0;
      const write = () => {
        while (!socket.destroyed && written < 67_108_864 && socket.write(Buffer.alloc(65_536, 'A'))) written += 65_536;
        most = Math.max(most, written);
      };
      socket.on('drain', write);
      write();
    });
    const log = createLogger('test', 'silent');
    const bus = await Bus.connect(`127.0.0.1:${port}`, { prefix: 'x', service: 'cdp', log, files: {} });
    try {
      await waitFor('three dials', () => dials > 2);
      // What the kernel holds is a few megabytes.
      expect(most).toBeLessThan(33_554_432);
    } finally {
      await bus.close();
      cut();
      server.close();
    }
  });

  it('leads to no other server, whatever it adds to the first line', async () => {
    const elsewhere = await serve(() => undefined);
    let dialled = 0;
    elsewhere.server.on('connection', () => dialled++);
    let dials = 0;
    const { server, port } = await serve((socket) => {
      dials++;
      const upstream = keep(dial(Number(new URL(nats.url).port), '127.0.0.1'));
      socket.pipe(upstream).on('close', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      upstream.once('data', (info) => {
        socket.write(info.toString().replace('{', `{"connect_urls":["localhost:${elsewhere.port}"],`));
        upstream.pipe(socket);
      });
    });
    const tls = { ca: testCertificate, cert: testCertificate, key: testCertificateKey };
    const options = { tls, reconnectTimeWait: 10, maxReconnectAttempts: -1 };
    const client = await connect({ servers: `tls://127.0.0.1:${port}`, ...options });
    try {
      for (let round = 1; round < 5; round++) {
        await client.flush();
        cut();
        await waitFor('another connection', () => dials > round);
      }
      expect(dialled).toBe(0);
    } finally {
      await client.close();
      cut();
      for (const each of [server, elsewhere.server]) each.close();
    }
  });

  it('adds no message to what comes encrypted', async () => {
    let dials = 0;
    const { server, port } = await serve((socket) => {
      const isFirst = dials++ === 0;
      const upstream = keep(dial(Number(new URL(nats.url).port), '127.0.0.1'));
      socket.pipe(upstream).on('close', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      upstream.once('data', (info) => {
        const forged = Array.from({ length: 20 }, (_, index) => `MSG news ${index + 1} 6\r\nforged\r\n`);
        socket.write(isFirst ? info : Buffer.concat([info, Buffer.from(forged.join(''))]));
        upstream.pipe(socket);
      });
    });
    const tls = { ca: testCertificate, cert: testCertificate, key: testCertificateKey };
    const client = await connect({
      servers: `tls://127.0.0.1:${port}`,
      tls,
      reconnectTimeWait: 10,
      maxReconnectAttempts: -1,
    });
    const heard: string[] = [];
    client.subscribe('news', { callback: (_, message) => void heard.push(message.string()) });
    try {
      await client.flush();
      cut();
      await waitFor('another connection', () => dials > 1);
      await waitFor('what is published on it', () => {
        client.publish('news', 'true');
        return heard.length > 0;
      });
      expect([...new Set(heard)]).toEqual(['true']);
    } finally {
      await client.close();
      cut();
      server.close();
    }
  });
});
