import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findPython } from '@customer-platform/client-python/environment.ts';
import { chartFolder } from './chart/chart-files.ts';
import { versionIn } from './deployables.ts';
import { pulledCompose } from './release/pulled-compose.ts';
import { firstTool, type ToolResult, toolAt } from './tool.ts';

/**
 * Creates everything that a release publishes in dist/release, and publishes nothing. Each part is made, failed, or skipped because this
 * machine lacks a tool. Exits with 1 if a part failed, and with --strict also if a part other than images was skipped. IMAGE_REGISTRY is the registry and path of images in the Compose file.
 */
const root = join(import.meta.dirname, '..');
const { values: options } = parseArgs({
  options: { 'no-images': { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } },
});
const out = join(root, 'dist/release');
const version = versionIn(root, '.');
const epoch =
  process.env.SOURCE_DATE_EPOCH ||
  execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();

/** Returns a sentence about the result, or the reason why the part is skipped. Throws an Error if the part fails. */
type Part = () => string | { skipped: string };

const parts: Record<string, Part> = {
  'npm client': () => {
    const file = `client-${versionIn(root, 'packages/client')}.tgz`;
    const packed = join(root, 'packages/docs-site/dist', file);
    if (!existsSync(packed))
      throw new Error(`packages/docs-site/dist/${file} is missing: create it with npm run build`);
    copyFileSync(packed, join(out, file));
    return file;
  },
  'Python client': () => {
    const found = findPython();
    if ('missing' in found) return { skipped: found.missing };
    const cwd = join(root, 'packages/client-python');
    required(toolAt(found.python)(['-m', 'hatchling', 'build', '-d', out], { cwd, env: { SOURCE_DATE_EPOCH: epoch } }));
    return globSync('customer_platform-*', { cwd: out }).sort().join(', ');
  },
  'bill of materials': () => {
    required(toolAt(process.execPath)([join(root, 'deploy/image/inventory.ts'), join(root, 'package-lock.json'), out]));
    return 'sbom.cdx.json and THIRD-PARTY-LICENSES; every license is allowed';
  },
  'Compose file': () => {
    const archive = `customer-platform-compose-${version}.tar.gz`;
    const folder = mkdtempSync(join(tmpdir(), 'compose-'));
    try {
      const text = pulledCompose(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), process.env.IMAGE_REGISTRY);
      writeFileSync(join(folder, 'docker-compose.yml'), text);
      const files = ['LICENSE', ...globSync('deploy/proxy/{nginx.conf,http.d/*.example}', { cwd: root })];
      const same = [
        '--sort=name',
        `--mtime=@${epoch}`,
        '--owner=0',
        '--group=0',
        '--numeric-owner',
        '--mode=u=rwX,go=rX',
      ];
      const name = '--transform=s,^,customer-platform/,';
      const from = ['-C', folder, 'docker-compose.yml', '-C', root, ...files.sort()];
      required(toolAt('tar')(['-I', 'gzip -n', ...same, name, '-cf', join(out, archive), ...from]));
    } finally {
      rmSync(folder, { recursive: true });
    }
    return archive;
  },
  chart: () => {
    const helm = firstTool(['helm', join(root, '.platform/go/bin/helm')], 'version', '--short');
    if (!helm) return { skipped: 'helm is not installed; with Go installed, npm run check:chart builds it' };
    return required(helm(['package', join(root, chartFolder), '--destination', out]))
      .split('/')
      .at(-1)!;
  },
  images: () => {
    const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
    const missing = dockerfile
      .match(/\/source\/[\w./-]*\w/g)!
      .filter((path) => !existsSync(join(root, path.slice('/source/'.length))));
    if (missing.length > 0) throw new Error(`deploy/Dockerfile: ${missing.join(', ')} is not in the repository`);
    required(toolAt('sh')(['-n', join(root, 'deploy/image/customer-platform')]));
    if (options['no-images']) return { skipped: '--no-images' };
    if (!firstTool(['docker'], 'info')) return { skipped: 'Docker does not respond' };
    const { status } = spawnSync(process.execPath, [join(root, 'scripts/images.ts')], { stdio: 'inherit' });
    if (status !== 0) throw new Error('npm run images failed');
    return 'built';
  },
  audit: () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/audit.ts')], {
      encoding: 'utf8',
    });
    if (status === 3) return { skipped: stderr.trim().replace(/^audit: /, '') };
    if (status !== 0) throw new Error(stdout + stderr);
    return stdout.trim().split('\n').at(-1)!;
  },
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [name, part] of Object.entries(parts)) {
  try {
    const made = part();
    console.log(typeof made === 'string' ? `made     ${name}: ${made}` : `skipped  ${name}: ${made.skipped}`);
    if (options.strict && typeof made !== 'string' && name !== 'images') process.exitCode = 1;
  } catch (error) {
    console.error(`failed   ${name}: ${(error as Error).message.trim()}`);
    process.exitCode = 1;
  }
}
const files = globSync('*', { cwd: out }).sort();
const sums = files.map(
  (file) =>
    `${createHash('sha256')
      .update(readFileSync(join(out, file)))
      .digest('hex')}  ${file}\n`,
);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
console.log(`release: ${files.length} files in ${out}`);

/** Returns the standard output of a program that succeeded. */
function required({ ok, stdout, stderr }: ToolResult): string {
  if (!ok) throw new Error(stderr || stdout);
  return stdout.trim();
}
