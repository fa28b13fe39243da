// @ts-check
// Finds NATS and Redis. Plain JavaScript for Node.js 20 or later, because `npm run doctor` runs before anything is installed.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Way to get a server: on PATH, from an unpacked Debian package, built with Go, or as a container image.
 * @typedef {'path' | 'debian' | 'go' | 'docker'} Way
 */

/**
 * Server to get.
 * @typedef {object} ServerSource
 * @property {string} program name of the program
 * @property {string} image container image
 * @property {string} [goPackage] Go package of the program with its version, where Go can build it
 * @property {readonly [number, number]} [minimum] oldest usable version: major and minor
 * @property {string} setting setting with the URL of a server that runs elsewhere
 */

/**
 * Programs on this machine. `apt` is apt-get and dpkg-deb; `docker` may be installed without a running engine.
 * @typedef {{ platform: NodeJS.Platform } & Record<'onPath' | 'debianUnpacked' | 'apt' | 'goBuilt' | 'go' | 'docker', boolean>} Found
 */

/** @type {Required<ServerSource>} */
export const natsSource = {
  program: 'nats-server',
  image: 'nats:2',
  goPackage: 'github.com/nats-io/nats-server/v2@v2.15.3',
  minimum: [2, 9],
  setting: 'NATS_URL',
};

/** @type {ServerSource} */
export const redisSource = { program: 'redis-server', image: 'redis:8', setting: 'REDIS_URL' };

/**
 * Returns the ways to get a server, best first: an installed program, then a download. `refusal` says what to install if no way works.
 * Debian's programs need Linux, so an unpacked package does not count on macOS.
 * @param {ServerSource} server
 * @param {Found} found
 * @returns {{ ways: Way[], refusal: string }}
 */
export function waysOf({ program, goPackage, setting }, found) {
  const isLinux = found.platform === 'linux';
  const canBuild = goPackage !== undefined;
  /** @type {[Way, boolean][]} */
  const possible = [
    ['path', found.onPath],
    ['debian', isLinux && found.debianUnpacked],
    ['go', canBuild && found.goBuilt],
    ['debian', isLinux && found.apt],
    ['go', canBuild && found.go],
    ['docker', found.docker],
  ];
  const ways = new Set(possible.flatMap(([way, isPossible]) => (isPossible ? [way] : [])));
  const manager = found.platform === 'darwin' ? 'brew' : found.apt ? 'apt-get' : "your system's package manager";
  const build = canBuild ? ', install Go (https://go.dev/dl) to build it here' : '';
  return {
    ways: [...ways],
    refusal: `${program} was not found: install ${program} with ${manager}${build}, start Docker, or set ${setting} to a server that runs elsewhere.`,
  };
}

/**
 * Returns what this machine has to run a server. Reads only files and starts no program.
 * @param {ServerSource} server
 * @param {string} cacheDirectory folder of downloaded and built programs
 * @returns {Found}
 */
export function inspectMachine(server, cacheDirectory) {
  return {
    platform: process.platform,
    onPath: onPath(server.program) !== null,
    debianUnpacked: existsSync(join(cacheDirectory, server.program)),
    apt: hasApt(),
    goBuilt: existsSync(join(goFolder(server, cacheDirectory), server.program)),
    go: onPath('go') !== null,
    docker: onPath('docker') !== null,
  };
}

/**
 * Returns the folder for a server that Go builds, one per version.
 * @param {ServerSource} server
 * @param {string} cacheDirectory
 */
export function goFolder({ goPackage = '' }, cacheDirectory) {
  return join(cacheDirectory, 'go', goPackage.split('@')[1] ?? '');
}

export function hasApt() {
  return onPath('apt-get') !== null && onPath('dpkg-deb') !== null;
}

/**
 * Returns a program's file on PATH, or in a folder that installers use without adding it to PATH.
 * @param {string} program
 * @returns {string | null}
 */
export function onPath(program) {
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    '/usr/sbin',
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/bin',
    '/opt/homebrew/bin',
    '/usr/local/go/bin',
  ];
  const files = folders.filter(Boolean).map((folder) => join(folder, program));
  return files.find(isExecutable) ?? null;
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
