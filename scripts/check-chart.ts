import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { chartFolder, deployableNames, deployableVersions, settingsByProcess } from './chart/chart-files.ts';
import { refusedSettings } from './chart/environments.ts';
import { findGo, findTool, type Tool, type WantedTool } from './chart/go-tools.ts';
import { kubernetesVersion, writeKubernetesSchemas } from './chart/kubernetes-schemas.ts';
import { migrationFaults } from './chart/migrations.ts';
import { brokenPromises, type Expected } from './chart/promises.ts';
import { refusals } from './chart/refusals.ts';
import { readResources } from './chart/rendered.ts';

/**
 * Lints and renders the Helm chart with each of the example values, validates the resources against Kubernetes' API, and
 * holds them against what the repository promises. Resources of operators are validated only with --crd-schemas=<folder>, a
 * checkout of github.com/datreeio/CRDs-catalog.
 */
const root = join(import.meta.dirname, '..');
const chart = join(root, chartFolder);
const programs = join(root, '.platform/go/bin');
const wantedHelm: WantedTool = {
  name: 'helm',
  versionArgs: ['version', '--short'],
  module: 'helm.sh/helm/v3/cmd/helm@v3.16.4',
};
const wantedKubeconform: WantedTool = {
  name: 'kubeconform',
  versionArgs: ['-v'],
  module: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7',
};
/** Resources of operators, whose schemas are not in Kubernetes. */
const customResources = ['Cluster', 'ServiceMonitor', 'PrometheusRule'];
/** Arguments of `helm template` for the smallest installation. */
const small = [
  'platform',
  chart,
  `--kube-version=${kubernetesVersion}`,
  `--values=${root}/deploy/helm/values/small.yaml`,
];
const { values: options } = parseArgs({ options: { 'crd-schemas': { type: 'string' } } });

const go = findGo();
try {
  const helm = findTool(wantedHelm, programs, go);
  if (helm) await check(helm);
  else console.log('chart: nothing checked, because neither helm nor Go, which builds it, is there');
} catch (error) {
  // A program or the schemas could not be fetched.
  console.error(`chart: not checked to the end: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function check(helm: Tool): Promise<void> {
  const files = globSync('deploy/helm/values/*.yaml', { cwd: root })
    .filter((file) => basename(file) !== 'nats.yaml') // values of another chart
    .sort();
  const directory = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    const faults = [...acceptedWrongly(helm), ...notSwitchedOff(helm)];
    for (const file of files) faults.push(...(await faultsOf(helm, file, directory)));
    if (faults.length === 0) {
      console.log(`chart: ${files.length} files of values linted, rendered and held against the promises`);
      console.log(`chart: ${refusals.length} wrong values refused with their field`);
      faults.push(...invalidResources(directory));
    }
    for (const fault of faults) console.error(fault);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns the faults of one file of values, and writes the resources that it renders to a directory. */
async function faultsOf(helm: Tool, file: string, directory: string): Promise<string[]> {
  const values = ['--values', join(root, file)];
  const lint = helm.run(['lint', '--strict', '--quiet', chart, ...values]);
  if (!lint.ok) return [`${file}: ${lint.stdout}${lint.stderr}`];
  const faults: string[] = [];
  for (const action of ['install', 'upgrade'] as const) {
    const flags = ['--kube-version', kubernetesVersion, ...(action === 'upgrade' ? ['--is-upgrade'] : [])];
    const { ok, stdout, stderr } = helm.run(['template', 'platform', chart, ...values, ...flags]);
    if (!ok) return [`${file}: ${stderr}`];
    writeFileSync(join(directory, `${action}-${basename(file)}`), stdout);
    const resources = readResources(stdout);
    const found = [
      ...brokenPromises(resources, expected()),
      ...migrationFaults(resources, { deployables: deployableNames, action }),
      ...(await refusedSettings(resources, deployableNames)),
    ];
    faults.push(...found.map((fault) => `${file} (${action}): ${fault}`));
  }
  return faults;
}

function expected(): Expected {
  const page = readFileSync(join(root, 'docs/reference/config.md'), 'utf8');
  const required = page.split('\n').filter((line) => !line.startsWith('|') || line.includes('| **required** |'));
  return {
    settings: settingsByProcess(page),
    required: settingsByProcess(required.join('\n')),
    versions: deployableVersions(root),
    deployables: deployableNames,
  };
}

/** Returns a sentence for each wrong value that is accepted, or refused without its field. */
function acceptedWrongly(helm: Tool): string[] {
  return refusals.flatMap(([wrong, refusal]) => {
    const { ok, stderr } = helm.run(['template', ...small, '--set', wrong]);
    if (ok) return [`${wrong}: is accepted`];
    return refusal.test(stderr) ? [] : [`${wrong}: is refused by "${stderr.trim()}", which should match ${refusal}`];
  });
}

/** Returns a sentence for each Job that is there although its value switches it off. */
function notSwitchedOff(helm: Tool): string[] {
  const off = 'provision.enabled=false,migrations.enabled=false';
  const { ok, stdout, stderr } = helm.run(['template', ...small, '--set', off]);
  if (!ok) return [`${off}: ${stderr}`];
  const jobs = readResources(stdout).filter(({ kind }) => kind === 'Job');
  return jobs.map(({ metadata }) => `${metadata.name}: is there with ${off}`);
}

/** Returns what kubeconform says of rendered resources that the API of Kubernetes would refuse. */
function invalidResources(directory: string): string[] {
  const kubeconform = findTool(wantedKubeconform, programs, go);
  if (!kubeconform || !go) {
    console.log(
      `chart: not validated against Kubernetes' API, because ${kubeconform ? 'Go' : 'kubeconform'} is not there`,
    );
    return [];
  }
  const schemas = join(root, '.platform/kubernetes-schemas');
  mkdirSync(schemas, { recursive: true });
  const locations = [writeKubernetesSchemas(schemas, go)];
  const custom = options['crd-schemas'];
  if (custom) locations.push(join(custom, '{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json'));
  const { ok, stdout, stderr } = kubeconform.run([
    '-summary',
    ...locations.flatMap((location) => ['-schema-location', location]),
    ...(custom ? [] : ['-skip', customResources.join(',')]),
    directory,
  ]);
  if (!ok) return [`${stdout}${stderr}`];
  console.log(`chart: valid for Kubernetes ${kubernetesVersion}: ${stdout.trim()}`);
  if (!custom) console.log(`chart: ${customResources.join(', ')} not validated: --crd-schemas=<folder> does it`);
  return [];
}
