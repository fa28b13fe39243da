// Checks whether a machine meets the needs of `npm start`. `fail`: it would not start; `warn`: it would start with the named limitation.

import { waysOf } from '../../deploy/local/servers/ways.mjs';

/** @typedef {{ state: 'ok' | 'warn' | 'fail', says: string }} Verdict */

const ok = (says) => ({ state: 'ok', says });
const warn = (says) => ({ state: 'warn', says });
const fail = (says) => ({ state: 'fail', says });

/** Disk space in MB for a first start (packages, Node 24, servers, an empty database), and for a later start. */
const spaceMb = { first: 1_000, later: 300 };
/** Memory in MB that all idle processes take. */
const memoryMb = 1_000;
/** Seconds that a clock may differ. Webhook signatures are rejected from 300 s on. */
const clockSeconds = 60;

/**
 * @param {ReturnType<typeof import('../bootstrap/plan.mjs').planOf>} plan
 * @param {{ host: string, version: string }} machine platform and architecture, and the Node.js that runs npm
 * @returns {Verdict}
 */
export function machineCheck(plan, { host, version }) {
  if ('refusal' in plan) return fail(plan.refusal);
  return ok(`${host}, Node.js ${version}${plan.installNode ? '; npm start installs Node.js 24 in this folder' : ''}`);
}

/**
 * @param {{ variable: string, port: number, isFree: boolean, runsAs?: number }} facts `runsAs` is the process of an npm start in this folder
 * @returns {Verdict}
 */
export function portCheck({ variable, port, isFree, runsAs }) {
  if (isFree) return ok(`${port} is free`);
  if (runsAs) return fail(`${port} is in use by the platform, which already runs as process ${runsAs}: stop it first`);
  return fail(`${port} is in use: stop the program that listens there, or set ${variable} to a free port`);
}

/** @returns {Verdict} */
export function spaceCheck({ freeMb, isInstalled }) {
  const neededMb = isInstalled ? spaceMb.later : spaceMb.first;
  if (freeMb >= neededMb) return ok(`${freeMb} MB free`);
  return fail(`${freeMb} MB free, but ${neededMb} MB needed: free space on this folder's disk`);
}

/** @returns {Verdict} */
export function memoryCheck(availableMb) {
  if (availableMb >= memoryMb) return ok(`${availableMb} MB available`);
  return warn(`${availableMb} MB available, but the platform takes ${memoryMb} MB: close other programs`);
}

/** @returns {Verdict} */
export function folderCheck(error) {
  return error ? fail(`not writable (${error}): give your user write permission for this folder`) : ok('writable');
}

/** Returns whether npm can install packages. `error` is null if the registry responded. @returns {Verdict} */
export function registryCheck({ registry, error, isNeeded, hasCache }) {
  if (!isNeeded) return ok('not needed: everything is installed');
  if (error === null) return ok(`${registry} responds`);
  if (['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(error))
    return fail(`npm cannot write its cache (${error}): make the folder that "npm config get cache" prints writable`);
  const problem = `${registry} does not respond (${error})`;
  if (hasCache) return warn(`${problem}: npm start works only if npm's cache has every package`);
  return fail(`${problem}: check the network, npm config get registry, and npm's proxy settings`);
}

/** @param {number | null} aheadSeconds how far this machine's clock is ahead; null if unknown @returns {Verdict} */
export function clockCheck(aheadSeconds, other) {
  if (aheadSeconds === null) return ok(`not compared: ${other} does not respond`);
  const seconds = Math.abs(Math.round(aheadSeconds));
  if (seconds <= clockSeconds) return ok(`within ${clockSeconds} s of ${other}`);
  const way = aheadSeconds > 0 ? 'ahead of' : 'behind';
  return warn(`${seconds} s ${way} ${other}: set the clock, or signed webhooks are rejected as too old or too new`);
}

/** @param {Reached | undefined} url @returns {Verdict} */
export function postgresCheck(url) {
  return url ? urlCheck('DATABASE_URL', url) : ok('comes with the packages');
}

/**
 * Says how npm start would get a server, by the first available way.
 * @param {import('../../deploy/local/servers/ways.mjs').ServerSource} server
 * @param {{ isNeeded: boolean, url?: Reached, found: import('../../deploy/local/servers/ways.mjs').Found }} facts
 * @returns {Verdict}
 * @typedef {{ host: string | null, error: string | null }} Reached server at a setting's URL; host is null if the setting is not a URL
 */
export function serverCheck(server, { isNeeded, url, found }) {
  const { program, image, setting } = server;
  if (url) return urlCheck(setting, url);
  const { ways, refusal } = waysOf(server, found);
  const says = {
    path: `${program} on this machine`,
    debian: found.debianUnpacked
      ? `Debian's ${program} in .platform`
      : `npm start downloads Debian's ${program} for this folder`,
    go: found.goBuilt ? `${program} in .platform, built by Go` : `npm start builds ${program} with Go`,
    docker: `npm start runs the image ${image} with Docker`,
  };
  if (ways[0]) return ok(says[ways[0]]);
  return isNeeded ? fail(refusal) : warn(`${refusal} Without it each gateway limits rates by itself.`);
}

function urlCheck(setting, { host, error }) {
  if (host === null) return fail(`${setting} must be a URL or not set`);
  if (error === null) return ok(`${setting}: ${host} responds`);
  return fail(`${setting}: ${host} does not respond (${error}): start that server, or unset ${setting}`);
}
