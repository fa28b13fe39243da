import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { allows, type Policy, policiesOf, reachOf, selects } from './network.ts';
import { type Pods, podsOf, type Resource, type Variable } from './rendered.ts';

/** Facts of the repository that a rendered chart must match. */
export interface Expected {
  /** Schemas that parse a deployable's settings at its start, by deployable. */
  configs: Record<string, z.ZodObject>;
  /** Versions by deployable, `provision` included. */
  versions: Record<string, string>;
  action: 'install' | 'upgrade';
}

interface Chart extends Expected {
  resources: Resource[];
  pods: Pods[];
  policies: Policy[];
}

/** Checks. Each returns a sentence for each fault of a rendered chart. */
const promises: ((chart: Chart) => string[])[] = [
  deployableFaults,
  jobFaults,
  ({ pods, configs }) => pods.flatMap((each) => settingFaults(each, configs[each.container.name])),
  secretFaults,
  ({ pods, versions }) => pods.flatMap((each) => versionFaults(each, versions[each.container.name])),
  ({ pods }) => pods.flatMap(hardeningFaults),
  ({ pods }) => pods.flatMap(graceFaults),
  networkFaults,
  controlPlaneFaults,
  databaseFaults,
];

/** Returns a sentence for each promise of the chart that its rendered resources break. */
export function brokenPromises(resources: Resource[], expected: Expected): string[] {
  const chart = { ...expected, resources, pods: podsOf(resources), policies: policiesOf(resources) };
  return promises.flatMap((promise) => promise(chart));
}

/** Returns the faults whose value is true, as sentences about a resource. */
function faultsOf(name: string, faults: Record<string, boolean>): string[] {
  const found = Object.entries(faults).filter(([, isThere]) => isThere);
  return found.map(([fault]) => `${name}: ${fault}`);
}

/** Each deployable has a Deployment, and a Job that migrates its schema with the same image and settings. */
function deployableFaults({ pods, configs }: Chart): string[] {
  return Object.keys(configs).flatMap((name) => {
    const deployment = pods.find(({ kind, component }) => kind === 'Deployment' && component === name);
    const migrations = pods.filter(({ component, container }) => component === 'migration' && container.name === name);
    if (!deployment) return [`${name}: has no Deployment`];
    if (migrations.length !== 1) return [`${name}: has ${migrations.length} Jobs that migrate`];
    return migrationFaults(migrations[0]!, deployment);
  });
}

function migrationFaults(job: Pods, deployment: Pods): string[] {
  const { command, args } = job.container;
  const [own, theirs] = [sharedOf(job), sharedOf(deployment)];
  const parts = Object.keys(theirs) as (keyof typeof theirs)[];
  return faultsOf(job.name, {
    'must have migrate as its only argument': command !== undefined || !isDeepStrictEqual(args, ['migrate']),
    ...Object.fromEntries(
      parts.map((part) => [`must have its Deployment's ${part}`, !isDeepStrictEqual(own[part], theirs[part])]),
    ),
  });
}

/** Returns the parts that a migration shares with its Deployment. A migration does not need the volume of uploads. */
function sharedOf({ spec, container }: Pods) {
  const withoutUploads = (list: { name: string }[] = []) => list.filter(({ name }) => name !== 'uploads');
  return {
    image: container.image,
    environment: container.env,
    mounts: withoutUploads(container.volumeMounts),
    volumes: withoutUploads(spec.volumes),
    nodes: spec.nodeSelector,
    'secrets of images': spec.imagePullSecrets,
  };
}

/**
 * Jobs are hooks that run before pods are replaced, `provision` before the migrations. On installation the release's own database cluster
 * does not exist yet, so Jobs are not hooks and have other names. Helm's rollback would conflict with a hook of the same name.
 */
function jobFaults({ resources, pods, action }: Chart): string[] {
  const isHook = action === 'upgrade' || !resources.some(({ kind }) => kind === 'Cluster');
  const weightOf = ({ annotations }: Pods) => Number(annotations['helm.sh/hook-weight'] ?? 0);
  const jobs = pods.filter(({ kind }) => kind === 'Job');
  const provision = jobs.find(({ component }) => component === 'provision');
  const services = resources.filter(({ kind, spec }) => kind === 'Service' && spec?.selector !== undefined);
  return jobs.flatMap((job) => {
    const { name, annotations, labels, spec } = job;
    const isMigration = job.component === 'migration';
    const isSelected = ({ spec }: Resource) =>
      selects({ matchLabels: spec!.selector as Record<string, string> }, labels);
    return faultsOf(name, {
      'is not a hook before installations and updates':
        isHook && annotations['helm.sh/hook'] !== 'pre-install,pre-upgrade',
      'is not removed before it is created again':
        isHook && annotations['helm.sh/hook-delete-policy'] !== 'before-hook-creation',
      'runs before its role is created': isHook && isMigration && !!provision && weightOf(job) <= weightOf(provision),
      'is a hook that waits for the database, which is created after it': !isHook && 'helm.sh/hook' in annotations,
      'has the name of a hook but is not one, or the reverse': isHook === name.endsWith('-first'),
      'has no activeDeadlineSeconds': isMigration && !job.job.activeDeadlineSeconds,
      'has no backoffLimit': isMigration && job.job.backoffLimit === undefined,
      'loses the log of a failed attempt': isMigration && spec.restartPolicy !== 'Never',
      'gets requests of a Service': services.some(isSelected),
    });
  });
}

/** Variables that are not settings: Node's and malloc's own, and passwords for URLs. */
const notSettings =
  /^(?:NODE_OPTIONS|NODE_EXTRA_CA_CERTS|MALLOC_ARENA_MAX|REDIS_PASSWORD|(?:ROLE|NATS)_PASSWORD_[A-Z]+)$/;

/** Each process gets only settings that it knows, and all that it requires. */
function settingFaults({ name, container: { env = [] } }: Pods, config: z.ZodObject | undefined): string[] {
  if (!config) return [];
  const environment = environmentOf(env);
  const names = env.map((variable) => variable.name);
  const issues = config.safeParse(environment).error?.issues ?? [];
  const urls = ['DATABASE_URL', 'NATS_URL', 'REDIS_URL'].flatMap((each) => environment[each]?.split(',') ?? []);
  return [
    ...names
      .filter((each) => !(each in config.shape) && !notSettings.test(each))
      .map((each) => `${name}: ${each} is not a setting in docs/reference/config.md`),
    ...names.filter((each, index) => names.indexOf(each) !== index).map((each) => `${name}: ${each} is set twice`),
    ...issues.map(({ path, message }) => `${name}: ${path.join('.')}: ${message}`),
    ...urls.filter((url) => !URL.canParse(url) && url !== anySecret).map((url) => `${name}: ${url} is not a URL`),
  ];
}

/** Value for every key of a Secret: long enough for a token, and 32 bytes in base64. */
const anySecret = `${'A'.repeat(43)}=`;

/** Returns the variables as the container gets them. Kubernetes replaces $(NAME) by the value of an earlier variable. */
export function environmentOf(variables: Variable[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { name, value } of variables)
    environment[name] = value?.replaceAll(/\$\((\w+)\)/g, (text, of) => environment[of] ?? text) ?? anySecret;
  return environment;
}

const secretName = /PASSWORD|SECRET|TOKEN|_KEY$|^REDISCLI_AUTH$/;
/** Password in a URL that is not the value of another variable. */
const passwordInUrl = /:\/\/[^/@\s:]*:(?!\$\([A-Z_]+\)@)[^/@\s]+@/;

/** The chart only refers to secrets. */
function secretFaults({ resources, pods }: Chart): string[] {
  const secrets = resources.filter(({ kind }) => kind === 'Secret');
  const isOpen = ({ name, value }: Variable) =>
    value !== undefined && (secretName.test(name) || passwordInUrl.test(value));
  return [
    ...secrets.map(({ metadata }) => `${metadata.name}: a Secret is rendered; the chart only refers to Secrets`),
    ...pods.flatMap(({ component, container: { env = [] } }) =>
      env.filter(isOpen).map(({ name }) => `${component}: ${name} has a secret as its value`),
    ),
  ];
}

function versionFaults({ container: { name, image } }: Pods, version: string | undefined): string[] {
  return version === undefined || image.endsWith(`/${name}:${version}`)
    ? []
    : [`${name}: the image is ${image}; its version must be ${version}`];
}

function hardeningFaults({ component, spec, container }: Pods): string[] {
  const { securityContext: pod = {} } = spec;
  const { securityContext: own = {} } = container;
  return faultsOf(component, {
    'mounts a token': spec.automountServiceAccountToken !== false,
    'gets variables from Services': spec.enableServiceLinks !== false,
    'may run as root': !pod.runAsNonRoot || !pod.runAsUser,
    'must have the seccomp profile RuntimeDefault': pod.seccompProfile?.type !== 'RuntimeDefault',
    'may write to its root file system': !own.readOnlyRootFilesystem,
    'may gain privileges': own.allowPrivilegeEscalation !== false,
    'keeps capabilities': !isDeepStrictEqual(own.capabilities, { drop: ['ALL'] }),
  });
}

/** Time in which consumers, jobs and connections end after both drains. */
const afterDrainSeconds = 15;

/** Pods are killed only after they have drained. Jobs and Redis do not drain. */
function graceFaults({ component, kind, spec, container: { env = [] } }: Pods): string[] {
  const seconds = (name: string) => Number(env.find((variable) => variable.name === name)?.value);
  const needed = seconds('DRAIN_DELAY_SECONDS') + seconds('DRAIN_SECONDS') + afterDrainSeconds;
  const { terminationGracePeriodSeconds: grace = 30 } = spec;
  if (kind === 'Job' || Number.isNaN(needed) || grace >= needed) return [];
  return [`${component}: is killed after ${grace} s, but may drain for ${needed} s`];
}

const [httpPort, controlPort, redisPort] = [8080, 8081, 6379];
/** Ports of our pods, and of metrics, databases and the bus. */
const ports = [httpPort, controlPort, redisPort, 4222, 5432, 9464];

/** Pods reach each other only as the architecture says. Clients reach only the proxy, or the gateway without a proxy. */
function networkFaults({ pods, policies, configs }: Chart): string[] {
  const services = Object.keys(configs).filter((name) => name !== 'gateway');
  const isMeant = (port: number, from: string, to: string) =>
    (from === 'gateway' && ((port === httpPort && services.includes(to)) || (port === redisPort && to === 'redis'))) ||
    (from === 'proxy' && port === httpPort && to === 'gateway');
  const pairs = pods.flatMap((from) => pods.filter((to) => to !== from).map((to) => ({ from, to })));
  const between = pairs.flatMap(({ from, to }) =>
    ports.flatMap((port) => {
      const meant = isMeant(port, from.component, to.component);
      if (allows(policies, from.labels, to.labels, port) === meant) return [];
      return [`${from.component} ${meant ? 'cannot' : 'can'} reach port ${port} of ${to.component}`];
    }),
  );
  const publicPods = pods.some(({ component }) => component === 'proxy') ? 'proxy' : 'gateway';
  return [...between, ...pods.flatMap((each) => elsewhereFaults(each, policies, publicPods))];
}

const outbound = ['agents', 'messaging', 'webhooks'];
const mustExcept = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];

/** Faults in connections between pods and peers outside this release. */
function elsewhereFaults({ component, labels }: Pods, policies: Policy[], publicPods: string): string[] {
  const service = reachOf(policies, 'Ingress', labels, httpPort);
  const web = reachOf(policies, 'Egress', labels, 443);
  const open = web.peers.flatMap(({ ipBlock }) => (ipBlock?.cidr.endsWith('/0') ? [ipBlock] : []));
  const isOutbound = outbound.includes(component);
  const reaches = (range: string) => open.some(({ cidr, except }) => cidr === '0.0.0.0/0' && !except?.includes(range));
  return faultsOf(component, {
    'other peers can reach its port':
      component !== publicPods &&
      (service.everybody || service.peers.some(({ ipBlock, namespaceSelector }) => ipBlock ?? namespaceSelector)),
    'all peers can reach port 8081': reachOf(policies, 'Ingress', labels, controlPort).everybody,
    'can reach every address': web.everybody,
    'can reach the internet': open.length > 0 && !isOutbound,
    'cannot reach the internet': open.length === 0 && isOutbound,
    ...Object.fromEntries(mustExcept.map((range) => [`can reach ${range}`, reaches(range)])),
  });
}

/** The control plane is reachable only inside the cluster. */
function controlPlaneFaults({ resources }: Chart): string[] {
  return resources.flatMap(({ kind, metadata: { name }, spec = {} }) => {
    const isControl = /"control"|8081/.test(JSON.stringify(spec));
    const { type, ports } = spec as { type?: string; ports?: unknown[] };
    return faultsOf(name, {
      'the Ingress leads to the control plane': kind === 'Ingress' && /control|8081/.test(JSON.stringify(spec)),
      [`the control plane's Service is ${type}`]: kind === 'Service' && isControl && type !== 'ClusterIP',
      "the Service must have no port besides the control plane's":
        kind === 'Service' && isControl && ports?.length !== 1,
    });
  });
}

/** Maximum connections of a process: DATABASE_POOL's default plus 4. cdp has 16 more for jobs with long queries. */
const connectionsOf = (name: string) => 16 + 4 + (name.endsWith('-cdp') ? 16 : 0);

/** All pods except Redis and the proxy reach the release's database cluster, which admits all connections while all processes are replaced. */
function databaseFaults({ resources, pods, policies }: Chart): string[] {
  const cluster = resources.find(({ kind }) => kind === 'Cluster');
  if (cluster === undefined) return [];
  const to = { 'cnpg.io/cluster': cluster.metadata.name };
  const clients = pods.filter(({ component }) => component !== 'redis' && component !== 'proxy');
  const cutOff = clients.filter(({ labels }) => !allows(policies, labels, to, 5432));
  const { postgresql } = cluster.spec as { postgresql: { parameters: { max_connections?: string } } };
  const admitted = Number(postgresql.parameters.max_connections);
  // One more process of each runs during a replacement.
  const needed = [...mostProcesses(resources)].reduce((sum, [name, most]) => sum + (most + 1) * connectionsOf(name), 0);
  return [
    ...cutOff.map(({ name }) => `${name}: cannot reach the database`),
    ...faultsOf('the database', {
      [`admits ${admitted} connections; processes may hold ${needed}`]: admitted < needed,
    }),
  ];
}

/** Returns the maximum number of processes of each Deployment that connects to the database. */
function mostProcesses(resources: Resource[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const { kind, metadata, spec } of resources) {
    const { replicas, maxReplicas } = (spec ?? {}) as { replicas?: number; maxReplicas?: number };
    const count = kind === 'HorizontalPodAutoscaler' ? maxReplicas : replicas;
    if (count !== undefined && !/-(?:redis|proxy)$/.test(metadata.name)) most.set(metadata.name, count);
  }
  return most;
}
