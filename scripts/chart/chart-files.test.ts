import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { deployableNames } from '../deployables.ts';
import { chartFiles, chartFolder } from './chart-files.ts';
import { schemasOf } from './kubernetes-schemas.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

it('the chart and its schema have a block for exactly each deployable', () => {
  const { deployables } = parse(read(`${chartFolder}/values.yaml`)) as { deployables: object };
  const schema = JSON.parse(read(`${chartFolder}/values.schema.json`)) as {
    properties: { deployables: { required: string[]; properties: object } };
  };
  const allowed = schema.properties.deployables;
  const names = [...deployableNames].sort();
  expect(Object.keys(deployables).sort()).toEqual(names);
  expect(Object.keys(allowed.properties).sort()).toEqual(names);
  expect([...allowed.required].sort()).toEqual(names);
});

it("the values for NATS give each process a user with its own permissions and the Secret's password", () => {
  const permissions = {
    gateway: { publish: ['{prefix}.event.gateway.>'], subscribe: ['_INBOX.gateway.>'] },
    crm: { publish: ['{prefix}.event.crm.>'], subscribe: ['_INBOX.crm.>'] },
  };
  const values = parse(chartFiles(root, permissions, {})['deploy/helm/values/nats.yaml']!) as {
    config: { merge: { authorization: { users: unknown[] } } };
    container: { env: Record<string, unknown> };
  };
  expect(values.config.merge.authorization.users).toEqual([
    expect.objectContaining({ user: 'gateway', password: '<< $NATS_PASSWORD_GATEWAY >>' }),
    {
      user: 'crm',
      password: '<< $NATS_PASSWORD_CRM >>',
      permissions: { publish: { allow: ['platform.event.crm.>'] }, subscribe: { allow: ['_INBOX.crm.>'] } },
    },
  ]);
  expect(values.container.env).toMatchObject({
    KEY_OF_CRM: { valueFrom: { secretKeyRef: { name: 'customer-platform', key: 'NATS_PASSWORD_CRM' } } },
    NATS_PASSWORD_CRM: '"$(KEY_OF_CRM)"',
  });
});

it('a Kubernetes schema rejects unknown fields, keeps a property named format, and contains its references', () => {
  const schemas = schemasOf({
    'v1.Thing': {
      'x-kubernetes-group-version-kind': [{ group: 'things.k8s.io', version: 'v1', kind: 'Thing' }],
      properties: { format: { type: 'string' }, port: { $ref: '#/definitions/v1.Port' } },
    },
    'v1.Port': { type: 'string', format: 'int-or-string' },
    'v1.Other': { type: 'object' },
  });
  expect([...schemas.keys()]).toEqual(['thing-things-v1.json']);
  expect(schemas.get('thing-things-v1.json')).toMatchObject({
    $ref: '#/definitions/v1.Thing',
    definitions: {
      'v1.Thing': { additionalProperties: false, properties: { format: { type: 'string' } } },
      'v1.Port': { type: ['integer', 'string'] },
    },
  });
});

it('the production values keep each event on every NATS server, and the small values on one', () => {
  const { config } = parse(read('deploy/helm/values/nats.yaml')) as {
    config: { cluster: { enabled: boolean; replicas: number } };
  };
  expect(config.cluster).toEqual({ enabled: true, replicas: 3 });
  const replicas = (file: string) =>
    (parse(read(`deploy/helm/values/${file}.yaml`)) as { config?: Record<string, string> }).config?.NATS_REPLICAS;
  expect(replicas('production')).toBe(String(config.cluster.replicas));
  expect(replicas('small')).toBeUndefined();
});
