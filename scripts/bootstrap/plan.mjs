import { natsSource, waysOf } from '../../deploy/local/servers/ways.mjs';

/**
 * Decides what to install before something runs.
 * @param {object} facts
 * @param {'runtime' | 'all'} facts.wanted runtime packages, or also packages of tests, checks and builds
 * @param {number} facts.node major version of the host's Node.js
 * @param {string} facts.host platform and architecture, such as `linux-x64`; `linux-x64-musl` where libc is not glibc
 * @param {boolean} facts.needsPostgres whether PostgreSQL must run here, from its package
 * @param {boolean} facts.hasOwnNode whether our packaged Node.js is installed and runs here
 * @param {string} facts.manifests hash of the manifests and the lock
 * @param {{ manifests: string, packages: 'runtime' | 'all' } | null} facts.installed record of the last installation
 * @param {number | undefined} facts.running process of an `npm start` in this folder
 * @param {import('../../deploy/local/servers/ways.mjs').Found | null} facts.nats programs for NATS; null if none must run here
 * @returns {{ refusal: string } | { installNode: boolean, npm: null | { command: string[], packages: 'runtime' | 'all' } }}
 */
export function planOf({ wanted, node, host, needsPostgres, hasOwnNode, manifests, installed, running, nats }) {
  if (host.startsWith('win32')) {
    return {
      refusal:
        'On Windows the platform runs in WSL 2: run `wsl --install` (https://learn.microsoft.com/windows/wsl/install), then start it there.',
    };
  }
  if (needsPostgres && !['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'].includes(host)) {
    return {
      refusal:
        `PostgreSQL's package does not run on ${host}${host.endsWith('-musl') ? ' (Alpine)' : ''}: use Docker Compose ` +
        '(`npm run compose:secrets`, then `docker compose up --build`), or set DATABASE_URL to a PostgreSQL 18.',
    };
  }
  if (node < 20) return { refusal: `Node.js ${node} is too old: install 24, or 20 at least, see https://nodejs.org` };
  const needsOwnNode = node < 24;
  if (needsOwnNode && !['linux-x64', 'linux-arm64'].includes(host)) {
    return {
      refusal: `Node.js ${node} is too old for ${host}: install 24 or later, see https://nodejs.org (npm start installs it only on Linux with glibc)`,
    };
  }
  if (nats !== null) {
    const { ways, refusal } = waysOf(natsSource, nats);
    if (ways.length === 0) return { refusal };
  }
  const isCurrent = installed?.manifests === manifests;
  const packages = installed?.packages === 'all' ? 'all' : wanted;
  const isInstalled = isCurrent && installed.packages === packages;
  // `npm ci` empties node_modules first, which breaks a running platform. `npm install` only adds missing packages.
  if (!isCurrent && running !== undefined) {
    return {
      refusal: `The platform runs from this folder (process ${running}), and its packages have changed: stop it with Ctrl-C or kill ${running}, then start again.`,
    };
  }
  return {
    installNode: needsOwnNode && !hasOwnNode,
    npm: isInstalled ? null : { command: isCurrent ? ['install', '--no-save'] : ['ci'], packages },
  };
}

/**
 * Returns the folders into which npm installs packages, by the lock. May include a few more for optional packages of other machines.
 * @param {Record<string, { dev?: boolean, os?: string[], cpu?: string[], libc?: string[] }>} locked the lock's `packages`
 * @param {'runtime' | 'all'} packages
 * @param {{ platform: string, arch: string, libc: string }} machine names of Node.js and npm; libc is `glibc` or `musl`
 * @returns {string[]}
 */
export function foldersOf(locked, packages, { platform, arch, libc }) {
  const suits = (names, own) =>
    !names || names.includes(own) || (names.every((name) => name[0] === '!') && !names.includes(`!${own}`));
  return Object.entries(locked).flatMap(([folder, { dev, os, cpu, libc: libcs }]) => {
    const isWanted = folder.includes('node_modules/') && (packages === 'all' || !dev);
    return isWanted && suits(os, platform) && suits(cpu, arch) && suits(libcs, libc) ? [folder] : [];
  });
}
