import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@customer-platform/service-kit';
import { type EventReader, readStream, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventText, type StreamedEvent, type StreamSource, Streams } from './streams.ts';

let streams: Streams;
let server: Server;
let source: TestSource;
const readers: EventReader[] = [];

/** A source whose pages a test provides. */
class TestSource implements StreamSource {
  isClosed = false;
  readonly #pages: (StreamedEvent[] | Error)[] = [];
  #waiting: (() => void) | undefined;

  give(page: StreamedEvent[] | Error): void {
    this.#pages.push(page);
    this.#waiting?.();
  }

  async next(): Promise<StreamedEvent[]> {
    while (this.#pages.length === 0 && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    const page = this.#pages.shift() ?? [];
    if (page instanceof Error) throw page;
    return page;
  }

  close(): void {
    this.isClosed = true;
    this.#waiting?.();
  }
}

beforeEach(async () => {
  streams = new Streams(createLogger('test', 'silent'));
  source = new TestSource();
  server = createServer((_request, response) => {
    streams.begin(response, () => source, 'owner');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function open(owner = 'none'): Promise<EventReader> {
  const { port } = server.address() as AddressInfo;
  const reader = await readStream(`http://127.0.0.1:${port}/`, owner);
  readers.push(reader);
  return reader;
}

const page = (id: number, bytes = 1): StreamedEvent[] => [
  { id: String(id), event: 'test', data: JSON.stringify('x'.repeat(bytes)) },
];

it('data with line breaks is one event', () => {
  const text = eventText({ id: '1', event: 'a', data: 'x\ny\r\nz' });
  expect(text).toBe('id: 1\nevent: a\ndata: x\ndata: y\ndata: z\n\n');
});

describe('a stream', () => {
  it('sends the pages of its source, and closes it when the reader disconnects', async () => {
    const reader = await open();
    source.give(page(1));
    source.give([]);
    source.give(page(2));
    await waitFor('both events', () => reader.events.length === 2);
    expect(streams.count).toBe(1);
    reader.close();
    await waitFor('its end', () => source.isClosed && streams.count === 0);
  });

  it('ends with a reconnection time when the process drains, and so does a later one', async () => {
    const reader = await open();
    source.give(page(1));
    await waitFor('the event', () => reader.events.length === 1);
    streams.close();
    const later = await open();
    await waitFor('the ends', () => reader.end && later.end);
    expect([reader, later].map(({ end, retryMs }) => [end, retryMs! >= 500])).toEqual([
      ['ended', true],
      ['ended', true],
    ]);
    expect(source.isClosed).toBe(true);
  });

  it('ends the same way if its source fails', async () => {
    const reader = await open();
    source.give(new Error('no database'));
    await waitFor('its end', () => reader.end);
    expect([reader.end, reader.retryMs! >= 500, streams.count]).toEqual(['ended', true, 0]);
  });

  it('is cut off after whole events once its reader has stalled too long', async () => {
    streams = new Streams(createLogger('test', 'silent'), 100);
    const reader = await open();
    reader.pause();
    // Far more than the buffers of the connection hold.
    for (let id = 1; id <= 300; id++) source.give(page(id, 100_000));
    await waitFor('its end', () => streams.count === 0);
    reader.resume();
    await waitFor('the reader to learn it', () => reader.end);
    expect(reader.end).toBe('cut off');
    const ids = reader.events.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
  });

  it('waits for its reader, however much is left to read', async () => {
    const reader = await open();
    for (let id = 1; id <= 300; id++) source.give(page(id, 100_000));
    reader.pause();
    await new Promise((resolve) => setImmediate(resolve));
    reader.resume();
    await waitFor('all of it', () => reader.events.length === 300);
    expect([reader.end, streams.count]).toEqual([undefined, 1]);
  });
});
