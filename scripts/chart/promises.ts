import { allows, type Policy, policiesOf, reachOf } from './network.ts';
import { type Container, type Pods, podsOf, type Resource } from './rendered.ts';

/** The repository's own facts, against which a rendered chart is held. */
export interface Expected {
  /** Names of settings by process, and of `every process`. */
  settings: Record<string, string[]>;
  /** Settings without which a process does not start, in the same form. */
  required: Record<string, string[]>;
  /** Versions by deployable, `provision` included. */
  versions: Record<string, string>;
  /** Deployables, the gateway first. */
  deployables: string[];
}

/** Returns a sentence for each promise of the chart that its rendered resources break. */
export function brokenPromises(resources: Resource[], expected: Expected): string[] {
  const pods = podsOf(resources);
  const policies = policiesOf(resources);
  return [
    ...missingDeployables(pods, expected),
    ...pods.flatMap((each) => settingFaults(each, expected)),
    ...secretFaults(resources),
    ...pods.flatMap((each) => versionFaults(each, expected)),
    ...pods.flatMap(hardeningFaults),
    ...pods.flatMap(graceFaults),
    ...networkFaults(pods, policies, expected),
    ...controlPlaneFaults(resources),
    ...connectionFaults(resources),
  ];
}

function missingDeployables(pods: Pods[], { deployables }: Expected): string[] {
  const found = new Set(pods.filter(({ kind }) => kind === 'Deployment').map(({ component }) => component));
  return deployables.filter((name) => !found.has(name)).map((name) => `${name}: has no Deployment`);
}

/** Variables that are no settings: Node's and malloc's own, and passwords that URLs are composed of. */
const notSettings =
  /^(?:NODE_OPTIONS|NODE_EXTRA_CA_CERTS|MALLOC_ARENA_MAX|REDIS_PASSWORD|(?:ROLE|NATS)_PASSWORD_[A-Z]+)$/;

function settingFaults({ name: pods, program, spec }: Pods, { settings, required, deployables }: Expected): string[] {
  if (!deployables.includes(program)) return [];
  const of = (lists: Record<string, string[]>) => [...(lists['every process'] ?? []), ...(lists[program] ?? [])];
  const known = new Set(of(settings));
  const names = spec.containers.flatMap(variablesOf).map(({ name }) => name);
  return [
    ...names
      .filter((name) => !known.has(name) && !notSettings.test(name))
      .map((name) => `${pods}: ${name} is no setting of docs/reference/config.md`),
    ...of(required)
      .filter((name) => !names.includes(name))
      .map((name) => `${pods}: the required setting ${name} is missing`),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${pods}: ${name} is set twice`),
  ];
}

const secretName = /PASSWORD|SECRET|TOKEN|_KEY$|^REDISCLI_AUTH$/;
/** Password in a URL that is not the value of another variable. */
const passwordInUrl = /:\/\/[^/@\s:]*:(?!\$\([A-Z_]+\)@)[^/@\s]+@/;

function secretFaults(resources: Resource[]): string[] {
  const kinds = resources.filter(({ kind }) => kind === 'Secret');
  const variables = podsOf(resources).flatMap(({ component, spec }) =>
    spec.containers.flatMap((container) => variablesOf(container).map((variable) => ({ component, ...variable }))),
  );
  return [
    ...kinds.map(({ metadata }) => `${metadata.name}: a Secret is rendered; the chart only refers to Secrets`),
    ...variables
      .filter(({ name, value }) => value !== undefined && (secretName.test(name) || passwordInUrl.test(value)))
      .map(({ component, name }) => `${component}: ${name} has a secret as its value`),
  ];
}

function versionFaults({ program, spec }: Pods, { versions }: Expected): string[] {
  const version = versions[program];
  return spec.containers
    .filter(({ image }) => version !== undefined && !image.endsWith(`/${program}:${version}`))
    .map(({ image }) => `${program}: the image is ${image} and should be that of ${version}`);
}

function hardeningFaults({ component, spec }: Pods): string[] {
  const { securityContext: pod = {} } = spec;
  const faults: [boolean, string][] = [
    [spec.automountServiceAccountToken !== false, 'mounts a token'],
    [spec.enableServiceLinks !== false, 'gets variables from Services'],
    [pod.runAsNonRoot !== true || !pod.runAsUser, 'may run as root'],
    [pod.seccompProfile?.type !== 'RuntimeDefault', 'has not the seccomp profile RuntimeDefault'],
    ...spec.containers.flatMap(({ securityContext: own = {} }): [boolean, string][] => [
      [own.readOnlyRootFilesystem !== true, 'may write to its root file system'],
      [own.allowPrivilegeEscalation !== false, 'may gain privileges'],
      [JSON.stringify(own.capabilities) !== '{"drop":["ALL"]}', 'keeps capabilities'],
    ]),
  ];
  return faults.filter(([isFault]) => isFault).map(([, text]) => `${component}: ${text}`);
}

/** Time in which consumers, jobs and connections end after both drains. */
const afterDrainSeconds = 15;

function graceFaults({ component, kind, spec }: Pods): string[] {
  const variables = spec.containers.flatMap(variablesOf);
  const seconds = (name: string) => Number(variables.find((variable) => variable.name === name)?.value);
  const needed = seconds('DRAIN_DELAY_SECONDS') + seconds('DRAIN_SECONDS') + afterDrainSeconds;
  // A Job, or Redis, does not drain.
  if (kind === 'Job' || Number.isNaN(needed) || (spec.terminationGracePeriodSeconds ?? 30) >= needed) return [];
  return [`${component}: is killed after ${spec.terminationGracePeriodSeconds} s, but may drain for ${needed} s`];
}

const [httpPort, controlPort, redisPort] = [8080, 8081, 6379];
/** Ports of our pods, and of metrics, databases and the bus. */
const ports = [httpPort, controlPort, redisPort, 4222, 5432, 9464];

function networkFaults(pods: Pods[], policies: Policy[], { deployables }: Expected): string[] {
  const services = deployables.filter((name) => name !== 'gateway');
  const isMeant = (port: number, from: string, to: string) =>
    (from === 'gateway' && ((port === httpPort && services.includes(to)) || (port === redisPort && to === 'redis'))) ||
    (from === 'proxy' && port === httpPort && to === 'gateway');
  const pairs = pods.flatMap((from) => pods.filter((to) => to !== from).map((to) => ({ from, to })));
  const between = pairs.flatMap(({ from, to }) =>
    ports.flatMap((port) => {
      const meant = isMeant(port, from.component, to.component);
      if (allows(policies, { from: from.labels, to: to.labels, port }) === meant) return [];
      return [`${from.component} ${meant ? 'cannot' : 'can'} reach port ${port} of ${to.component}`];
    }),
  );
  // Where there is a proxy, clients reach that alone.
  const publicPods = pods.some(({ component }) => component === 'proxy') ? 'proxy' : 'gateway';
  return [...between, ...pods.flatMap((each) => elsewhereFaults(each, policies, publicPods))];
}

const outbound = ['agents', 'messaging', 'webhooks'];
const mustExcept = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];

/** Faults of what pods reach, and are reached by, outside of this release. */
function elsewhereFaults({ component, labels }: Pods, policies: Policy[], publicPods: string): string[] {
  const faults: string[] = [];
  const service = reachOf(policies, 'Ingress', labels, httpPort);
  const foreign = service.peers.some(({ ipBlock, namespaceSelector }) => ipBlock ?? namespaceSelector);
  if (component !== publicPods && (service.everybody || foreign)) faults.push(`${component}: others reach its port`);
  if (reachOf(policies, 'Ingress', labels, controlPort).everybody)
    faults.push(`${component}: everybody reaches port 8081`);
  const web = reachOf(policies, 'Egress', labels, 443);
  const isOutbound = outbound.includes(component);
  if (web.everybody) faults.push(`${component}: reaches every address`);
  const open = web.peers.filter(({ ipBlock }) => ipBlock?.cidr.endsWith('/0'));
  if (open.length > 0 !== isOutbound) faults.push(`${component}: ${isOutbound ? 'cannot' : 'can'} reach the internet`);
  for (const range of mustExcept) {
    const reaches = open.some(({ ipBlock }) => ipBlock!.cidr === '0.0.0.0/0' && !ipBlock!.except?.includes(range));
    if (reaches) faults.push(`${component}: reaches ${range}`);
  }
  return faults;
}

function controlPlaneFaults(resources: Resource[]): string[] {
  return resources.flatMap(({ kind, metadata, spec }) => {
    const text = JSON.stringify(spec ?? {});
    if (kind === 'Ingress' && /control|8081/.test(text))
      return [`${metadata.name}: the Ingress leads to the control plane`];
    const isControl = kind === 'Service' && /"(?:control|8081)"|8081/.test(text);
    if (!isControl) return [];
    const { type, ports } = spec as { type: string; ports: unknown[] };
    return type === 'ClusterIP' && ports.length === 1
      ? []
      : [`${metadata.name}: the control plane's Service is ${type}`];
  });
}

/** Most connections of a process: DATABASE_POOL's default and a few more; customer data has 16 for jobs whose statements take long. */
const connectionsOf = (name: string) => 16 + 4 + (name.endsWith('-cdp') ? 16 : 0);

/** Faults of a database cluster that admits fewer connections than the processes may hold while all are replaced. */
function connectionFaults(resources: Resource[]): string[] {
  const cluster = resources.find(({ kind }) => kind === 'Cluster')?.spec as
    | { postgresql: { parameters: { max_connections?: string } } }
    | undefined;
  if (cluster === undefined) return [];
  const most = new Map<string, number>();
  for (const { kind, metadata, spec } of resources) {
    const { replicas, maxReplicas } = (spec ?? {}) as { replicas?: number; maxReplicas?: number };
    if (kind === 'Deployment' && replicas !== undefined) most.set(metadata.name, replicas);
    if (kind === 'HorizontalPodAutoscaler') most.set(metadata.name, maxReplicas!);
  }
  // One more of each runs while it is replaced.
  const ours = [...most].filter(([name]) => !/-(?:redis|proxy)$/.test(name));
  const processes = ours.reduce((sum, [, count]) => sum + count + 1, 0);
  const admitted = Number(cluster.postgresql.parameters.max_connections);
  const needed = ours.reduce((sum, [name, count]) => sum + (count + 1) * connectionsOf(name), 0);
  return admitted >= needed
    ? []
    : [`the database admits ${admitted} connections; ${processes} processes may hold ${needed}`];
}

function variablesOf({ env = [] }: Container) {
  return env;
}
