import { expect, it } from '@jest/globals';
import { migrationFaults } from './migrations.ts';
import { readResources } from './rendered.ts';

const pod = (component: string, program: string, more: string) => `
    metadata: { labels: { app.kubernetes.io/component: ${component} } }
    spec:
      restartPolicy: ${component === 'crm' ? 'Always' : 'Never'}
      volumes: [{ name: trust, secret: { secretName: authority } }]
      containers:
        - name: ${program}
          image: x/${program}:2.0.0
          volumeMounts: [{ name: trust, mountPath: /trust }]
          env:
            - name: ROLE_PASSWORD
              valueFrom: { secretKeyRef: { name: s, key: ${program} } }
            - { name: DATABASE_URL, value: 'postgres://crm:$(ROLE_PASSWORD)@database/platform' }
${more}`;

const job = (name: string, head: string, template: string) => `
apiVersion: batch/v1
kind: Job
metadata: { name: ${name}${head} }
spec:
  activeDeadlineSeconds: 60
  backoffLimit: 4
  template:${template}`;

const hook = (weight: number) =>
  `, annotations: { helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-weight: '${weight}', helm.sh/hook-delete-policy: before-hook-creation }`;

const migration = pod('migration', 'crm', '          args: [migrate]\n');

const processes = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: p-crm }
spec:
  template:${pod('crm', 'crm', '')}
---
apiVersion: v1
kind: Service
metadata: { name: p-crm }
spec: { selector: { app.kubernetes.io/component: crm } }
`;

/** A chart in small for an update, or for a database of one's own. */
const hooks = [
  processes,
  job('p-provision', hook(0), pod('provision', 'provision', '')),
  job('p-migrate-crm', hook(5), migration),
].join('---');

/** The same for an installation that makes the database. */
const first = [
  processes,
  job('p-provision-first', '', pod('provision', 'provision', '')),
  job('p-migrate-crm-first', '', migration),
  `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: { name: database }
spec: {}
`,
  `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: deny }
spec:
  podSelector: {}
  policyTypes: [Egress]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: database }
spec:
  podSelector: { matchExpressions: [{ key: app.kubernetes.io/component, operator: In, values: [crm, provision, migration] }] }
  policyTypes: [Egress]
  egress: [{ to: [{ podSelector: { matchLabels: { cnpg.io/cluster: database } } }], ports: [{ port: 5432 }] }]
`,
].join('---');

const faults = (text: string, action: 'install' | 'upgrade') =>
  migrationFaults(readResources(text), { deployables: ['crm'], action });

it('migrations before an update, before an installation, and beside the first processes have no faults', () => {
  expect(faults(hooks, 'upgrade')).toEqual([]);
  expect(faults(hooks, 'install')).toEqual([]);
  expect(faults(first, 'install')).toEqual([]);
});

/** Replaces in the migration, which comes after the Deployment and `provision`. */
const inMigration = (from: string, to: string) => (text: string) => {
  const start = text.indexOf('metadata: { name: p-migrate-crm');
  return text.slice(0, start) + text.slice(start).replace(from, to);
};

it.each<[string, (text: string) => string, string]>([
  ['there is none', (text) => text.slice(0, text.lastIndexOf('---')), 'crm: has 0 Jobs that migrate'],
  ['it starts a process', inMigration('args: [migrate]', 'args: []'), 'has not the one argument migrate'],
  ['a setting differs', inMigration('database/platform', 'database/other'), "has not its Deployment's environment"],
  ['a secret differs', inMigration('key: crm', 'key: cdp'), "has not its Deployment's environment"],
  ['the image is older', inMigration('crm:2.0.0', 'crm:1.0.0'), 'has the image x/crm:1.0.0'],
  ['nothing is mounted', inMigration('mountPath: /trust', 'mountPath: /other'), 'certificates mounted'],
  [
    'it trusts others',
    inMigration('secretName: authority', 'secretName: other'),
    "has not its Deployment's certificates",
  ],
  [
    'it has other nodes',
    inMigration('restartPolicy: Never', 'restartPolicy: Never\n      nodeSelector: { a: b }'),
    "Deployment's nodes",
  ],
  [
    'it is no hook',
    inMigration('pre-install,pre-upgrade', 'pre-upgrade'),
    'is no hook before installations and updates',
  ],
  ['it stays', inMigration('before-hook-creation', 'hook-succeeded'), 'is not removed before it is made again'],
  ['it comes before roles', inMigration("hook-weight: '5'", "hook-weight: '0'"), 'runs before p-provision'],
  ['it may run for ever', inMigration('  activeDeadlineSeconds: 60\n', ''), 'has no activeDeadlineSeconds'],
  ['its tries have no bound but the standard', inMigration('  backoffLimit: 4\n', ''), 'has no backoffLimit'],
  [
    'its log goes',
    inMigration('restartPolicy: Never', 'restartPolicy: OnFailure'),
    'loses the log of a try that failed',
  ],
  [
    'it gets requests',
    (text) =>
      text.replace(
        'selector: { app.kubernetes.io/component: crm',
        'selector: { app.kubernetes.io/component: migration',
      ),
    'the Service p-crm sends requests to it',
  ],
])('a fault of a hook is found: %s', (_, breakIt, fault) => {
  const text = breakIt(hooks);
  expect(text).not.toBe(hooks);
  expect(faults(text, 'upgrade').join('\n')).toContain(fault);
});

it.each<[string, (text: string) => string, string]>([
  [
    'it would wait for the database that is made after it',
    inMigration('-first', "-first, annotations: { helm.sh/hook: 'pre-install' }"),
    'is a hook that would wait',
  ],
  ['a hook has its name', inMigration('-first', ''), 'has a name without -first'],
  [
    'it cannot reach the database',
    (text) => text.replace(', migration]', ']'),
    'p-migrate-crm-first: cannot reach the database',
  ],
])('a fault of a migration beside the first processes is found: %s', (_, breakIt, fault) => {
  const text = breakIt(first);
  expect(text).not.toBe(first);
  expect(faults(text, 'install').join('\n')).toContain(fault);
});
