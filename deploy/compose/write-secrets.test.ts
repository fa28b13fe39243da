import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { missingSecrets, secretMakers, writeSecrets } from './write-secrets.ts';

describe('the secrets of the containers', () => {
  let directory = '';
  let file = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'secrets-'));
    file = join(directory, '.env');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const values = (): Record<string, string> =>
    Object.fromEntries([...readFileSync(file, 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, ...pair]) => pair));

  it('are all written to a file that only its owner may read, each long and unique', () => {
    writeSecrets(file, false);
    expect(missingSecrets(readFileSync(file, 'utf8'))).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { COMPOSE_PROJECT_NAME: _, ...secrets } = values();
    for (const [name, secret] of Object.entries(secrets)) {
      if (name.endsWith('_SECRET_KEY')) expect(Buffer.from(secret, 'base64')).toHaveLength(32);
      // Other secrets need no quoting in a URL or a shell.
      else expect([name, secret]).toEqual([name, expect.stringMatching(/^[A-Za-z0-9_-]{32,}$/)]);
    }
    expect(new Set(Object.values(secrets)).size).toBe(Object.keys(secrets).length);
  });

  it('are never overwritten', () => {
    writeSecrets(file, false);
    const before = readFileSync(file, 'utf8');
    expect(() => writeSecrets(file, false)).toThrow(/already exists and was not changed; it has every secret/);
    expect(writeSecrets(file, true)).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('that a file lacks are named, and appended on request', () => {
    writeFileSync(file, 'GATEWAY_PORT=9000\nCONTEXT_SECRET=\nPOSTGRES_PASSWORD=mine', { mode: 0o644 });
    for (const part of ['it lacks ', ' CONTEXT_SECRET, ', '--add-missing'])
      expect(() => writeSecrets(file, false)).toThrow(part);
    writeSecrets(file, true);
    expect(values()).toMatchObject({ GATEWAY_PORT: '9000', POSTGRES_PASSWORD: 'mine' });
    expect(values().CONTEXT_SECRET).toHaveLength(64);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe('docker-compose.yml and docker-compose.observe.yml', () => {
  const compose = readFileSync(join(import.meta.dirname, '../../docker-compose.yml'), 'utf8');
  const observe = readFileSync(join(import.meta.dirname, '../../docker-compose.observe.yml'), 'utf8');
  const authorization = readFileSync(join(import.meta.dirname, '../nats/authorization.conf'), 'utf8');
  const blocks = new Map(
    compose
      .slice(compose.indexOf('\nservices:\n'), compose.indexOf('\nvolumes:\n'))
      .split(/\n {2}(?=[a-z]+:\n)/)
      .slice(1)
      .map((block) => [block.slice(0, block.indexOf(':')), block]),
  );
  const deployables = [...secretMakers().keys()].flatMap((name) => /^ROLE_PASSWORD_(.+)$/.exec(name)?.[1] ?? []);

  const versionOf = (folder: string) => {
    const manifest = readFileSync(join(import.meta.dirname, '../..', folder, 'package.json'), 'utf8');
    return (JSON.parse(manifest) as { version: string }).version;
  };

  it('requires every secret that is written, and no other', () => {
    const required = new Set([...(compose + observe).matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name));
    expect([...required].sort()).toEqual([...secretMakers().keys()].sort());
  });

  it('names a missing secret and the command that adds it', () => {
    const command = 'npm run compose:secrets (-- --add-missing after an update)';
    const required = (compose + observe).split('${').filter((part) => part.includes(':?'));
    expect(required.length).toBeGreaterThan(0);
    for (const part of required) {
      const [name, message] = part.split('}', 1)[0]!.split(':?');
      expect(message).toBe(`${name} is missing, run ${command}`);
    }
  });

  it('stops PostgreSQL and NATS after the processes that use them', () => {
    const dependencies = compose
      .split('depends_on:\n')
      .slice(1)
      .map((text) => text.split('\n').slice(0, 6).join('\n'));
    const processes = dependencies.filter((text) => text.includes('provision: {'));
    expect(processes).toHaveLength(2);
    for (const text of processes) {
      expect(text).toContain('postgres: { condition: service_healthy }');
      expect(text).toContain('nats: { condition: service_started }');
    }
    expect(blocks.get('nats')).toContain('stop_signal: SIGINT');
  });

  it.each(['deploy/Dockerfile', 'deploy/nats/Dockerfile'])('runs no image of %s as root', (file) => {
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    expect(text.split('\n').filter((line) => line.startsWith('USER '))).toEqual(['USER 1000:1000']);
  });

  it.each(deployables)('has %s under its own role and bus user, in its version unless .env names another', (upper) => {
    const name = upper.toLowerCase();
    const version = versionOf(name === 'gateway' ? name : `services/${name}`);
    for (const part of [
      `SERVICE: ${name} `,
      '<<: *process',
      `image: \${IMAGE_REGISTRY:-localhost/customer-platform}/${name}:\${${upper}_VERSION:-${version}}\n`,
      `//platform_${name}:\${ROLE_PASSWORD_${upper}:?`,
      `NATS_URL: nats://${name}:\${NATS_PASSWORD_${upper}:?`,
    ])
      expect(blocks.get(name)).toContain(part);
    expect(compose.split(`NATS_PASSWORD_${upper}:?`)).toHaveLength(2);
    expect(blocks.get('provision')).toContain(`ROLE_PASSWORD_${upper}: \${ROLE_PASSWORD_${upper}}`);
    expect(blocks.get('nats')).toContain(`NATS_PASSWORD_${upper}: '"\${NATS_PASSWORD_${upper}}"'`);
    expect(authorization).toContain(`password: $NATS_PASSWORD_${upper}\n`);
  });

  it.each(['provision', 'nats'])(
    'tags the image of %s, which is not a deployable, with the version of deploy',
    (name) => {
      expect(blocks.get(name)).toContain(
        `image: \${IMAGE_REGISTRY:-localhost/customer-platform}/${name}:\${DEPLOY_VERSION:-${versionOf('deploy')}}\n`,
      );
    },
  );

  it('has the control plane listen in its own network', () => {
    expect(blocks.get('gateway')).toContain('ADMIN_HOST: control-plane\n');
    expect(blocks.get('gateway')).toContain('control: { aliases: [control-plane] }\n');
    const networksOf = (block: string) => block.slice(block.indexOf('networks:')).split('#', 1)[0]!;
    const inControl = [...blocks].filter(
      ([, block]) => block.includes('networks:') && /\bcontrol\b/.test(networksOf(block)),
    );
    expect(inControl.map(([name]) => name)).toEqual(['gateway']);
    const networks = compose
      .slice(compose.indexOf('\nnetworks:\n'))
      .match(/^ {2}\w+(?=:)/gm)!
      .map((name) => name.trim());
    const published = networks.filter((name) => !compose.includes(`\n  ${name}: { internal: true }`));
    expect(published.sort()[0]).toBe('control');
  });

  it('puts no password on a command line', () => {
    const commands = [...compose.matchAll(/\n {4}(?:command|test):[^\n]*(?:\n {6}[^\n]*)*/g)].map(([text]) => text);
    expect(commands.filter((text) => /(?<!\$)\$\{/.test(text))).toEqual([]);
    expect(blocks.get('redis')).toContain('requirepass $$REDISCLI_AUTH\n');
    expect(blocks.get('redis')).toContain(`REDISCLI_AUTH: \${REDIS_PASSWORD}\n`);
  });

  it('publishes only the proxy, by default to this machine, and the gateway to this machine', () => {
    expect([...blocks].filter(([, block]) => block.includes('ports:')).map(([name]) => name)).toEqual([
      'gateway',
      'proxy',
    ]);
    const published = (name: string) => blocks.get(name)?.match(/- '[^'\n]+:\d+'/g);
    expect(published('gateway')).toEqual([
      `- '127.0.0.1:\${GATEWAY_PORT:-8080}:8080'`,
      `- '127.0.0.1:\${ADMIN_PORT:-8081}:8081'`,
    ]);
    expect(published('proxy')).toEqual([
      `- '\${PROXY_ADDRESS:-127.0.0.1}:\${HTTPS_PORT:-8443}:8443'`,
      `- '\${PROXY_ADDRESS:-127.0.0.1}:\${HTTP_PORT:-8088}:8080'`,
    ]);
  });

  it("has the gateway trust the proxy's address in the network that both share", () => {
    const address = (name: string) => /front: \{ ipv4_address: '([^']+)' \}/.exec(blocks.get(name) ?? '')?.[1];
    const [ofProxy, ofGateway] = [address('proxy')!, address('gateway')!];
    expect(ofProxy).not.toBe(ofGateway);
    expect(blocks.get('gateway')).toContain(`TRUSTED_PROXIES: ${ofProxy},\${TRUSTED_PROXIES:-}\n`);
    expect([...blocks].filter(([, block]) => block.includes('front:')).map(([name]) => name)).toEqual([
      'gateway',
      'proxy',
    ]);
    const subnet = `${ofProxy.slice(0, ofProxy.lastIndexOf('.'))}.0/28`;
    expect(compose).toContain(`\n  front: { internal: true, ipam: { config: [{ subnet: '${subnet}' }] } }\n`);
  });

  it("mounts the proxy's files read-only at the paths that its configuration names", () => {
    const configuration = readFileSync(join(import.meta.dirname, '../proxy/nginx.conf'), 'utf8');
    const lines = blocks
      .get('proxy')!
      .split('\n')
      .filter((line) => line.endsWith(':ro'));
    const mounted = lines.map((line) => line.trim().slice('- '.length).split(':').slice(0, 2));
    expect(mounted).toEqual([
      ['./deploy/proxy/nginx.conf', '/etc/nginx/nginx.conf'],
      ['./deploy/proxy/http.d', '/etc/nginx/http.d'],
      ['./deploy/proxy/private/certificates', '/etc/nginx/certificates'],
    ]);
    for (const [, path] of mounted.slice(1)) expect(configuration).toContain(`${path}/`);
    for (const port of [8443, 8080]) expect(configuration).toContain(`\n        listen ${port} `);
    expect(configuration).toContain('server gateway:8080;');
  });

  it('hardens every container', () => {
    const soft = [...blocks].filter(([, block]) => !/<<: \*(process|hardened)/.test(block));
    expect(blocks.size).toBeGreaterThan(7);
    expect(soft.map(([name]) => name)).toEqual([]);
  });
});
