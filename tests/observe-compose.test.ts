import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findPrometheus } from './prometheus.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const [main, observe] = [read('docker-compose.yml'), read('docker-compose.observe.yml')];

/** Returns the services' blocks of a Compose file by name. */
function blocksOf(compose: string): Map<string, string> {
  const services = compose.slice(compose.indexOf('\nservices:\n'), compose.indexOf('\nvolumes:\n'));
  const blocks = services.split(/\n {2}(?=[a-z]+:)/).slice(1);
  return new Map(blocks.map((block) => [block.slice(0, block.indexOf(':')), block]));
}

/** Returns the first list of networks in a text, such as a service's block. */
function networksOf(text: string): string[] {
  const [, names = ''] = /\n +networks: \[([^[\]\n]+)\]/.exec(text) ?? [];
  return names.split(', ');
}

const platform = blocksOf(main);
const watched = [...blocksOf(observe)].filter(([name]) => platform.has(name));
const watchers = [...blocksOf(observe)].filter(([name]) => !platform.has(name));

describe('docker-compose.observe.yml', () => {
  it("sends every process's metrics to the collector", () => {
    const processes = [...platform].filter(([, block]) => block.includes('<<: *environment')).map(([name]) => name);
    expect(watched.map(([name]) => name)).toEqual(processes);
    for (const [, block] of watched) expect(block).toMatch(/\*(?:observed|to-collector)\b/);
    expect(observe).toContain('OTEL_EXPORTER_OTLP_ENDPOINT: http://collector:4318\n');
    expect(read('deploy/observe/collector.yml')).toContain("http: { endpoint: '0.0.0.0:4318' }");
  });

  it('has the collector in the network of every process', () => {
    expect(networksOf(blocksOf(observe).get('collector')!)).toContain('services');
    expect(networksOf(main.slice(main.indexOf('\nx-process:')))).toContain('services');
    expect(platform.get('gateway')).toContain('\n      services:\n');
  });

  it('connects no watcher to networks of servers, control plane or outside, and no process to networks of watchers', () => {
    const theirs = watchers.flatMap(([, block]) => networksOf(block));
    expect([...new Set(theirs)].sort()).toEqual(['observe', 'operators', 'services']);
    expect(watched.filter(([, block]) => block.includes('networks:'))).toEqual([]);
    expect(observe).toContain('\n  observe: { internal: true }\n');
  });

  it('publishes ports only on this machine', () => {
    const ports = watchers.flatMap(([, block]) => /ports: \['([^']+)'\]/.exec(block)?.[1] ?? []);
    expect(ports).toHaveLength(3);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(observe.split('ports:')).toHaveLength(ports.length + 1);
  });

  it('hardens every container as docker-compose.yml does, limits its memory, and pins its image', () => {
    const hardened = /\nx-hardened: &hardened\n((?: {2}.+\n)+)/;
    expect(hardened.exec(observe)![1]).toContain(hardened.exec(main)![1]);
    expect(watchers.map(([name]) => name)).toEqual(['collector', 'jaeger', 'prometheus', 'grafana']);
    for (const [, block] of watchers) {
      for (const part of ['<<: *hardened\n', '\n    mem_limit: ', '\n    user: ']) expect(block).toContain(part);
      expect(block).toMatch(/\n {4}image: \S+:v?\d+\.\d+\.\d+\n/);
      expect(block).not.toContain("user: '0");
    }
  });

  it('mounts existing files', () => {
    const mounted = [...observe.matchAll(/\.\/deploy\/observe\/([\w.-]+):/g)].map(([, path]) => path!);
    const found = ['collector.yml', 'dashboards', 'grafana', 'jaeger.yml', 'prometheus.yml'];
    expect(readdirSync(join(root, 'deploy/observe'))).toEqual(expect.arrayContaining(found));
    expect([...new Set(mounted)].sort()).toEqual([...found, 'alerts'].sort());
  });
});

const promtool = await findPrometheus('promtool');
(promtool ? it : it.skip)('Prometheus accepts prometheus.yml', () => {
  const { command, env } = promtool!;
  const file = join(root, 'deploy/observe/prometheus.yml');
  const { status, stdout } = spawnSync(command, ['check', 'config', file], { env, encoding: 'utf8', timeout: 20_000 });
  expect([status, stdout]).toEqual([0, expect.stringContaining('is valid prometheus config file syntax')]);
});
