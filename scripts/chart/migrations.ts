import { allows, type Policy, policiesOf, selects } from './network.ts';
import { type Pods, podsOf, type Resource } from './rendered.ts';

/** app.kubernetes.io/component of the Jobs that migrate. */
const component = 'migration';

/** Helm's order of hooks, and when it removes those of before. */
const annotation = {
  hook: 'helm.sh/hook',
  weight: 'helm.sh/hook-weight',
  deletion: 'helm.sh/hook-delete-policy',
};

/** Names of Jobs that are not hooks end with it: a hook of that name would be there when Helm rolls back to the installation. */
const firstJob = '-first';

/**
 * Returns a sentence for each fault of the Jobs that bring the schemas up to date: each deployable has one, which runs what its Deployment
 * runs, with the same settings, after `provision` and before anything is replaced.
 */
export function migrationFaults(
  resources: Resource[],
  { deployables, action }: { deployables: string[]; action: 'install' | 'upgrade' },
): string[] {
  const pods = podsOf(resources);
  const jobs = pods.filter((each) => each.component === component);
  // On installation the cluster that the release makes is not there before it.
  const isHook = action === 'upgrade' || !resources.some(({ kind }) => kind === 'Cluster');
  const policies = policiesOf(resources);
  return [
    ...deployables.flatMap((name) => {
      const own = jobs.filter(({ program }) => program === name);
      if (own.length !== 1) return [`${name}: has ${own.length} Jobs that migrate`];
      const deployment = pods.find(({ kind, program }) => kind === 'Deployment' && program === name);
      return deployment ? differences(own[0]!, deployment) : [];
    }),
    ...orderFaults(resources, isHook),
    ...jobs.flatMap((job) => [...endFaults(job), ...serviceFaults(job, resources)]),
    ...databaseFaults(resources, policies),
  ];
}

/** Returns the faults of a migration that is not its deployable with the argument `migrate`. */
function differences(job: Pods, deployment: Pods): string[] {
  const [own, theirs] = [job.spec.containers[0]!, deployment.spec.containers[0]!];
  const mounts = (theirs.volumeMounts ?? []).filter(({ name }) => name !== 'uploads');
  const volumes = (deployment.spec.volumes ?? []).filter(({ name }) => name !== 'uploads');
  const faults: [boolean, string][] = [
    [own.command !== undefined || !isSame(own.args, ['migrate']), 'has not the one argument migrate'],
    [!isSame(own.env, theirs.env), "has not its Deployment's environment"],
    [own.image !== theirs.image, `has the image ${own.image}, and its Deployment ${theirs.image}`],
    [!isSame(own.volumeMounts ?? [], mounts), "has not its Deployment's certificates mounted"],
    [!isSame(job.spec.volumes ?? [], volumes), "has not its Deployment's certificates"],
    [!isSame(job.spec.nodeSelector, deployment.spec.nodeSelector), "does not run on its Deployment's nodes"],
    [
      !isSame(job.spec.imagePullSecrets, deployment.spec.imagePullSecrets),
      'cannot pull the image as its Deployment can',
    ],
  ];
  return faults.filter(([isFault]) => isFault).map(([, text]) => `${job.name}: ${text}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the faults of when Helm runs `provision` and the migrations. */
function orderFaults(resources: Resource[], isHook: boolean): string[] {
  const jobs = resources.filter(({ kind }) => kind === 'Job');
  const weight = ({ metadata }: Resource) => Number(metadata.annotations?.[annotation.weight] ?? 0);
  const provision = jobs.find((job) => !isMigration(job));
  return jobs.flatMap((job) => {
    const { name, annotations = {} } = job.metadata;
    const faults: [boolean, string][] = isHook
      ? [
          [annotations[annotation.hook] !== 'pre-install,pre-upgrade', 'is no hook before installations and updates'],
          [annotations[annotation.deletion] !== 'before-hook-creation', 'is not removed before it is made again'],
          [
            isMigration(job) && provision !== undefined && weight(job) <= weight(provision),
            `runs before ${provision?.metadata.name} has created its role`,
          ],
          [name.endsWith(firstJob), `is a hook with the name of an ordinary Job`],
        ]
      : [
          [annotation.hook in annotations, 'is a hook that would wait for the database that is made after it'],
          [!name.endsWith(firstJob), `has a name without ${firstJob}, which a hook of an update has too`],
        ];
    return faults.filter(([isFault]) => isFault).map(([, text]) => `${name}: ${text}`);
  });
}

function isMigration({ spec }: Resource): boolean {
  const { metadata } = spec!.template as { metadata: { labels: Record<string, string> } };
  return metadata.labels['app.kubernetes.io/component'] === component;
}

/** Returns the faults of a Job that may try for ever, or takes the log of a failed try with it. */
function endFaults({ name, spec, job }: Pods): string[] {
  const faults: [boolean, string][] = [
    [!job?.activeDeadlineSeconds, 'has no activeDeadlineSeconds'],
    [job?.backoffLimit === undefined, 'has no backoffLimit'],
    [spec.restartPolicy !== 'Never', 'loses the log of a try that failed'],
  ];
  return faults.filter(([isFault]) => isFault).map(([, text]) => `${name}: ${text}`);
}

/** Returns a sentence for each Service that would send requests to a Job, which does not take any. */
function serviceFaults({ name, labels }: Pods, resources: Resource[]): string[] {
  return resources
    .filter(({ kind, spec }) => kind === 'Service' && spec?.selector !== undefined)
    .filter(({ spec }) => selects({ matchLabels: spec!.selector as Record<string, string> }, labels))
    .map(({ metadata }) => `${name}: the Service ${metadata.name} sends requests to it`);
}

/** Returns a sentence for each of our pods, all of which but Redis need it, that cannot reach the database of this release. */
function databaseFaults(resources: Resource[], policies: Policy[]): string[] {
  const cluster = resources.find(({ kind }) => kind === 'Cluster');
  if (cluster === undefined) return [];
  const to = { 'cnpg.io/cluster': cluster.metadata.name };
  return podsOf(resources)
    .filter(({ program }) => program !== 'redis')
    .filter(({ labels }) => !allows(policies, { from: labels, to, port: 5432 }))
    .map(({ name }) => `${name}: cannot reach the database`);
}
