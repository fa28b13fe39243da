import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** An event as received by a reader. */
export interface StreamedEvent {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: envelopes of every kind
  data: any;
}

/** A reader of Server-Sent Events. As in the standard, an event without a final empty line is discarded. */
export interface EventReader {
  status: number;
  headers: IncomingMessage['headers'];
  /** The events received so far, in order. */
  events: StreamedEvent[];
  comments: number;
  /** The last `retry:` value, in milliseconds. */
  retryMs: number | undefined;
  /** The body, if the response is not a stream. */
  body: string;
  /** Undefined while the connection is open. */
  end: 'ended' | 'cut off' | undefined;
  /** Stops or continues reading. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Connects to an event stream and returns once the response has begun. Calls `onEvent` with each event. */
export async function readStream(
  url: string,
  key: string,
  headers: Record<string, string> = {},
  onEvent: (event: StreamedEvent) => void = () => undefined,
): Promise<EventReader> {
  const request = get(url, { agent: false, headers: { authorization: `Bearer ${key}`, ...headers } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const reader: EventReader = {
    status: response.statusCode!,
    headers: response.headers,
    events: [],
    comments: 0,
    retryMs: undefined,
    body: '',
    end: undefined,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void request.destroy(),
  };
  response.setEncoding('utf8');
  let rest = '';
  response.on('data', (text: string) => {
    if (reader.status !== 200) reader.body += text;
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) take(reader, block, onEvent);
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    reader.end = response.complete ? 'ended' : 'cut off';
  });
  return reader;
}

function take(reader: EventReader, block: string, onEvent: (event: StreamedEvent) => void): void {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) reader.comments++;
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value!);
  }
  if (fields.has('retry')) reader.retryMs = Number(fields.get('retry'));
  const data = fields.get('data');
  if (data !== undefined) {
    const event = { id: fields.get('id')!, event: fields.get('event')!, data: JSON.parse(data) };
    reader.events.push(event);
    onEvent(event);
  }
}
