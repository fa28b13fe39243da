import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { chartFolder } from './chart/chart-files.ts';
import { kubernetesVersion, writeKubernetesSchemas } from './chart/kubernetes-schemas.ts';
import { brokenPromises } from './chart/promises.ts';
import { refusals } from './chart/refusals.ts';
import { readResources } from './chart/rendered.ts';
import { deployableVersions } from './deployables.ts';
import { configs } from './settings.ts';
import { firstTool, type Tool, toolAt } from './tool.ts';

/**
 * Lints and renders the Helm chart with each example of values, validates the resources against Kubernetes' API, and
 * checks what the repository promises. Validates resources of operators only with --crd-schemas=<folder>, a
 * checkout of github.com/datreeio/CRDs-catalog.
 */
const root = join(import.meta.dirname, '..');
const chart = join(root, chartFolder);
const programs = join(root, '.platform/go/bin');
const small = 'deploy/helm/values/small.yaml';
/** Resources of operators. Kubernetes does not have their schemas. */
const customResources = 'Cluster,ServiceMonitor,PrometheusRule';
const { values: options } = parseArgs({ options: { 'crd-schemas': { type: 'string' } } });
const expected = { configs: await configs(), versions: deployableVersions(root) };

const go = firstTool(['go', '/usr/local/go/bin/go'], 'version');
try {
  const helm = findOrBuild('helm', ['version', '--short'], 'helm.sh/helm/v3/cmd/helm@v3.16.4');
  if (helm) check(helm);
  else console.log('chart: skipped, because neither helm nor Go (to build helm) is installed');
} catch (error) {
  // Fetching a program or the schemas failed.
  console.error(`chart: the check did not finish: ${(error as Error).message}`);
  process.exitCode = 1;
}

/**
 * Returns a program from PATH or our folder, else builds it with Go into our folder. Returns undefined without Go.
 * @throws Error when Go cannot build it
 */
function findOrBuild(name: string, versionArgs: string[], module: string): Tool | undefined {
  const found = firstTool([name, join(programs, name)], ...versionArgs);
  if (found || !go) return found;
  console.log(`chart: building ${module}`);
  const { ok, stderr } = go(['install', module], { env: { GOBIN: programs } });
  if (!ok) throw new Error(`cannot build ${module}: ${stderr.trim().split('\n').at(-1)}`);
  return toolAt(join(programs, name));
}

function check(helm: Tool): void {
  const files = globSync('deploy/helm/values/*.yaml', { cwd: root })
    .filter((file) => basename(file) !== 'nats.yaml') // values of another chart
    .sort();
  const directory = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    const wrong = [...acceptedWrongly(helm), ...notSwitchedOff(helm)];
    const faults = [...wrong, ...files.flatMap((file) => faultsOf(helm, file, directory))];
    if (faults.length === 0) {
      console.log(`chart: ${files.length} values files linted, rendered and checked against the promises`);
      console.log(`chart: ${Object.keys(refusals).length} invalid values rejected with their field`);
      faults.push(...invalidResources(directory));
    }
    for (const fault of faults) console.error(fault);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function rendered(helm: Tool, file: string, ...flags: string[]) {
  return helm([
    'template',
    'platform',
    chart,
    '--kube-version',
    kubernetesVersion,
    '--values',
    join(root, file),
    ...flags,
  ]);
}

/** Returns the faults of one values file, and writes its rendered resources to a directory. */
function faultsOf(helm: Tool, file: string, directory: string): string[] {
  const lint = helm(['lint', '--strict', '--quiet', chart, '--values', join(root, file)]);
  if (!lint.ok) return [`${file}: ${lint.stdout}${lint.stderr}`];
  return (['install', 'upgrade'] as const).flatMap((action) => {
    const { ok, stdout, stderr } = rendered(helm, file, ...(action === 'upgrade' ? ['--is-upgrade'] : []));
    if (!ok) return [`${file}: ${stderr}`];
    writeFileSync(join(directory, `${action}-${basename(file)}`), stdout);
    const faults = brokenPromises(readResources(stdout), { ...expected, action });
    return faults.map((fault) => `${file} (${action}): ${fault}`);
  });
}

/** Returns a sentence for each invalid value that is accepted, or rejected without its field. */
function acceptedWrongly(helm: Tool): string[] {
  return Object.entries(refusals).flatMap(([wrong, refusal]) => {
    const { ok, stderr } = rendered(helm, small, '--set', wrong);
    if (ok) return [`${wrong}: is accepted, but must be rejected`];
    return stderr.includes(refusal)
      ? []
      : [`${wrong}: is rejected with "${stderr.trim()}", which must contain ${refusal}`];
  });
}

/** Returns a sentence for each Job that exists although its value disables it. */
function notSwitchedOff(helm: Tool): string[] {
  const off = 'provision.enabled=false,migrations.enabled=false';
  const { ok, stdout, stderr } = rendered(helm, small, '--set', off);
  if (!ok) return [`${off}: ${stderr}`];
  const jobs = readResources(stdout).filter(({ kind }) => kind === 'Job');
  return jobs.map(({ metadata }) => `${metadata.name}: must not exist with ${off}`);
}

/** Returns kubeconform's errors about rendered resources that the Kubernetes API would reject. */
function invalidResources(directory: string): string[] {
  const kubeconform = findOrBuild('kubeconform', ['-v'], 'github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7');
  if (!kubeconform || !go) {
    console.log(`chart: not validated against Kubernetes' API, because ${go ? 'kubeconform' : 'Go'} is not installed`);
    return [];
  }
  const schemas = join(root, '.platform/kubernetes-schemas');
  mkdirSync(schemas, { recursive: true });
  const own = ['-schema-location', writeKubernetesSchemas(schemas, go)];
  const custom = options['crd-schemas'];
  const operators = custom
    ? ['-schema-location', join(custom, '{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json')]
    : ['-skip', customResources];
  const { ok, stdout, stderr } = kubeconform(['-summary', ...own, ...operators, directory]);
  if (!ok) return [`${stdout}${stderr}`];
  console.log(`chart: valid for Kubernetes ${kubernetesVersion}: ${stdout.trim()}`);
  if (!custom) console.log(`chart: ${customResources} not validated: set --crd-schemas=<folder> to validate them`);
  return [];
}
