import type { Page } from '../../call.ts';
import { isPlatformError } from '../../errors.ts';
import type { Delivery, WebhookEndpoint } from '../../generated/types.ts';
import { type Command, type CommandCall, integerOf } from '../command.ts';
import { SetupError } from '../errors.ts';
import { columnsOf, jsonLine } from '../text.ts';

const endpointOption = {
  name: 'endpoint',
  value: 'id',
  description: 'Only deliveries to this endpoint; default: all endpoints',
};

export const deliveriesList: Command = {
  name: 'deliveries list',
  parameters: '',
  arity: [0, 0],
  summary: 'List webhook deliveries',
  description: 'Newest first.',
  options: [
    endpointOption,
    { name: 'status', value: 'status', description: 'pending, delivered, failed or skipped' },
    { name: 'event', value: 'kind', description: 'Only deliveries of this kind of event' },
    { name: 'limit', value: 'number', description: 'Show at most this many deliveries, 1 to 100; default: 20' },
  ],
  examples: ['deliveries list', 'deliveries list --status failed --limit 5', 'deliveries list --json'],
  async run(call) {
    const limit = integerOf(call, 'limit', [1, 100]) ?? 20;
    const query = { status: call.value('status'), event: call.value('event'), limit };
    const pages = await eachEndpoint(call, async (endpoint) => {
      const page = await call.send<Page<Delivery>>(
        { method: 'GET', path: `${pathOf(endpoint)}/deliveries` },
        { query },
      );
      return page.data.map((delivery) => ({ ...delivery, endpoint }));
    });
    const newest = pages
      .flat()
      .sort((one, other) => (one.id < other.id ? 1 : -1))
      .slice(0, limit);
    if (call.isJson) return call.print(jsonLine({ data: newest }));
    if (newest.length === 0) return call.note('No deliveries match');
    for (const line of columnsOf([
      ['delivery', 'created', 'event', 'status', 'tries', 'last', 'url'],
      ...newest.map(rowOf),
    ])) {
      call.print(line);
    }
  },
};

export const deliveriesResend: Command = {
  name: 'deliveries resend',
  parameters: '<delivery>',
  arity: [1, 1],
  summary: 'Send a webhook delivery again',
  description: 'Resends the delivery, whatever its status.',
  options: [{ ...endpointOption, description: "The delivery's endpoint; default: search all endpoints" }],
  examples: ['deliveries resend 0193f0a0-0000-7000-8000-000000000001'],
  async run(call) {
    const [id] = call.positionals as [string];
    const delivery = await resend(call, id);
    call.print(call.isJson ? jsonLine(delivery) : columnsOf([rowOf(delivery)])[0]!);
  },
};

async function resend(call: CommandCall, id: string): Promise<Delivery> {
  for (const endpoint of await endpointsOf(call)) {
    const path = `${pathOf(endpoint)}/deliveries/${encodeURIComponent(id)}/redeliver`;
    try {
      return await call.send<Delivery>({ method: 'POST', path }, { body: {} });
    } catch (error) {
      if (!isPlatformError(error, 'not_found')) throw error;
    }
  }
  throw new SetupError(`No endpoint of the account has the delivery ${id}`);
}

async function eachEndpoint<Result>(call: CommandCall, act: (endpoint: string) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const endpoint of await endpointsOf(call)) results.push(await act(endpoint));
  return results;
}

/** Returns the id that `--endpoint` names, or else the ids of all endpoints. An account has at most 20. */
async function endpointsOf(call: CommandCall): Promise<string[]> {
  const asked = call.value('endpoint');
  if (asked !== undefined) return [asked];
  const page = await call.send<Page<WebhookEndpoint>>(
    { method: 'GET', path: '/v1/webhooks' },
    { query: { limit: 100 } },
  );
  return page.data.map(({ id }) => id);
}

function pathOf(endpoint: string): string {
  return `/v1/webhooks/${encodeURIComponent(endpoint)}`;
}

function rowOf({ id, created_at, event, status, reason, tries, url }: Delivery): string[] {
  const last = tries.at(-1);
  const outcome = last ? String(last.status ?? last.error) : '-';
  return [id, created_at, event, reason ? `${status} (${reason})` : status, String(tries.length), outcome, url];
}
