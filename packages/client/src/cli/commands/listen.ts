import { createHash, createHmac } from 'node:crypto';
import type { Event, Me } from '../../generated/types.ts';
import type { ClientOptions } from '../../requests/send.ts';
import { type EventRecord, newestSequence, streamRecords } from '../../stream/event-stream.ts';
import { type Command, type CommandCall, eventsOption, kindsOf } from '../command.ts';
import { UsageError } from '../errors.ts';
import { forward } from '../forward.ts';
import { jsonLine, printable } from '../text.ts';
import { afterOf, onFirst, printReconnect } from './events-tail.ts';

export const listen: Command = {
  name: 'listen',
  parameters: '',
  arity: [0, 0],
  summary: 'Forward events to a server on your machine',
  description:
    'Posts events one at a time, as the platform posts them to a webhook endpoint, and shows each response. Prints the secret that signs them. With --json, the first line has the secret, and each event is one line. With the same URL and kinds, the next run continues after the last event. An event that your server rejects is shown, but not sent again.',
  options: [
    { name: 'forward-to', value: 'url', description: 'Your server, such as http://localhost:3000/hook' },
    eventsOption,
    { name: 'after', value: 'sequence', description: 'Start after the event with this sequence, at most 30 days back' },
    { name: 'latest', description: 'Start with the next event instead of where the last run stopped' },
  ],
  examples: [
    'listen --forward-to http://localhost:3000/hook',
    "listen --forward-to http://localhost:3000/hook --events 'order.*,contact.created'",
    'listen --forward-to http://localhost:3000/hook --after 41',
  ],
  async run(call) {
    const target = targetOf(call.value('forward-to'));
    const types = kindsOf(call);
    const client = await call.clientOptions();
    const me = await call.send<Me>({ method: 'GET', path: '/v1/me' });
    const place = placeFile(me, target, types);
    const begin = await beginOf(call, place, client);
    const secret = secretOf(client.apiKey);
    const onOpen = onFirst(() => {
      if (call.isJson) call.print(jsonLine({ ready: true, after: begin.sequence, secret }));
      call.note(
        `Forwarding ${types?.join(', ') ?? 'all events'} of ${printable(me.account.name)} (${me.mode}) to ${target}`,
      );
      call.note(`Signing with ${secret}`);
      call.note(begin.isResumed ? `Continuing after the event with sequence ${begin.sequence}` : 'Ready');
    });
    const onReconnect = printReconnect(call);
    const options = { types, afterSequence: begin.sequence, signal: call.signal, onOpen, onReconnect };
    for await (const record of streamRecords(client, options)) {
      await forwardRecord(call, record, target, secret);
      await call.settings.write(place, { sequence: record.sequence });
    }
  },
};

function targetOf(text = ''): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw new UsageError('--forward-to must be the URL of your server, such as http://localhost:3000/hook');
}

/** Returns a key's signing secret. It is the same in each run, so the server is configured once, and it does not reveal the key. */
function secretOf(apiKey: string): string {
  return `whsec_${createHmac('sha256', apiKey).update('customer-platform listen').digest('base64')}`;
}

/** Returns the name of the file that stores the sequence of the last forwarded event. */
function placeFile({ account, mode }: Me, target: string, types: string[] | undefined): string {
  const what = JSON.stringify([account.id, mode, target, types?.toSorted()]);
  return `listen-${createHash('sha256').update(what).digest('hex').slice(0, 16)}.json`;
}

async function beginOf(
  call: CommandCall,
  place: string,
  client: ClientOptions,
): Promise<{ sequence: number; isResumed: boolean }> {
  const asked = await afterOf(call, client);
  if (asked !== undefined && call.isSet('latest')) throw new UsageError('--after cannot be combined with --latest');
  const stored = call.isSet('latest')
    ? undefined
    : ((await call.settings.read(place)) as { sequence?: number } | undefined);
  const known = asked ?? stored?.sequence;
  const sequence = known ?? (await newestSequence(client, call.signal));
  await call.settings.write(place, { sequence });
  return { sequence, isResumed: known !== undefined };
}

async function forwardRecord(call: CommandCall, record: EventRecord, target: string, secret: string): Promise<void> {
  const event = JSON.parse(record.text) as Event;
  const { status, body, error, durationMs } = await forward(target, { ...record, id: event.id }, secret, call.signal);
  if (call.isJson) {
    const told = { sequence: record.sequence, id: event.id, type: event.type, status, error, duration_ms: durationMs };
    return call.print(jsonLine(told));
  }
  const isTaken = status !== null && status >= 200 && status < 300;
  const outcome =
    status === null ? `failed: ${error}` : `${status} in ${durationMs} ms${isTaken || !body ? '' : `: ${body}`}`;
  call.print(printable(`${record.sequence}  ${event.type}  ${event.id} → ${outcome}`));
}
