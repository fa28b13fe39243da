import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { startServer } from '@customer-platform/deploy/managed-process';
import { natsServer } from '@customer-platform/deploy/nats';
import { newDataFolder, type Platform, programsFolder, startPlatform, waitFor } from '@customer-platform/testkit';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';

let directory: string;
let nats: Awaited<ReturnType<typeof startServer>>;
let platform: Platform;

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
  platform = await startPlatform({
    services: ['cdp', 'webhooks'],
    env: {
      NATS_URL: `tls://127.0.0.1:1,tls://127.0.0.1:${port}`,
      NATS_TLS_CA_FILE: certificate,
      NATS_TLS_CERT_FILE: certificate,
      NATS_TLS_KEY_FILE: key,
    },
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

it('is refused without a certificate of the authority', async () => {
  const servers = nats.url.replace('nats:', 'tls:');
  await expect(connect({ servers, reconnect: false, tls: { ca: testCertificate } })).rejects.toThrow();
  await expect(connect({ servers, reconnect: false })).rejects.toThrow(/self-signed/);
  const tls = { ca: testCertificate, cert: testCertificate, key: testCertificateKey };
  await (await connect({ servers, reconnect: false, tls })).close();
});
