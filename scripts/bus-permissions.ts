import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  announcementTopic,
  announceOperations,
  announcingServices,
  describeApi,
  describeProcess,
  type EventDefinition,
  type InternalRequest,
  isEvent,
  moveClock,
  operatorRequests,
  type ServiceName,
} from '@customer-platform/contracts/core';
import type { BusPermissions } from '@customer-platform/deploy/servers/nats-config';
import { streamOwner } from '@customer-platform/service-kit';
import ts from 'typescript';
import { deployableNames, folderOf } from './deployables.ts';
import { nodesOf } from './syntax.ts';

/** Consumer in a service's definition. */
interface Consumer {
  name: string;
  filter: { audience?: string; service?: string; kind?: string };
}

const root = join(import.meta.dirname, '..');
const scope = '@customer-platform/';
const names = deployableNames as ServiceName[];

/** Returns each service's permissions, from its definition and sources. `{prefix}` is BUS_PREFIX. Throws if no contract has a followed event. */
export async function busPermissions(): Promise<BusPermissions> {
  const { requests, events } = await declared();
  const uses = new Map<ServiceName, BusUse>();
  for (const name of names) uses.set(name, await busUseOf(name, requests, events));
  // The gateway sends requests that every service handles.
  const askersOf = (name: ServiceName) =>
    names.filter((asker) => asker === 'gateway' || uses.get(asker)!.asked.some(({ service }) => service === name));
  return Object.fromEntries([...uses].map(([name, use]) => [name, permissionsOf(name, use, askersOf(name))]));
}

type BusUse = Awaited<ReturnType<typeof busUseOf>>;

async function busUseOf(
  name: ServiceName,
  requests: ReadonlyMap<string, InternalRequest>,
  events: ReadonlyMap<string, EventDefinition>,
) {
  const module = (await import(`${scope}${name}`)) as Record<string, { consumers?: readonly Consumer[] }>;
  const sources = sourcesOf(name);
  // A service's own sources handle its own requests; a package sends any.
  const isAsked = (file: string) => (request: InternalRequest) =>
    request.service !== name || file.startsWith('packages/');
  return {
    consumers: module[name]?.consumers ?? [],
    asked: sources.flatMap(({ file, text }) => requestsNamedIn(text, requests).filter(isAsked(file))),
    followed: sources.flatMap((source) => eventsFollowedIn(source, events)),
  };
}

function permissionsOf(name: ServiceName, used: BusUse, askers: ServiceName[]): BusPermissions[string] {
  const isGateway = name === 'gateway';
  const [everyService, everyProcess] = isGateway ? gatewayAsks : [[], []];
  const stream = ['STREAM.INFO', 'STREAM.CREATE', ...(name === streamOwner ? ['STREAM.UPDATE'] : [])];
  // News between the processes of one service.
  const peers = `{prefix}.news.${name}.*`;
  return {
    publish: [
      `{prefix}.event.*.${name}.>`,
      ...sorted([
        ...used.asked.map(({ service, key }) => `{prefix}.request.${service}.${key}`),
        ...everyService.map((key) => `{prefix}.request.*.${key}`),
        ...everyProcess.map((key) => `{prefix}.broadcast.${key}`),
      ]),
      // Reply inboxes, whose names only the requester knows. allow_responses of NATS would also store the reply subject of every event. With
      // thousands of them, NATS 2.9 searches all of them for each event.
      ...sorted(askers.map((asker) => `_INBOX.${asker}.reply.*`)),
      peers,
      '$JS.API.INFO',
      ...stream.map((call) => `$JS.API.${call}.{prefix}`),
      ...used.consumers.flatMap((consumer) => consumerSubjects(name, consumer)),
    ],
    subscribe: [
      `_INBOX.${name}.>`,
      `{prefix}.request.${name}.>`,
      '{prefix}.broadcast.>',
      peers,
      ...(isGateway ? announcingServices.map((service) => `{prefix}.news.${service}.${announcementTopic}`) : []),
      ...sorted(used.followed.map(({ audience, service, kind }) => `{prefix}.event.${audience}.${service}.${kind}`)),
    ],
  };
}

/** Keys of requests that the gateway sends to every service, and to every process. */
const gatewayAsks = [
  [...Object.values(operatorRequests('gateway')), describeApi('gateway')].map(({ key }) => key),
  [describeProcess.key, announceOperations.key, moveClock.key],
] as const;

/** Returns the subjects with which a service creates a consumer, fetches its events and acknowledges them. */
function consumerSubjects(service: ServiceName, { name, filter }: Consumer): string[] {
  // The names of the durable consumers in packages/service-kit. tests/bus-authentication.test.ts runs them all.
  const durable = `${service}-${name.replaceAll('.', '-')}`;
  const subject = `{prefix}.event.${filter.audience ?? '*'}.${filter.service ?? '*'}.${filter.kind ?? '>'}`;
  return [
    // The subject contains the filter, which the server compares with the request, so the consumer gets no other events.
    `$JS.API.CONSUMER.CREATE.{prefix}.${durable}.${subject}`,
    `$JS.API.CONSUMER.INFO.{prefix}.${durable}`,
    `$JS.API.CONSUMER.MSG.NEXT.{prefix}.${durable}`,
    `$JS.ACK.{prefix}.${durable}.>`,
  ];
}

const sorted = (values: string[]) => [...new Set(values)].sort();

interface Source {
  file: string;
  text: string;
}

/** Returns the sources that a service runs: its own, and those of our packages it depends on, without tests. */
function sourcesOf(name: string): Source[] {
  const folders = new Set([folderOf(name)]);
  for (const folder of folders) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    const ours = Object.keys(dependencies).filter((dependency) => dependency.startsWith(scope));
    for (const dependency of ours) folders.add(`packages/${dependency.slice(scope.length)}`);
  }
  folders.delete('packages/contracts'); // declares every request and sends none
  return [...folders].flatMap((folder) =>
    globSync(`${folder}/src/**/*.ts`, { cwd: root, exclude: (file) => /\.test\.ts$/.test(file) })
      .sort()
      .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') })),
  );
}

/** Returns every internal request and event of the contracts, by export name. */
async function declared(): Promise<{ requests: Map<string, InternalRequest>; events: Map<string, EventDefinition> }> {
  const requests = new Map<string, InternalRequest>();
  const events = new Map<string, EventDefinition>();
  const exported = (await import(join(root, 'packages/contracts/src/everything.ts'))) as Record<
    string,
    Partial<InternalRequest> | null
  >;
  for (const [name, value] of Object.entries(exported)) {
    if (value?.key && value.input && value.reply) requests.set(name, value as InternalRequest);
    if (isEvent(value)) events.set(name, value);
  }
  return { requests, events };
}

/** Returns the requests that a source names if it imports contracts. Type imports do not count. */
export function requestsNamedIn(text: string, requests: ReadonlyMap<string, InternalRequest>): InternalRequest[] {
  if (!text.includes(`from '${scope}contracts`)) return [];
  const named = nodesOf(text).filter(
    (node) => ts.isIdentifier(node) && !ts.isTypeOnlyImportOrExportDeclaration(node.parent),
  );
  return named.flatMap((node) => requests.get(node.getText()) ?? []);
}

/** Returns the events that a source follows on the bus. Throws if no contract has one of them. */
export function eventsFollowedIn(
  { file, text }: Source,
  events: ReadonlyMap<string, EventDefinition>,
): EventDefinition[] {
  return [...text.matchAll(/\bbus\s*\.follow\(\s*([^,)\s]+)/g)].map(([, name]) => {
    const event = events.get(name!);
    if (event) return event;
    throw new Error(
      `${file}: bus.follow(${name}) must name an event of the contracts, so that permissions can be derived`,
    );
  });
}
