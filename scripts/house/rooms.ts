import { existsSync, globSync, readFileSync } from 'node:fs';
import { importsOf, type Source, targetOf } from './source.ts';

/** A top folder of the repository, and which of our packages its code and its tests may import. */
export interface Room {
  folder: string;
  name: string;
  mayImport: (specifier: string) => boolean;
  /** Its code is copied out of the repository: it imports no packages of others. */
  isCopied?: true;
}

const scope = '@customer-platform/';
const [contracts, kit, core] = [`${scope}contracts`, `${scope}service-kit`, `${scope}contracts/core`];
const [contactCopy, documents] = [`${scope}contact-copy`, `${scope}documents`];
const [outbound, phoneNumber] = [`${scope}outbound`, `${scope}phone-number`];
const [client, deploy, gateway, testkit] = [`${scope}client`, `${scope}deploy`, `${scope}gateway`, `${scope}testkit`];
const within =
  (...packages: string[]) =>
  (specifier: string) =>
    packages.some((name) => specifier === name || specifier.startsWith(`${name}/`));

const services = globSync('services/*').map((folder): Room => {
  const mayImport = within(contracts, kit, contactCopy, documents, outbound, phoneNumber);
  return { folder, name: folder.slice('services/'.length), mayImport };
});

/** Rooms and what they may import. A service never imports another. */
export const rooms: Room[] = [
  { folder: 'packages/contracts', name: 'contracts', mayImport: () => false },
  { folder: 'packages/service-kit', name: 'service-kit', mayImport: within(core, `${contracts}/api-document`) },
  { folder: 'packages/outbound', name: 'outbound', mayImport: within(contracts, kit) },
  { folder: 'packages/contact-copy', name: 'contact-copy', mayImport: within(contracts, kit) },
  { folder: 'packages/documents', name: 'documents', mayImport: within(kit) },
  { folder: 'packages/phone-number', name: 'phone-number', mayImport: () => false },
  { folder: 'packages/client', name: 'client', mayImport: () => false },
  { folder: 'packages/console', name: 'console', mayImport: within(contracts) },
  { folder: 'packages/admin-cli', name: 'admin-cli', mayImport: within(contracts) },
  { folder: 'packages/testkit', name: 'testkit', mayImport: within(contracts, kit, client, deploy, gateway) },
  { folder: 'gateway', name: 'gateway', mayImport: within(contracts, kit) },
  { folder: 'deploy', name: 'deploy', mayImport: () => false },
  { folder: 'bench', name: 'bench', mayImport: within(contracts, kit, outbound, client, deploy, gateway, testkit) },
  { folder: 'tests', name: 'tests', mayImport: within(contracts, client, deploy, testkit) },
  { folder: 'examples', name: 'examples', mayImport: within(client), isCopied: true },
  { folder: 'scripts', name: 'scripts', mayImport: () => true },
  ...services,
];

/** Returns whether tests may import a package that their room's code may not. */
const forTests = within(testkit, client, deploy, contracts, kit, `${scope}console/browser`);

/** Packages of others that a room's code may import: those that its package.json names. Tests may import any. */
function declaredIn(folder: string): Set<string> {
  const manifest = `${folder}/package.json`;
  if (!existsSync(manifest)) return new Set(); // a folder of the root: its tools are the root's
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
  return new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
}
type Manifest = Record<'dependencies' | 'optionalDependencies', Record<string, string>>;

const declared = new Map(rooms.map(({ folder }) => [folder, declaredIn(folder)]));

/** Returns a sentence for each import of a file that its room must not have. */
export function roomFaultsOf(source: Source): string[] {
  const { file, isTest } = source;
  const room = rooms.find(({ folder }) => file.startsWith(`${folder}/`));
  if (!room) return [`${file}: stands in no room that scripts/house/rooms.ts knows`];
  return importsOf(source).flatMap(({ specifier, line }) => {
    const where = `${file}:${line}`;
    if (specifier.startsWith('.')) {
      const target = targetOf(file, specifier);
      return target.startsWith(`${room.folder}/`) ? [] : [`${where}: reaches out of ${room.folder} to ${target}`];
    }
    if (specifier.startsWith('node:') || within(`${scope}${room.name}`)(specifier)) return [];
    if (!specifier.startsWith(scope)) {
      const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
      const isRootFolder = declared.get(room.folder)!.size === 0 && !room.isCopied;
      if (declared.get(room.folder)!.has(name) || isTest || isRootFolder) return [];
      return [`${where}: ${room.folder}/package.json does not name ${name}`];
    }
    const allowed = room.mayImport(specifier) || (isTest && room.name !== 'contracts' && forTests(specifier));
    return allowed ? [] : [`${where}: ${room.name} must not import ${specifier}`];
  });
}
