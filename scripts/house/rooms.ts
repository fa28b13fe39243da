import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Source } from './source.ts';

const scope = '@customer-platform/';
const ofServices = ['contracts', 'service-kit', 'contact-copy', 'documents', 'outbound', 'phone-number'];

/** Top folders of the repository, and our packages that their code may import. A service never imports another service. */
export const rooms: Record<string, string[] | 'any'> = {
  'packages/contracts': [],
  'packages/service-kit': ['contracts/core', 'contracts/api-document'],
  'packages/outbound': ['contracts', 'service-kit'],
  'packages/contact-copy': ['contracts', 'service-kit'],
  'packages/documents': ['service-kit'],
  'packages/phone-number': [],
  'packages/client': [],
  'packages/client-python': [],
  'packages/docs-site': [],
  'packages/console': ['contracts'],
  'packages/admin-cli': ['contracts'],
  'packages/testkit': ['contracts', 'service-kit', 'client', 'deploy', 'gateway'],
  gateway: ['contracts', 'service-kit'],
  deploy: [],
  bench: ['contracts', 'service-kit', 'outbound', 'client', 'deploy', 'gateway', 'testkit'],
  tests: ['contracts', 'client', 'deploy', 'testkit'],
  examples: ['client'],
  scripts: 'any',
  ...Object.fromEntries(globSync('services/*').map((folder) => [folder, ofServices])),
};

/** Our packages that tests may import in addition. */
const forTests = ['testkit', 'client', 'deploy', 'contracts', 'service-kit', 'console/browser'];

const isAmong = (packages: string[] | 'any', specifier: string) =>
  packages === 'any' || packages.some((name) => `${specifier}/`.startsWith(`${scope}${name}/`));

/** Rooms whose code runs in no process of the platform. Their imports may be development dependencies. */
const developed = ['packages/console', 'packages/docs-site', 'packages/testkit', 'bench'];

/** Third-party packages that a room's code may import: the dependencies in its package.json. */
const declared = new Map(Object.keys(rooms).map((folder) => [folder, declaredIn(folder)]));

function declaredIn(folder: string): string[] {
  if (!existsSync(`${folder}/package.json`)) return [];
  const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest;
  const { dependencies, optionalDependencies, devDependencies } = manifest;
  return Object.keys({ ...dependencies, ...optionalDependencies, ...(developed.includes(folder) && devDependencies) });
}
type Manifest = Partial<Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string>>>;

/** Returns a sentence for each import of a file that its room does not allow. */
export function roomFaultsOf(room: string, { file, isTest, imports }: Source): string[] {
  const name = basename(room);
  const ours = rooms[room]!;
  return imports.flatMap(({ specifier, line, target }) => {
    const where = `${file}:${line}`;
    if (target)
      return target.startsWith(`${room}/`) ? [] : [`${where}: must not import ${target} from outside ${room}`];
    if (specifier.startsWith('node:') || isAmong([name], specifier)) return [];
    if (!specifier.startsWith(scope)) {
      const [owner, part] = specifier.split('/');
      const isDeclared = declared.get(room)!.includes(owner!.startsWith('@') ? `${owner}/${part}` : owner!);
      // bench, scripts and tests use the root's packages. Examples must work outside the repository.
      const isFree = isTest || (declared.get(room)!.length === 0 && room !== 'examples');
      return isDeclared || isFree ? [] : [`${where}: ${room}/package.json does not name ${specifier}`];
    }
    const isAllowed = isAmong(ours, specifier) || (isTest && name !== 'contracts' && isAmong(forTests, specifier));
    return isAllowed ? [] : [`${where}: ${name} must not import ${specifier}`];
  });
}
