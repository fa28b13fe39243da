import type { Event } from '../../generated/types.ts';
import { type Reconnect, streamRecords } from '../../stream/event-stream.ts';
import { type Command, type CommandCall, eventsOption, integerOf, kindsOf } from '../command.ts';
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
    const afterSequence = integerOf(call, 'after', [0, Number.MAX_SAFE_INTEGER]);
    const options = { types: kindsOf(call), afterSequence, signal: call.signal, onReconnect: printReconnect(call) };
    for await (const { sequence, text } of streamRecords(await call.clientOptions(), options)) {
      const event = JSON.parse(text) as Event;
      if (call.isJson) call.print(jsonLine({ ...event, sequence }));
      else call.print(lineOf(sequence, event));
    }
  },
};

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
