import type { Page } from '../../call.ts';
import { isPlatformError } from '../../errors.ts';
import type { Event } from '../../generated/types.ts';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { dataOf, dataOption } from '../json-input.ts';
import { jsonLine, printable } from '../text.ts';

/** The resource of each family of events that has one which can be listed: its name in `data`, its list, and whether the list shows less of it. */
const resources: Readonly<Record<string, { name: string; path: string; isShortened?: true }>> = {
  appointment: { name: 'appointment', path: '/v1/calendar/appointments', isShortened: true },
  audience: { name: 'audience', path: '/v1/cdp/audiences' },
  contact: { name: 'contact', path: '/v1/cdp/contacts' },
  deal: { name: 'deal', path: '/v1/crm/deals' },
  knowledge: { name: 'source', path: '/v1/agents/knowledge/sources' },
  message: { name: 'message', path: '/v1/messages', isShortened: true },
  order: { name: 'order', path: '/v1/catalogue/orders' },
  plan: { name: 'plan', path: '/v1/agents/plans' },
  webhook: { name: 'webhook', path: '/v1/webhooks' },
};
/** Its message is one that came in, which no list has. */
const withoutList = 'message.received';

type Data = Record<string, unknown>;

export const trigger: Command = {
  name: 'trigger',
  parameters: '<kind>',
  arity: [1, 1],
  summary: 'Send an example event',
  description:
    "Sends an example of this kind to your sandbox's endpoints and streams, marked as test. It needs a test key. --data changes the example: of each resource in it, the fields that are given. --from-last puts the newest resource of your sandbox in it, as it is now, which must not be what the kind says happened to it; --data changes that.",
  options: [
    dataOption('Values of the event\'s data, such as {"order": {"number": 7}}'),
    { name: 'from-last', description: 'Send the first resource that the list of the sandbox shows' },
  ],
  examples: [
    'trigger appointment.booked',
    'trigger order.declined --json',
    'trigger contact.created --data \'{"contact": {"name": "Ada"}}\'',
    'trigger order.created --from-last',
  ],
  async run(call) {
    const [type] = call.positionals as [string];
    const given = await dataOf(call);
    if (given !== undefined && !isObject(given)) throw new UsageError('--data must be an object of JSON');
    try {
      const last = call.isSet('from-last') ? await lastOf(call, type) : undefined;
      const data = last && given ? merged(last, given) : (last ?? given);
      const line = { method: 'POST', path: '/v1/events/trigger' };
      const event = await call.send<Event>(line, { body: { type, data } });
      call.print(call.isJson ? jsonLine(event) : printable(`${event.type} ${event.id} was sent`));
    } catch (error) {
      const { key } = await call.credentials();
      const isLive = isPlatformError(error, 'not_found') && !key.startsWith('cp_test_');
      throw isLive
        ? new SetupError('trigger needs a test key, cp_test_…: a live account gets no example events')
        : error;
    }
  },
};

/** Returns the data of an event that has the first resource of its list. Throws UsageError for kinds without one, SetupError if the list is empty. */
async function lastOf(call: CommandCall, type: string): Promise<Data> {
  const family = type.split('.', 1)[0]!;
  const resource = Object.hasOwn(resources, family) && type !== withoutList ? resources[family] : undefined;
  if (!resource) {
    const families = Object.keys(resources).map((each) => `${each}.*`);
    throw new UsageError(`--from-last takes ${families.join(', ')} except ${withoutList}, not ${JSON.stringify(type)}`);
  }
  const { name, path, isShortened } = resource;
  const { data } = await call.send<Page<{ id: string | number }>>({ method: 'GET', path }, { query: { limit: 1 } });
  const [first] = data;
  if (!first) throw new SetupError(`--from-last: the sandbox has no ${name} yet (GET ${path})`);
  const whole = isShortened ? await call.send<unknown>({ method: 'GET', path: `${path}/${first.id}` }) : first;
  return { [name]: whole };
}

/** Returns data with the values of other data: of a resource those fields, of anything else the whole. */
function merged(data: Data, other: Data): Data {
  const entries = Object.entries(other).map(([name, value]) => {
    const before = data[name];
    return [name, isObject(before) && isObject(value) ? { ...before, ...value } : value];
  });
  return { ...data, ...Object.fromEntries(entries) };
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
