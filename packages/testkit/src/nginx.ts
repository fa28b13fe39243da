import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { findProgram, type Program } from '@customer-platform/deploy/servers/server-binary';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { programsFolder } from './data-folder.ts';
import { testCertificate, testCertificateKey } from './test-certificate.ts';

const shippedFile = join(import.meta.dirname, '../../../deploy/proxy/nginx.conf');

/** The shipped TLS proxy in front of a gateway. */
export interface TlsProxy {
  /** The proxy's `https://127.0.0.1:…`, with the test certificate. */
  url: string;
  /** The proxy's `http://127.0.0.1:…`, which serves nothing of the API. */
  plainUrl: string;
  stop(): Promise<void>;
}

/** Options of a proxy. */
interface ProxyOptions {
  /** Address of a load balancer in front of the proxy, whose X-Forwarded-For is trusted. */
  balancer?: string;
}

/** Folder with a configuration for nginx. */
interface ProxyFolder {
  directory: string;
  /** Path of the configuration file. */
  file: string;
  port: number;
  plainPort: number;
  remove(): void;
}

/** Finds nginx as packaged by Debian. */
export function findNginx(): Promise<Program> {
  mkdirSync(programsFolder(), { recursive: true });
  const say = () => undefined;
  return findProgram({ program: 'nginx', versionArgument: '-v', cacheDirectory: programsFolder(), say });
}

/**
 * Starts nginx with deploy/proxy/nginx.conf; only ports, files and the gateway's address are replaced.
 * @throws Error if nginx cannot be found or rejects the file
 */
export async function startProxy(gatewayUrl: string, options: ProxyOptions = {}): Promise<TlsProxy> {
  const { command, env } = await findNginx();
  const { directory, file, port, plainPort, remove } = await proxyFolder(gatewayUrl, options);
  const plainUrl = `http://127.0.0.1:${plainPort}`;
  const ready = () =>
    fetch(`${plainUrl}/-/alive`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const running = await startServer({
    name: 'nginx',
    command,
    args: ['-p', directory, '-e', 'stderr', '-c', file, '-g', 'daemon off;'],
    env: { ...env, PATH: process.env.PATH! },
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'nginx.log'),
    url: `https://127.0.0.1:${port}`,
    ready,
  });
  return {
    url: running.url,
    plainUrl,
    async stop() {
      await running.stop();
      remove();
    },
  };
}

/** Creates a folder with the shipped configuration for a gateway, and the files that it refers to. */
export async function proxyFolder(gatewayUrl: string, { balancer }: ProxyOptions = {}): Promise<ProxyFolder> {
  const directory = mkdtempSync(join(tmpdir(), 'nginx-'));
  chmodSync(directory, 0o755);
  const [port, plainPort] = [await freePort(), await freePort()];
  writeFileSync(join(directory, 'tls.crt'), testCertificate);
  writeFileSync(join(directory, 'tls.key'), testCertificateKey, { mode: 0o600 });
  mkdirSync(join(directory, 'http.d'));
  if (balancer !== undefined) {
    const example = readFileSync(join(shippedFile, '../http.d/balancer.conf.example'), 'utf8');
    writeFileSync(join(directory, 'http.d/balancer.conf'), example.replace('192.0.2.0/24', balancer));
  }
  const file = join(directory, 'nginx.conf');
  const replaced = replacedIn(readFileSync(shippedFile, 'utf8'), [
    ['/tmp/', `${directory}/`],
    ['/etc/nginx/certificates/', `${directory}/`],
    ['/etc/nginx/http.d/', `${directory}/http.d/`],
    ['server gateway:8080;', `server ${new URL(gatewayUrl).host};`],
    ['listen 8443 ', `listen 127.0.0.1:${port} `],
    ['listen 8080 ', `listen 127.0.0.1:${plainPort} `],
  ]);
  // As root, nginx would run its workers as a user who cannot write here.
  writeFileSync(file, process.getuid?.() === 0 ? `user root;\n${replaced}` : replaced);
  return { directory, file, port, plainPort, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** @throws Error for a string that the file does not contain, since nginx would use the original value */
function replacedIn(text: string, replacements: [from: string, to: string][]): string {
  return replacements.reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/proxy/nginx.conf has no "${from}"`);
    return result.replaceAll(from, to);
  }, text);
}
