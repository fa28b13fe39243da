import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gateway, services } from '../local/deployables.ts';
import { passwordVariable } from '../local/servers/nats-config.ts';
import { writeCertificate } from './write-certificate.ts';

const preface = `# Secrets of the platform in containers. Keep this file private, and back it up separately from the data.
# docs/deployment.md says how to change each secret.
COMPOSE_PROJECT_NAME=customer-platform
`;

/** Returns a generator for each secret that the Compose files need, by variable name. Values need no quoting in .env. */
export function secretMakers(): Map<string, () => string> {
  const password = () => randomBytes(24).toString('base64url');
  const names = [gateway, ...services].map(({ name }) => name);
  const roles = names.map((name) => `ROLE_PASSWORD_${name.toUpperCase()}`);
  return new Map([
    ['POSTGRES_PASSWORD', password],
    ...[...roles, ...names.map(passwordVariable)].map((name) => [name, password] as const),
    ['REDIS_PASSWORD', password],
    ['GRAFANA_PASSWORD', password],
    ['CONTEXT_SECRET', () => randomBytes(32).toString('hex')],
    ['ADMIN_TOKEN', () => randomBytes(32).toString('base64url')],
    ['WEBHOOKS_SECRET_KEY', () => randomBytes(32).toString('base64')],
    ['AGENTS_SECRET_KEY', () => randomBytes(32).toString('base64')],
    ['MESSAGING_SECRET_KEY', () => randomBytes(32).toString('base64')],
  ]);
}

/** Returns the names of the secrets that the text of an .env file does not set. */
export function missingSecrets(text: string): string[] {
  const set = new Set(text.split('\n').flatMap((line) => /^\s*([A-Z0-9_]+)\s*=\s*\S/.exec(line)?.[1] ?? []));
  return [...secretMakers().keys()].filter((name) => !set.has(name));
}

/**
 * Writes new secrets to a file that only this user may read.
 * @param addMissing appends missing secrets to an existing file; existing values never change
 * @returns the names of the secrets written
 * @throws Error when the file exists and addMissing is false
 */
export function writeSecrets(file: string, addMissing: boolean): string[] {
  const found = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  const names = missingSecrets(found ?? '');
  if (found !== undefined && !addMissing) {
    const lacks =
      names.length === 0
        ? 'has every secret'
        : `lacks ${names.join(', ')}: ${process.env.npm_lifecycle_event ? '-- ' : ''}--add-missing adds them`;
    throw new Error(`${file} already exists and was not changed; it ${lacks}`);
  }
  const makers = secretMakers();
  const lines = names.map((name) => `${name}=${makers.get(name)?.()}\n`).join('');
  if (found === undefined) {
    writeFileSync(file, preface + lines, { mode: 0o600, flag: 'wx' });
  } else {
    chmodSync(file, 0o600);
    appendFileSync(file, found.endsWith('\n') || found === '' ? lines : `\n${lines}`);
  }
  return names;
}

if (import.meta.main) {
  try {
    const root = resolve(import.meta.dirname, '../..');
    const { values } = parseArgs({
      options: { 'add-missing': { type: 'boolean', default: false }, folder: { type: 'string', default: root } },
    });
    const file = resolve(values.folder, '.env');
    const folder = resolve(values.folder, 'deploy/proxy/private');
    if (writeCertificate(folder))
      console.log(`wrote a certificate for localhost and 127.0.0.1 to ${folder}/certificates`);
    const names = writeSecrets(file, values['add-missing']);
    console.log(names.length === 0 ? `${file} already has every secret` : `added to ${file}: ${names.join(', ')}`);
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
