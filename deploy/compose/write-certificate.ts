import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const validDays = 825;

/** A certificate and its private key, as PEM. */
export interface CertificateFiles {
  certificate: string;
  key: string;
}

/** Returns a self-signed certificate for localhost and 127.0.0.1, for a first start until a real certificate replaces it. */
export function selfSignedCertificate(now = new Date()): CertificateFiles {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(tagged(0x31, sequence(objectId('550403'), tagged(0x0c, Buffer.from('localhost')))));
  const until = new Date(now.getTime() + validDays * 86_400_000);
  const names = [tagged(0x82, Buffer.from('localhost')), tagged(0x87, Buffer.from([127, 0, 0, 1]))];
  const extensions = [
    // A CA certificate, so that a client can trust it explicitly.
    extension('551d13', sequence(tagged(0x01, Buffer.from([0xff])))),
    extension('551d11', sequence(...names)),
  ];
  const algorithm = sequence(objectId('2a8648ce3d040302'));
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.from([1, ...randomBytes(15)])),
    algorithm,
    name,
    sequence(time(now), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, bits(signature))
    .toString('base64')
    .match(/.{1,64}/g)!;
  return {
    certificate: ['-----BEGIN CERTIFICATE-----', ...certificate, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/**
 * Writes tls.crt and tls.key into `certificates` in a folder that only this user may enter. The container's user may read the files through
 * its mount, which bypasses the folder.
 * @returns whether the files were written; existing files never change
 */
export function writeCertificate(folder: string): boolean {
  const certificates = join(folder, 'certificates');
  const files = { certificate: join(certificates, 'tls.crt'), key: join(certificates, 'tls.key') };
  if (existsSync(files.certificate) || existsSync(files.key)) return false;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  mkdirSync(certificates, { recursive: true });
  chmodSync(folder, 0o700);
  chmodSync(certificates, 0o755);
  const made = selfSignedCertificate();
  for (const part of ['certificate', 'key'] as const) {
    writeFileSync(files[part], made[part], { flag: 'wx' });
    chmodSync(files[part], 0o644);
  }
  return true;
}

/** Returns a DER value: tag, length and content. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengths = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengths]), content]);
}

const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts);
const integer = (bytes: Buffer) => tagged(0x02, bytes);
const objectId = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));
const bits = (bytes: Buffer) => tagged(0x03, Buffer.from([0]), bytes);
const extension = (id: string, value: Buffer) => sequence(objectId(id), tagged(0x04, value));

/** Returns a GeneralizedTime in whole seconds. */
function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(`${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`));
}
