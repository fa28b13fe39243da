import type { Event } from '../../generated/types.ts';
import type { ClientOptions } from '../../requests/send.ts';
import { newestSequence, type Reconnect, streamRecords } from '../../stream/event-stream.ts';
import { type Command, type CommandCall, eventsOption, integerOf, kindsOf } from '../command.ts';
import { UsageError } from '../errors.ts';
import { jsonLine, printable, shortened } from '../text.ts';

/** Characters of an event's data that a line shows. */
const shownLength = 160;

export const eventsTail: Command = {
  name: 'events tail',
  parameters: '',
  arity: [0, 0],
  summary: 'Show events as they happen',
  description: 'Shows each event once, with its sequence; with --json as one line of JSON. Ctrl-C ends it.',
  options: [
    eventsOption,
    { name: 'after', value: 'sequence', description: 'Begin after the event with this sequence, at most 30 days back' },
  ],
  examples: ['events tail', "events tail --events 'order.*'", 'events tail --after 0 --json'],
  async run(call) {
    const client = await call.clientOptions();
    const options = {
      types: kindsOf(call),
      afterSequence: await afterOf(call, client),
      signal: call.signal,
      onOpen: onFirst(() => call.note('Ready')),
      onReconnect: printReconnect(call),
    };
    for await (const { sequence, text } of streamRecords(client, options)) {
      const event = JSON.parse(text) as Event;
      if (call.isJson) call.print(jsonLine({ ...event, sequence }));
      else call.print(lineOf(sequence, event));
    }
  },
};

/** Returns the sequence that `--after` asks for; undefined without it. Throws UsageError for one that no event has yet. */
export async function afterOf(call: CommandCall, client: ClientOptions): Promise<number | undefined> {
  const after = integerOf(call, 'after', [0, Number.MAX_SAFE_INTEGER]);
  if (!after) return after;
  const newest = await newestSequence(client, call.signal);
  if (after <= newest) return after;
  throw new UsageError(`--after must be at most ${newest}, the sequence of the last event, not ${after}`);
}

/** Returns a callback that acts once: the stream opens again whenever it broke. */
export function onFirst(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

/** Returns a callback that notes why a stream is opened again. */
export function printReconnect(call: CommandCall): (reconnect: Reconnect) => void {
  return ({ error, afterMs }) => {
    const why = error ? printable(error.message) : 'the platform ended the connection';
    call.note(`Connecting again in ${(afterMs / 1000).toFixed(1)} s: ${why}`);
  };
}

function lineOf(sequence: number, { timestamp, type, id, data }: Event): string {
  return printable(`${sequence}  ${timestamp}  ${type}  ${id}  ${shortened(JSON.stringify(data), shownLength)}`);
}
