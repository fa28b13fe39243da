import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { selfSignedCertificate, writeCertificate } from './write-certificate.ts';

describe('the first certificate of the proxy', () => {
  let folder = '';
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'certificate-')), 'private');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

  const read = (name: string) => readFileSync(join(folder, 'certificates', name), 'utf8');
  const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o777;

  it('is self-signed for this machine and valid for 825 days', () => {
    writeCertificate(folder);
    const certificate = new X509Certificate(read('tls.crt'));
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(read('tls.key')))).toBe(true);
    expect([certificate.checkHost('localhost'), certificate.checkIP('127.0.0.1')]).toEqual(['localhost', '127.0.0.1']);
    const days = (at: Date) => Math.round(Math.abs(at.getTime() - Date.now()) / 86_400_000);
    expect([certificate.validFromDate, certificate.validToDate].map(days)).toEqual([0, 825]);
  });

  it('can be trusted by a client explicitly', async () => {
    const { certificate, key } = selfSignedCertificate();
    const server = createServer({ cert: certificate, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, ca: certificate });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.close();
  });

  it("is in a folder that only its owner may enter, and readable for the container's user", () => {
    writeCertificate(folder);
    expect(['', 'certificates', 'certificates/tls.crt', 'certificates/tls.key'].map(modeOf)).toEqual([
      0o700, 0o755, 0o644, 0o644,
    ]);
  });

  it('never replaces an existing one', () => {
    expect(writeCertificate(folder)).toBe(true);
    writeFileSync(join(folder, 'certificates/tls.crt'), 'mine');
    rmSync(join(folder, 'certificates/tls.key'));
    expect(writeCertificate(folder)).toBe(false);
    expect(read('tls.crt')).toBe('mine');
  });
});
