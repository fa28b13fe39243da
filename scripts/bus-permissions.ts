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
import { services } from '@customer-platform/deploy/deployables';
import { streamKeeper } from '@customer-platform/service-kit';
import { isText, type Node, nodesOf } from './syntax.ts';

/** Subjects that a service may use on the bus; `{prefix}` stands for BUS_PREFIX. */
export interface BusPermissions {
  publish: string[];
  subscribe: string[];
}

/** Part of a service definition that concerns the bus. */
interface ConsumerNames {
  consumers?: readonly { name: string; filter: { audience?: string; service?: string; kind?: string } }[];
}

/** Keys of requests that every service handles, by the service that sends them. */
const askedOfEveryService: Partial<Record<ServiceName, readonly string[]>> = {
  gateway: [...Object.values(operatorRequests('gateway')), describeApi('gateway')].map(({ key }) => key),
};

/** Keys of requests that every process replies to, by the service that sends them. */
const broadcastBy: Partial<Record<ServiceName, readonly string[]>> = {
  gateway: [describeProcess.key, announceOperations.key, moveClock.key],
};

/** Topics of every service's news, by the service that hears of them. */
const heardOfEveryService: Partial<Record<ServiceName, readonly string[]>> = { gateway: [announcementTopic] };

const root = join(import.meta.dirname, '..');
const scope = '@customer-platform/';
const names = ['gateway', ...services.map(({ name }) => name)] as ServiceName[];

/** Returns each service's permissions, from its definition and sources. Throws if a followed event is in no contract. */
export async function busPermissions(): Promise<Record<string, BusPermissions>> {
  const { requests, events } = await declared();
  const uses = new Map<ServiceName, BusUse>();
  for (const name of names) uses.set(name, await busUseOf(name, requests, events));
  const askersOf = (name: ServiceName) =>
    names.filter(
      (asker) => asker in askedOfEveryService || uses.get(asker)!.asked.some(({ service }) => service === name),
    );
  return Object.fromEntries([...uses].map(([name, use]) => [name, permissionsOf(name, use, askersOf(name))]));
}

type BusUse = Awaited<ReturnType<typeof busUseOf>>;

async function busUseOf(
  name: ServiceName,
  requests: ReadonlyMap<string, InternalRequest>,
  events: ReadonlyMap<string, EventDefinition>,
) {
  const module = (await import(`${scope}${name}`)) as Record<string, ConsumerNames>;
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

function permissionsOf(name: ServiceName, used: BusUse, askers: ServiceName[]): BusPermissions {
  const asked = [
    ...used.asked.map(({ service, key }) => `{prefix}.request.${service}.${key}`),
    ...(askedOfEveryService[name] ?? []).map((key) => `{prefix}.request.*.${key}`),
    ...(broadcastBy[name] ?? []).map((key) => `{prefix}.broadcast.${key}`),
  ];
  const consumed = used.consumers.flatMap(({ name: consumer, filter }) => {
    // Named like the durable consumers of packages/service-kit: tests/bus-authentication.test.ts runs them all.
    const durable = `${name}-${consumer.replaceAll('.', '-')}`;
    const subject = `{prefix}.event.${filter.audience ?? '*'}.${filter.service ?? '*'}.${filter.kind ?? '>'}`;
    return [
      // With the filter in the subject, which the server compares with the request: the consumer can get no other events.
      `$JS.API.CONSUMER.CREATE.{prefix}.${durable}.${subject}`,
      `$JS.API.CONSUMER.INFO.{prefix}.${durable}`,
      `$JS.API.CONSUMER.MSG.NEXT.{prefix}.${durable}`,
      `$JS.ACK.{prefix}.${durable}.>`,
    ];
  });
  const changes = name === streamKeeper ? ['STREAM.UPDATE.{prefix}'] : [];
  const stream = ['INFO', 'STREAM.INFO.{prefix}', 'STREAM.CREATE.{prefix}', ...changes].map(
    (call) => `$JS.API.${call}`,
  );
  // Reply inboxes, which only the requester knows. NATS' allow_responses would remember the reply subject of every event too, and with
  // some thousands of them the server searches them all for each event (2.9).
  const replies = askers.map((asker) => `_INBOX.${asker}.reply.*`);
  const followed = used.followed.map(({ audience, service, kind }) => `{prefix}.event.${audience}.${service}.${kind}`);
  // News among the processes of one service.
  const peers = [`{prefix}.news.${name}.*`];
  return {
    publish: [`{prefix}.event.*.${name}.>`, ...sorted(asked), ...sorted(replies), ...peers, ...stream, ...consumed],
    subscribe: [
      `_INBOX.${name}.>`,
      `{prefix}.request.${name}.>`,
      '{prefix}.broadcast.>',
      ...peers,
      ...(heardOfEveryService[name] ?? []).flatMap((topic) =>
        announcingServices.map((service) => `{prefix}.news.${service}.${topic}`),
      ),
      ...sorted(followed),
    ],
  };
}

const sorted = (values: string[]) => [...new Set(values)].sort();

interface Source {
  file: string;
  text: string;
}

/** Returns the sources that a service runs: its own, and those of our packages that it depends on, without tests. */
function sourcesOf(name: string): Source[] {
  const folders = new Set([name === 'gateway' ? name : `services/${name}`]);
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

/** Returns the events that a source follows on the bus as they are published. */
export function eventsFollowedIn(
  { file, text }: Source,
  events: ReadonlyMap<string, EventDefinition>,
): EventDefinition[] {
  return [...text.matchAll(/\bbus\s*\.follow\(\s*([^,)\s]+)/g)].map(([, name]) => {
    const event = events.get(name!);
    if (!event)
      throw new Error(
        `${file}: bus.follow(${name}) must name an event of the contracts, so that permissions can be derived`,
      );
    return event;
  });
}

/** Returns the requests that a source imports by name, or reads from a namespace import of a contract. */
export function requestsNamedIn(text: string, requests: ReadonlyMap<string, InternalRequest>): InternalRequest[] {
  const nodes = nodesOf(text);
  const specifiers = nodes
    .filter(({ source }) => isText(source) && source.value.startsWith('@customer-platform/contracts'))
    .filter(({ importKind, exportKind }) => importKind !== 'type' && exportKind !== 'type')
    .flatMap((node) => (node.specifiers as Node[] | undefined) ?? []);
  const named = specifiers.flatMap((specifier) => {
    if (specifier.importKind === 'type' || specifier.exportKind === 'type') return [];
    if (specifier.type !== 'ImportNamespaceSpecifier') return nameOf(specifier.imported ?? specifier.local);
    const everything = nameOf(specifier.local);
    return nodes.filter((node) => nameOf(node.object) === everything).map((node) => nameOf(node.property));
  });
  return named.flatMap((name) => requests.get(name ?? '') ?? []);
}

/** Returns the name of an identifier. */
function nameOf(node: unknown): string | undefined {
  return (node as Partial<Node> | null | undefined)?.name as string | undefined;
}
