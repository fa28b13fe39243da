import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { brokenPromises, environmentOf } from './promises.ts';
import { readResources } from './rendered.ts';

const settings = z.object({
  PORT: z.string().optional(),
  NATS_URL: z.string(),
  DRAIN_SECONDS: z.string().optional(),
  DRAIN_DELAY_SECONDS: z.string().optional(),
});
const expected = {
  configs: { gateway: settings.extend({ ADMIN_TOKEN: z.string().min(32).optional() }), crm: settings },
  versions: { gateway: '1.2.3', crm: '2.0.0' },
};

/** A pod that keeps every promise. Deployments and their migrations differ only in `more`. */
const pod = (component: string, program: string, version: string, more = '') => `
    metadata: { labels: { app.kubernetes.io/component: ${component} } }
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      restartPolicy: ${component === program ? 'Always' : 'Never'}
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: RuntimeDefault } }
      volumes: [{ name: trust, secret: { secretName: authority } }]
      containers:
        - name: ${program}
          image: x/${program}:${version}
          volumeMounts: [{ name: trust, mountPath: /trust }]
          env:
            - name: NATS_PASSWORD_${program.toUpperCase()}
              valueFrom: { secretKeyRef: { name: s, key: ${program} } }
            - { name: NATS_URL, value: 'nats://${program}:$(NATS_PASSWORD_${program.toUpperCase()})@nats:4222' }
            - { name: DRAIN_SECONDS, value: '10' }
            - { name: DRAIN_DELAY_SECONDS, value: '5' }
          securityContext:
            { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
${more}`;

const resource = (kind: string, name: string, rest: string) => `
apiVersion: v1
kind: ${kind}
metadata: { name: ${name} }
${rest}
`;
const deployment = (name: string, version: string) =>
  resource('Deployment', `p-${name}`, `spec:\n  replicas: 1\n  template:${pod(name, name, version)}`);

/** Jobs as hooks, or as ordinary Jobs next to the first processes. */
const job = (name: string, weight: number, template: string, isHook: boolean) => {
  const annotations = `helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-delete-policy: before-hook-creation`;
  const head = isHook ? `${name}, annotations: { helm.sh/hook-weight: '${weight}', ${annotations} }` : `${name}-first`;
  return resource('Job', head, `spec:\n  activeDeadlineSeconds: 60\n  backoffLimit: 4\n  template:${template}`);
};
const jobs = (isHook: boolean) => [
  job('p-provision', 0, pod('provision', 'provision', '1.0.0'), isHook),
  job('p-migrate-gateway', 5, pod('migration', 'gateway', '1.2.3', '          args: [migrate]\n'), isHook),
  job('p-migrate-crm', 5, pod('migration', 'crm', '2.0.0', '          args: [migrate]\n'), isHook),
];

const selector = (name: string) => `podSelector: { matchLabels: { app.kubernetes.io/component: ${name} } }`;
const policy = (name: string, spec: string) => resource('NetworkPolicy', name, `spec: { ${spec} }`);
const ingress = (name: string, rule: string) =>
  policy('more', `${selector(name)}, policyTypes: [Ingress], ingress: [{ ${rule} }]`);
const egress = (name: string, rule: string) =>
  policy('more', `${selector(name)}, policyTypes: [Egress], egress: [{ ${rule} }]`);

const processes = [
  deployment('gateway', '1.2.3'),
  deployment('crm', '2.0.0'),
  policy('deny', 'podSelector: {}, policyTypes: [Ingress, Egress]'),
  egress('gateway', `to: [{ ${selector('crm')} }], ports: [{ port: 8080 }]`),
  ingress('crm', `from: [{ ${selector('gateway')} }], ports: [{ port: 8080 }]`),
  resource('Service', 'p-crm', 'spec: { selector: { app.kubernetes.io/component: crm } }'),
  resource('Service', 'p-control-plane', 'spec: { type: ClusterIP, ports: [{ name: control, port: 8081 }] }'),
];
const cluster = `${[
  resource('Cluster', 'd', "spec: { postgresql: { parameters: { max_connections: '80' } } }"),
  policy('database', 'podSelector: { matchLabels: { cnpg.io/cluster: d } }, policyTypes: [Ingress], ingress: [{}]'),
  policy(
    'to-database',
    `podSelector: { matchExpressions: [{ key: app.kubernetes.io/component, operator: In, values: [gateway, crm, provision, migration] }] }
    policyTypes: [Egress]
    egress: [{ to: [{ podSelector: { matchLabels: { cnpg.io/cluster: d } } }], ports: [{ port: 5432 }] }]`.replaceAll(
      '\n',
      ',',
    ),
  ),
].join('---')}`;
/** A minimal chart that keeps every promise, with an external database. */
const kept = [...processes, ...jobs(true)].join('---');
/** The same for an installation that creates the database. */
const first = [...processes, ...jobs(false), cluster].join('---');

const broken = (text: string, action: 'install' | 'upgrade') =>
  brokenPromises(readResources(text), { ...expected, action }).join('\n');

it('a chart that keeps every promise has no faults', () => {
  expect(broken(kept, 'upgrade')).toBe('');
  expect(broken(kept, 'install')).toBe('');
  expect(broken(first, 'install')).toBe('');
});

type Change = [from: string, to: string, fault: string];

/** Replaces the first match from the resource of a name on, else anywhere. */
const changed = (text: string, name: string, [from, to]: Change) => {
  const start = Math.max(0, text.indexOf(`metadata: { name: ${name}`));
  return text.slice(0, start) + text.slice(start).replace(from, to);
};

it.each<Change>([
  ['component: crm', 'component: other', 'crm: has no Deployment'],
  ['name: DRAIN_SECONDS', 'name: DRAIN_SECOND', 'p-gateway: DRAIN_SECOND is not a setting'],
  ['name: NATS_URL', 'name: PORT', 'p-gateway: NATS_URL: Invalid input'],
  ['name: DRAIN_SECONDS', 'name: DRAIN_DELAY_SECONDS', 'p-gateway: DRAIN_DELAY_SECONDS is set twice'],
  ['$(NATS_PASSWORD_GATEWAY)', 'hunter2', 'gateway: NATS_URL has a secret as its value'],
  [
    "name: DRAIN_SECONDS, value: '10'",
    'name: ADMIN_TOKEN, value: abc',
    'gateway: ADMIN_TOKEN has a secret as its value',
  ],
  ['nats://gateway:$(NATS_PASSWORD_GATEWAY)@nats:4222', 'nats', 'p-gateway: nats is not a URL'],
  ['x/gateway:1.2.3', 'x/gateway:1.2.0', 'gateway: the image is x/gateway:1.2.0'],
  ['runAsUser: 1000', 'runAsUser: 0', 'gateway: may run as root'],
  ['drop: [ALL]', 'drop: [NET_RAW]', 'gateway: keeps capabilities'],
  ["value: '10'", "value: '60'", 'gateway: is killed after 30 s, but may drain for 80 s'],
  [`from: [{ ${selector('gateway')}`, `from: [{ ${selector('agents')}`, 'gateway cannot reach port 8080 of crm'],
  ['type: ClusterIP', 'type: LoadBalancer', "the control plane's Service is LoadBalancer"],
  [
    `selector: { app.kubernetes.io/component: crm`,
    'selector: { app.kubernetes.io/component: migration',
    'p-migrate-crm: gets requests',
  ],
])('a fault of processes is found: %s -> %s', (...change) => {
  expect(broken(changed(kept, '', change), 'upgrade')).toContain(change[2]);
});

it.each<[string, string, string]>([
  ['a Secret is rendered', resource('Secret', 'leak', ''), 'leak: a Secret is rendered'],
  ['a service reaches every address', egress('crm', ''), 'crm: can reach every address'],
  [
    'a service reaches the internet',
    egress('crm', 'to: [{ ipBlock: { cidr: 0.0.0.0/0 } }]'),
    'crm: can reach the internet',
  ],
  [
    'others reach a service',
    ingress('crm', 'from: [{ namespaceSelector: {} }]'),
    'crm: other peers can reach its port',
  ],
  ['the proxy cannot reach the gateway', deployment('proxy', '1'), 'proxy cannot reach port 8080 of gateway'],
  [
    'others reach the gateway past its proxy',
    `${deployment('proxy', '1')}---${ingress('gateway', 'ports: [{ port: 8080 }]')}`,
    'gateway: other peers can reach its port',
  ],
  [
    'the database admits too few',
    cluster.replace("'80'", "'79'"),
    'the database: admits 79 connections; processes may hold 80',
  ],
])('a fault is found: %s', (_, more, fault) => {
  expect(broken(`${kept}---${more}`, 'upgrade')).toContain(fault);
});

it.each<Change>([
  ['component: migration', 'component: other', 'crm: has 0 Jobs that migrate'],
  ['args: [migrate]', 'args: []', 'must have migrate as its only argument'],
  ['key: crm', 'key: cdp', "must have its Deployment's environment"],
  ['crm:2.0.0', 'crm:1.0.0', "must have its Deployment's image"],
  ['mountPath: /trust', 'mountPath: /other', "must have its Deployment's mounts"],
  ['secretName: authority', 'secretName: other', "must have its Deployment's volumes"],
  ['restartPolicy: Never', 'restartPolicy: Never\n      nodeSelector: { a: b }', "must have its Deployment's nodes"],
  ['pre-install,pre-upgrade', 'pre-upgrade', 'is not a hook before installations and updates'],
  ['before-hook-creation', 'hook-succeeded', 'is not removed before it is created again'],
  ["hook-weight: '5'", "hook-weight: '0'", 'runs before its role is created'],
  ['  activeDeadlineSeconds: 60\n', '', 'has no activeDeadlineSeconds'],
  ['  backoffLimit: 4\n', '', 'has no backoffLimit'],
  ['restartPolicy: Never', 'restartPolicy: OnFailure', 'loses the log of a failed attempt'],
])('a fault of a migration is found: %s -> %s', (...change) => {
  expect(broken(changed(kept, 'p-migrate-crm', change), 'upgrade')).toContain(change[2]);
});

it.each<Change>([
  ['-first', "-first, annotations: { helm.sh/hook: 'pre-install' }", 'is a hook that waits for the database'],
  ['-first', '', 'has the name of a hook but is not one'],
  [', migration]', ']', 'p-migrate-crm-first: cannot reach the database'],
])('a fault of a migration next to the first processes is found: %s -> %s', (...change) => {
  expect(broken(changed(first, 'p-migrate-crm', change), 'install')).toContain(change[2]);
});

it('only earlier variables are expanded, as in Kubernetes', () => {
  const variables = [
    { name: 'LATE', value: '$(EARLY)' },
    { name: 'EARLY', value: 'x' },
    { name: 'URL', value: 'a:$(EARLY)' },
  ];
  expect(environmentOf(variables)).toEqual({ LATE: '$(EARLY)', EARLY: 'x', URL: 'a:x' });
});
