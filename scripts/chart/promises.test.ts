import { expect, it } from '@jest/globals';
import { environmentOf } from './environments.ts';
import { brokenPromises, type Expected } from './promises.ts';
import { readResources } from './rendered.ts';

const expected: Expected = {
  settings: { 'every process': ['PORT', 'NATS_URL', 'DRAIN_SECONDS', 'DRAIN_DELAY_SECONDS'], gateway: ['ADMIN_TOKEN'] },
  required: { 'every process': ['NATS_URL'] },
  versions: { gateway: '1.2.3', crm: '2.0.0' },
  deployables: ['gateway', 'crm'],
};

const deployment = (name: string, version: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: p-${name} }
spec:
  replicas: 1
  template:
    metadata: { labels: { app.kubernetes.io/component: ${name} } }
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: ${name}
          image: x/${name}:${version}
          env:
            - name: NATS_PASSWORD_${name.toUpperCase()}
              valueFrom: { secretKeyRef: { name: s, key: k } }
            - { name: NATS_URL, value: 'nats://${name}:$(NATS_PASSWORD_${name.toUpperCase()})@nats:4222' }
            - { name: DRAIN_SECONDS, value: '10' }
            - { name: DRAIN_DELAY_SECONDS, value: '5' }
          securityContext:
            { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
`;

const component = (name: string) => `podSelector: { matchLabels: { app.kubernetes.io/component: ${name} } }`;
const policy = (name: string, spec: string) => `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name} }
spec: { ${spec} }
`;

/** A chart in small that keeps every promise. */
const kept = [
  deployment('gateway', '1.2.3'),
  deployment('crm', '2.0.0'),
  policy('deny', 'podSelector: {}, policyTypes: [Ingress, Egress]'),
  policy(
    'out',
    `${component('gateway')}, policyTypes: [Egress], egress: [{ to: [{ ${component('crm')} }], ports: [{ port: 8080 }] }]`,
  ),
  policy(
    'in',
    `${component('crm')}, policyTypes: [Ingress], ingress: [{ from: [{ ${component('gateway')} }], ports: [{ port: 8080 }] }]`,
  ),
  `
apiVersion: v1
kind: Service
metadata: { name: p-control-plane }
spec: { type: ClusterIP, ports: [{ name: control, port: 8081, targetPort: control }] }
`,
].join('---');

const broken = (text: string) => brokenPromises(readResources(text), expected);

it('a chart that keeps every promise has no faults', () => {
  expect(broken(kept)).toEqual([]);
});

it.each<[string, (text: string) => string, string]>([
  [
    'a deployable is missing',
    (text) => text.replaceAll('component: crm', 'component: other'),
    'crm: has no Deployment',
  ],
  [
    'a setting is misspelt',
    (text) => text.replace('name: DRAIN_SECONDS', 'name: DRAIN_SECOND'),
    'gateway: DRAIN_SECOND is no setting',
  ],
  [
    'a required setting is missing',
    (text) => text.replace('name: NATS_URL', 'name: PORT'),
    'gateway: the required setting NATS_URL is missing',
  ],
  [
    'a setting is set twice',
    (text) => text.replace('name: DRAIN_SECONDS', 'name: DRAIN_DELAY_SECONDS'),
    'gateway: DRAIN_DELAY_SECONDS is set twice',
  ],
  [
    'a URL has a password',
    (text) => text.replace('$(NATS_PASSWORD_CRM)', 'hunter2'),
    'crm: NATS_URL has a secret as its value',
  ],
  [
    'a token is a value',
    (text) => text.replace("name: DRAIN_SECONDS, value: '10'", 'name: ADMIN_TOKEN, value: abc'),
    'gateway: ADMIN_TOKEN has a secret as its value',
  ],
  [
    'a Secret is rendered',
    (text) => `${text}---\napiVersion: v1\nkind: Secret\nmetadata: { name: leak }\n`,
    'leak: a Secret is rendered',
  ],
  [
    'an image is of another version',
    (text) => text.replace('x/crm:2.0.0', 'x/crm:1.2.3'),
    'crm: the image is x/crm:1.2.3',
  ],
  ['a pod may run as root', (text) => text.replace('runAsUser: 1000', 'runAsUser: 0'), 'gateway: may run as root'],
  [
    'a container keeps capabilities',
    (text) => text.replace('drop: [ALL]', 'drop: [NET_RAW]'),
    'gateway: keeps capabilities',
  ],
  [
    'a pod is killed while it drains',
    (text) => text.replace("value: '10'", "value: '60'"),
    'gateway: is killed after 30 s, but may drain for 80 s',
  ],
  [
    'the gateway cannot reach a service',
    (text) =>
      text.replace(
        'from: [{ podSelector: { matchLabels: { app.kubernetes.io/component: gateway',
        'from: [{ podSelector: { matchLabels: { app.kubernetes.io/component: agents',
      ),
    'gateway cannot reach port 8080 of crm',
  ],
  [
    'a service reaches every address',
    (text) => `${text}---${policy('leak', `${component('crm')}, policyTypes: [Egress], egress: [{}]`)}`,
    'crm: reaches every address',
  ],
  [
    'others reach the gateway past its proxy',
    (text) =>
      `${text}---${deployment('proxy', '1.30')}---${policy('open', `${component('gateway')}, policyTypes: [Ingress], ingress: [{ ports: [{ port: 8080 }] }]`)}`,
    'gateway: others reach its port',
  ],
  [
    'the proxy cannot reach the gateway',
    (text) => `${text}---${deployment('proxy', '1.30')}`,
    'proxy cannot reach port 8080 of gateway',
  ],
  [
    'others reach a service',
    (text) =>
      `${text}---${policy('leak', `${component('crm')}, policyTypes: [Ingress], ingress: [{ from: [{ namespaceSelector: {} }] }]`)}`,
    'crm: others reach its port',
  ],
  [
    'a service reaches the internet',
    (text) =>
      `${text}---${policy('leak', `${component('crm')}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 0.0.0.0/0 } }] }]`)}`,
    'crm: can reach the internet',
  ],
  [
    'the control plane is public',
    (text) => text.replace('type: ClusterIP', 'type: LoadBalancer'),
    "the control plane's Service is LoadBalancer",
  ],
  [
    'the database admits too few',
    (text) =>
      `${text}---\napiVersion: x/v1\nkind: Cluster\nmetadata: { name: d }\nspec: { postgresql: { parameters: { max_connections: '79' } } }\n`,
    'the database admits 79 connections; 4 processes may hold 80',
  ],
])('a fault is found: %s', (_, breakIt, fault) => {
  const text = breakIt(kept);
  expect(text).not.toBe(kept);
  expect(broken(text).join('\n')).toContain(fault);
});

it('a variable contains earlier ones alone, as Kubernetes has it', () => {
  const variables = [
    { name: 'LATE', value: '$(EARLY)' },
    { name: 'EARLY', value: 'x' },
    { name: 'URL', value: 'a:$(EARLY)' },
  ];
  expect(environmentOf(variables)).toEqual({ LATE: '$(EARLY)', EARLY: 'x', URL: 'a:x' });
});
