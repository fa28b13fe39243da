import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { skeletonFaultsOf } from './house/skeleton.ts';
import { type Node, nodesOf } from './syntax.ts';

process.chdir(join(import.meta.dirname, '..'));

/** A room of the house: where it is, and which packages of ours its code and its tests may import. */
interface Room {
  folder: string;
  name: string;
  mayImport: (specifier: string) => boolean;
}

const scope = '@customer-platform/';
const [contracts, kit, core] = [`${scope}contracts`, `${scope}service-kit`, `${scope}contracts/core`];
const [contactCopy, documents] = [`${scope}contact-copy`, `${scope}documents`];
const [outbound, phoneNumber] = [`${scope}outbound`, `${scope}phone-number`];
const within =
  (...packages: string[]) =>
  (specifier: string) =>
    packages.some((name) => specifier === name || specifier.startsWith(`${name}/`));

const services = globSync('services/*').map((folder): Room => {
  const mayImport = within(contracts, kit, contactCopy, documents, outbound, phoneNumber);
  return { folder, name: folder.slice('services/'.length), mayImport };
});

/** Who may import whom. A service never imports another. */
const rooms: Room[] = [
  { folder: 'packages/contracts', name: 'contracts', mayImport: () => false },
  { folder: 'packages/service-kit', name: 'service-kit', mayImport: (specifier) => specifier === core },
  { folder: 'packages/outbound', name: 'outbound', mayImport: within(contracts, kit) },
  { folder: 'packages/contact-copy', name: 'contact-copy', mayImport: within(contracts, kit) },
  { folder: 'packages/documents', name: 'documents', mayImport: () => false },
  { folder: 'packages/phone-number', name: 'phone-number', mayImport: () => false },
  { folder: 'packages/client', name: 'client', mayImport: within(contracts) },
  {
    folder: 'packages/testkit',
    name: 'testkit',
    mayImport: within(contracts, kit, `${scope}client`, `${scope}deploy`, `${scope}gateway`),
  },
  { folder: 'gateway', name: 'gateway', mayImport: within(contracts, kit) },
  { folder: 'deploy', name: 'deploy', mayImport: () => false },
  {
    folder: 'bench',
    name: 'bench',
    mayImport: within(
      contracts,
      kit,
      ...['client', 'deploy', 'gateway', 'outbound', 'testkit'].map((name) => `${scope}${name}`),
    ),
  },
  {
    folder: 'tests',
    name: 'tests',
    mayImport: within(contracts, `${scope}client`, `${scope}deploy`, `${scope}testkit`),
  },
  { folder: 'scripts', name: 'scripts', mayImport: () => true },
  ...services,
];

/** What tests may import beyond their room's code. */
const forTests = within(`${scope}testkit`, `${scope}client`, `${scope}deploy`, contracts, kit);

/** What a room's code may import of others' packages: what its package.json names; tests anything. */
function declaredIn(folder: string): Set<string> {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) return new Set(); // a folder of the root: its tools are the root's
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
  return new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
}
type Manifest = Record<'dependencies' | 'optionalDependencies', Record<string, string>>;

const declared = new Map(rooms.map(({ folder }) => [folder, declaredIn(folder)]));

const maxLines = { code: 300, test: 500 };

/** What one file does against the rules, in sentences; empty where nothing. `file` is relative to the repository's root. */
export function faultsOf(file: string, text: string): { faults: string[]; imports: number } {
  const room = rooms.find(({ folder }) => file.startsWith(`${folder}/`));
  if (!room) return { faults: [`${file}: stands in no room that scripts/check-house.ts knows`], imports: 0 };
  const isTest = /(\.test|-under-test)\.ts$/.test(file);
  const specifiers = importsOf(text);
  const faults = specifiers.flatMap((specifier) => {
    if (specifier.startsWith('.')) {
      const target = relative('.', resolve(dirname(file), specifier));
      return target.startsWith(`${room.folder}/`) ? [] : [`${file}: reaches out of ${room.folder} to ${target}`];
    }
    if (specifier.startsWith('node:') || within(`${scope}${room.name}`)(specifier)) return [];
    if (!specifier.startsWith(scope)) {
      const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
      const isRootFolder = declared.get(room.folder)!.size === 0;
      if (declared.get(room.folder)!.has(name) || isTest || isRootFolder) return [];
      return [`${file}: ${room.folder}/package.json does not name ${name}`];
    }
    const allowed = room.mayImport(specifier) || (isTest && room.name !== 'contracts' && forTests(specifier));
    return allowed ? [] : [`${file}: ${room.name} must not import ${specifier}`];
  });
  if (!isTest) faults.push(...skeletonFaultsOf(file, specifiers));
  const lines = text.split('\n').length - 1;
  const most = isTest ? maxLines.test : maxLines.code;
  if (lines > most) faults.push(`${file}: has ${lines} lines; ${most} are the most`);
  return { faults, imports: specifiers.length };
}

/** Every module a file names in an import or export, types and literal dynamic imports too. */
function importsOf(text: string): string[] {
  return nodesOf(text).flatMap((node) => {
    const named = node.type === 'CallExpression' && isImport(node.callee) ? (node.arguments as Node[])[0] : node.source;
    const source = node.type === 'TSImportType' ? node.argument : named;
    return isText(source) ? [source.value] : [];
  });
}

function isImport(callee: unknown): boolean {
  return (callee as Node).type === 'Import';
}

function isText(node: unknown): node is Node & { value: string } {
  return (node as Node | null | undefined)?.type === 'StringLiteral';
}

if (import.meta.main) {
  const read = rooms.map((room) => {
    const files = globSync(`${room.folder}/**/*.ts`, { exclude: ['**/node_modules/**'] });
    const results = files.map((file) => faultsOf(file, readFileSync(file, 'utf8')));
    return {
      room,
      files: files.length,
      imports: results.reduce((sum, { imports }) => sum + imports, 0),
      faults: results.flatMap(({ faults }) => faults),
    };
  });
  // A check that read nothing proves nothing.
  const unread = read
    .filter(({ files, imports }) => files === 0 || imports === 0)
    .map(({ room }) => `${room.folder}: no files or no imports were read`);
  const faults = [...unread, ...read.flatMap((result) => result.faults)];
  for (const fault of faults) console.error(fault);
  const total = read.reduce((sum, { files }) => sum + files, 0);
  console.log(`house: ${total} files in ${rooms.length} rooms read, ${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}
