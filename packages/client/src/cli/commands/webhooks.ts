import type { Delivery, Replay, WebhookEndpoint, WebhookEndpointWithSecret } from '../../generated/types.ts';
import { wait } from '../../requests/delays.ts';
import { type Command, type CommandCall, eventsOption, kindsOf } from '../command.ts';
import { jsonLine, printable } from '../text.ts';
import { listCommand } from './list-command.ts';

const path = '/v1/webhooks';
/** Milliseconds between two polls. */
const pollMs = 500;
const noWait: Command['options'][number] = { name: 'no-wait', description: 'Do not wait for the outcome' };

export const webhooksCreate: Command = {
  name: 'webhooks create',
  parameters: '<url>',
  arity: [1, 1],
  summary: 'Create a webhook endpoint',
  description: 'Prints the secret that signs the deliveries. The secret is shown only once.',
  options: [eventsOption, { name: 'description', value: 'text', description: 'What the endpoint is for' }],
  examples: [
    'webhooks create https://example.com/hook',
    "webhooks create https://example.com/hook --events 'order.*,contact.created' --description Till",
  ],
  async run(call) {
    const [url] = call.positionals as [string];
    const body = { url, events: kindsOf(call), description: call.value('description') };
    const endpoint = await call.send<WebhookEndpointWithSecret>({ method: 'POST', path }, { body });
    if (call.isJson) return call.print(jsonLine(endpoint));
    call.note(printable(`${endpoint.id}  ${endpoint.url}  ${endpoint.events.join(',')}`));
    call.print(printable(endpoint.secret));
    call.note('The secret is shown only now: your server needs it to verify deliveries');
  },
};

export const webhooksList = listCommand<WebhookEndpoint>({
  name: 'webhooks list',
  summary: 'List webhook endpoints',
  description: 'Newest first.',
  path,
  head: ['id', 'state', 'events', 'url'],
  rowOf: (endpoint) => [endpoint.id, stateOf(endpoint), endpoint.events.join(','), endpoint.url],
});

export const webhooksTest: Command = {
  name: 'webhooks test',
  parameters: '<endpoint>',
  arity: [1, 1],
  summary: 'Send a test event to a webhook endpoint',
  description:
    'Sends a webhook.test event, whatever the filter of the endpoint, and shows the first response. Exit code 1 means that it was not delivered.',
  options: [noWait],
  examples: ['webhooks test 019a9cb0-5d7f-7ea6-8ba2-b3c4d5e6f810'],
  hasEnd: true,
  async run(call) {
    const endpoint = pathOf(call);
    const body = {};
    let delivery = await call.send<Delivery>({ method: 'POST', path: `${endpoint}/test` }, { body });
    const line = { method: 'GET', path: `${endpoint}/deliveries/${delivery.id}` };
    while (delivery.status === 'pending' && delivery.tries.length === 0 && !call.isSet('no-wait')) {
      await wait(pollMs, call.signal);
      delivery = await call.send<Delivery>(line);
    }
    const { id, status, tries } = delivery;
    const last = tries.at(-1);
    const outcome = last ? `: ${last.status ?? last.error} in ${last.duration_ms} ms` : '';
    call.print(call.isJson ? jsonLine(delivery) : printable(`${id} ${status}${outcome}`));
    if (status !== 'delivered' && !call.isSet('no-wait')) call.setIncomplete();
  },
};

export const webhooksReplay: Command = {
  name: 'webhooks replay',
  parameters: '<endpoint>',
  arity: [1, 1],
  summary: 'Send the deliveries of a period again',
  description: 'Resends them in the background, and waits until all are scheduled. Ctrl-C ends only the wait.',
  options: [
    { name: 'since', value: 'time', isRequired: true, description: 'Start of the period: 2026-11-20T09:00:00+01:00' },
    { name: 'until', value: 'time', description: 'End of the period, exclusive; default: now' },
    {
      name: 'status',
      value: 'status',
      choices: ['failed', 'all'],
      description: 'failed: only undelivered ones (default); all: every delivery',
    },
    noWait,
  ],
  examples: [
    'webhooks replay 019a9cb0-5d7f-7ea6-8ba2-b3c4d5e6f810 --since 2026-11-20T00:00:00Z',
    'webhooks replay 019a9cb0-5d7f-7ea6-8ba2-b3c4d5e6f810 --since 2026-11-20T00:00:00Z --status all --no-wait',
  ],
  async run(call) {
    const endpoint = pathOf(call);
    const body = { since: call.value('since'), until: call.value('until'), status: call.value('status') };
    const begun = await call.send<Pick<Replay, 'id' | 'matched'>>(
      { method: 'POST', path: `${endpoint}/replay` },
      { body },
    );
    const line = { method: 'GET', path: `${endpoint}/replays/${begun.id}` };
    let replay = await call.send<Replay>(line);
    while (replay.status === 'running' && !call.isSet('no-wait')) {
      await wait(pollMs, call.signal);
      replay = await call.send<Replay>(line);
    }
    const { id, status, matched, done } = replay;
    call.print(call.isJson ? jsonLine(replay) : printable(`${id} ${status}: ${done} of ${matched} deliveries`));
  },
};

function pathOf(call: CommandCall): string {
  return `${path}/${encodeURIComponent(call.positionals[0]!)}`;
}

function stateOf({ active, paused, disabled_reason }: WebhookEndpoint): string {
  if (!active) return disabled_reason ? `off: ${disabled_reason}` : 'off';
  return paused ? 'paused' : 'on';
}
