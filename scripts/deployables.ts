import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gateway, services } from '@customer-platform/deploy/deployables';

/** Names of the deployables, the gateway first. */
export const deployableNames = [gateway, ...services].map(({ name }) => name);

/** Returns the folder of a deployable, relative to the repository. */
export function folderOf(deployable: string): string {
  return deployable === 'gateway' ? deployable : `services/${deployable}`;
}

/** Returns the version in a folder's package.json. */
export function versionIn(root: string, folder: string): string {
  const manifest = readFileSync(join(root, folder, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Returns the version of each deployable, and of `provision`, which creates schemas and roles. */
export function deployableVersions(root: string): Record<string, string> {
  const versions = deployableNames.map((name) => [name, versionIn(root, folderOf(name))]);
  return { ...Object.fromEntries(versions), provision: versionIn(root, 'deploy') };
}
