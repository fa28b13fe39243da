import type { Page } from '../../call.ts';
import { isPlatformError } from '../../errors.ts';
import type { Event } from '../../generated/types.ts';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { dataOf, dataOption } from '../json-input.ts';
import { jsonLine, printable } from '../text.ts';

/** The listable resource of each event family: its name in `data`, and the path of its list. `isShortened`: the list omits fields. */
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
/** This kind has an inbound message, and no list has inbound messages. */
const withoutList = 'message.received';

type Data = Record<string, unknown>;

export const trigger: Command = {
  name: 'trigger',
  parameters: '<kind>',
  arity: [1, 1],
  summary: 'Send an example event',
  description:
    "Sends an example of this kind to your sandbox's endpoints and streams, marked as test. Needs a test key. --data replaces fields of the resources in the example. --from-last sends a resource of your sandbox in its current state, which may not match the kind: an open order stays open in order.declined. Use --data to correct it.",
  options: [
    dataOption('Fields to replace in the event\'s data, such as {"order": {"number": 7}}'),
    { name: 'from-last', description: "Send the first resource of the sandbox's list instead of an example" },
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
    if (given !== undefined && !isObject(given)) throw new UsageError('--data must be a JSON object');
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

/** Returns event data with the first resource of the list. Throws UsageError for a kind without a list, SetupError if the list is empty. */
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

/** Returns data with other data merged in. Objects are merged one level deep; any other value is replaced. */
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
