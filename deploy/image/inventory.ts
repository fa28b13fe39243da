import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Runtime package from an npm lock file. */
export interface Package {
  name: string;
  version: string;
  /** SPDX expression; undefined if the package states none that npm understands. */
  license: string | undefined;
  /** Subresource integrity, such as `sha512-…`. */
  integrity: string | undefined;
  /** Folder of the package, relative to the lock file's folder. */
  path: string;
}

/** Package entry of an npm lock file. */
export interface LockEntry extends Partial<Record<'link' | 'dev' | 'optional' | 'devOptional', boolean>> {
  /** Set only if the name differs from the folder's. */
  name?: string;
  version: string;
  license?: string;
  integrity?: string;
}

/** Returns whether a locked package is needed at run time, and not only for development or by an optional package. */
export function isOfRuntime({ dev, optional, devOptional }: LockEntry): boolean {
  return !(dev || optional || devOptional);
}

/** Licenses that a runtime package may have. */
const allowed = new Set(
  '0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 Python-2.0 Unlicense Zlib'.split(' '),
);

/** Licenses read from the license file, for packages whose package.json has no SPDX expression. */
const read: Record<string, string> = { 'duck@0.1.12': 'BSD-2-Clause' };

const licenseFile = /^(licen[cs]e|copying|notice)/i;
const byName = (one: string, other: string) => (one < other ? -1 : Number(one > other));

/**
 * Returns the runtime packages of a lock file, sorted by name and version. `npm sbom --omit dev` does not work: npm 11.19 also omits runtime
 * packages that a development package depends on.
 */
export function runtimePackages(lock: { packages: Record<string, LockEntry> }): Package[] {
  const found = Object.entries(lock.packages).flatMap(([path, entry]) => {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || entry.link || !isOfRuntime(entry)) return [];
    const { version, license, integrity } = entry;
    return [{ name, version, license: read[`${name}@${version}`] ?? license, integrity, path }];
  });
  return found.sort((one, other) => byName(one.name, other.name) || byName(one.version, other.version));
}

/** Returns a sentence for each package whose license is missing or not allowed. One allowed alternative of `OR` is enough. */
export function licenseFaults(packages: readonly Package[]): string[] {
  const isAllowed = (license: string) =>
    license.split(' OR ').some((choice) => choice.split(' AND ').every((part) => allowed.has(part)));
  return packages.flatMap(({ name, version, license }) => {
    if (license !== undefined && isAllowed(license.replaceAll(/[()]/g, ''))) return [];
    return [`${name}@${version}: the license ${license ?? '(none)'} is not one of ${[...allowed].join(', ')}`];
  });
}

/** Returns a CycloneDX 1.6 document. The same packages give the same bytes. `base` is the base image with Node.js. */
export function bill(packages: readonly Package[], subject: { name: string; version: string }, base: string): object {
  const component = ({ name, version, license, integrity }: Package) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const [algorithm, digest] = integrity?.split('-') ?? [];
    const content = Buffer.from(digest ?? '', 'base64').toString('hex');
    return {
      type: 'library',
      'bom-ref': purl,
      name,
      version,
      purl,
      ...(license && { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] }),
      ...(algorithm && { hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content }] }),
    };
  };
  // Several copies of one version are one component.
  const libraries = [...new Map(packages.map((one) => [`${one.name}@${one.version}`, component(one)])).values()];
  const node = process.version.slice(1);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'customer-platform', ...subject } },
    components: [
      { type: 'container', 'bom-ref': base, name: base, description: 'Base image: Node.js and the operating system' },
      { type: 'platform', 'bom-ref': 'node', name: 'node', version: node, purl: `pkg:generic/node@${node}` },
      ...libraries,
    ],
  };
}

/** Returns the license files of packages, concatenated. A package without a license file is listed with its license. */
export function licenseTexts(packages: readonly Package[], root: string): string {
  const texts = packages.map(({ name, version, license, path }) => {
    const files = globSync(['*', 'licen[cs]e/*'], { cwd: join(root, path) })
      .filter((file) => licenseFile.test(file))
      .map((file) => join(root, path, file))
      .filter((file) => statSync(file).isFile());
    const text = files.sort(byName).map((file) => readFileSync(file, 'utf8').trim());
    return `${name} ${version} (${license})\n\n${text.join('\n\n') || 'The package has no license file.'}\n`;
  });
  return `Runtime packages of the processes. The console and the documentation list their bundled packages in their own licenses.md.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/**
 * Writes sbom.cdx.json and THIRD-PARTY-LICENSES for the installed packages into a folder.
 * @param lockFile package-lock.json, or npm's record of an installation, node_modules/.package-lock.json
 * @returns a sentence for each package whose license is not allowed
 */
export function writeInventory(lockFile: string, folder: string, subject: { name: string; version: string }): string[] {
  const root = lockFile.endsWith('.package-lock.json') ? resolve(lockFile, '../..') : resolve(lockFile, '..');
  const locked = runtimePackages(JSON.parse(readFileSync(lockFile, 'utf8')));
  const packages = locked.filter(({ path }) => existsSync(join(root, path, 'package.json')));
  const base = process.env.NODE_IMAGE || 'node:24-bookworm-slim';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill(packages, subject, base), null, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licenseTexts(packages, root));
  return licenseFaults(packages);
}

if (import.meta.main) {
  const [lockFile, folder] = process.argv.slice(2);
  const { SERVICE: service = 'platform' } = process.env;
  const folders: Record<string, string> = { platform: '.', gateway: 'gateway', provision: 'deploy' };
  const manifest = join(import.meta.dirname, '../..', folders[service] ?? `services/${service}`, 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const faults = writeInventory(lockFile!, folder!, { name: `customer-platform/${service}`, version });
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
