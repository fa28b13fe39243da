import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EventReader, readStream, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../../telemetry/logging.ts';
import { eventText, type StreamPage, type StreamSource, Streams } from './streams.ts';

let streams: Streams;
let server: Server;
let source: TestSource;
const readers: EventReader[] = [];

/** A source that a test gives pages to. */
class TestSource implements StreamSource {
  isClosed = false;
  readonly #pages: (StreamPage | Error)[] = [];
  #waiting: (() => void) | undefined;

  give(page: StreamPage | Error): void {
    this.#pages.push(page);
    this.#waiting?.();
  }

  async next(): Promise<StreamPage> {
    while (this.#pages.length === 0 && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    const page = this.#pages.shift() ?? { events: [], hasMore: false };
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
    streams.begin(response, source, { owner: 'owner', operation: 'test' });
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

const page = (id: number, bytes = 1, hasMore = false): StreamPage => ({
  events: [{ id: String(id), event: 'test', data: JSON.stringify('x'.repeat(bytes)) }],
  hasMore,
});

it('data with line ends is one event', () => {
  const text = eventText({ id: '1', event: 'a', data: 'x\ny\r\nz' });
  expect(text).toBe('id: 1\nevent: a\ndata: x\ndata: y\ndata: z\n\n');
});

describe('a stream', () => {
  it('sends what its source gives, and lets go of it when the reader leaves', async () => {
    const reader = await open();
    source.give(page(1));
    source.give({ events: [], hasMore: false });
    source.give(page(2));
    await waitFor('both events', () => reader.events.length === 2);
    expect(streams.count).toBe(1);
    reader.close();
    await waitFor('its end', () => source.isClosed && streams.count === 0);
  });

  it('ends with the time to connect again when the process drains, and so does one that comes later', async () => {
    const reader = await open();
    source.give(page(1));
    await waitFor('the event', () => reader.events.length === 1);
    await streams.close();
    const later = await open();
    await waitFor('the ends', () => reader.end && later.end);
    expect([reader, later].map(({ end, retryMs }) => [end, retryMs! >= 500])).toEqual([
      ['ended', true],
      ['ended', true],
    ]);
    expect(source.isClosed).toBe(true);
  });

  it('ends so where its source fails', async () => {
    const reader = await open();
    source.give(new Error('no database'));
    await waitFor('its end', () => reader.end);
    expect([reader.end, reader.retryMs! >= 500, streams.count]).toEqual(['ended', true, 0]);
  });

  it('is cut off once more than 1 MiB waits for its reader, not before', async () => {
    const reader = await open();
    reader.pause();
    // Far more than the buffers of the connection hold; a live source does not wait for the reader.
    for (let id = 1; id <= 300 && streams.count === 1; id++) {
      source.give(page(id, 100_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor('its end', () => streams.count === 0);
    reader.resume();
    await waitFor('the reader to learn it', () => reader.end);
    expect(reader.end).toBe('cut off');
    const ids = reader.events.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
  });

  it('is cut off where readers of its account are too far behind together, and no other account is', async () => {
    streams = new Streams(createLogger('test', 'silent'), 1_500_000);
    const sources: TestSource[] = [];
    server.removeAllListeners('request').on('request', (request, response) => {
      source = new TestSource();
      sources.push(source);
      streams.begin(response, source, { owner: request.headers.authorization!, operation: 'test' });
    });
    const opened = [await open('one'), await open('one'), await open('one'), await open('other')];
    for (const reader of opened) reader.pause();
    // Far more than the buffers of the connections hold; less than one reader may be behind, and the other account's whatever its buffers hold.
    for (let id = 1; id <= 300 && streams.count === 4; id++) {
      const taking = id % 30 === 0 ? sources : sources.slice(0, 3);
      for (const each of taking) if (!each.isClosed) each.give(page(id, 30_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor('an end', () => streams.count < 4);
    for (const reader of opened) reader.resume();
    await waitFor(
      'the readers to learn it',
      () => opened.filter(({ end }) => end === 'cut off').length === 4 - streams.count,
    );
    expect(opened[3]!.end).toBeUndefined();
  });

  it('waits for a reader that has history to read, however much that is', async () => {
    const reader = await open();
    for (let id = 1; id <= 300; id++) source.give(page(id, 100_000, true));
    reader.pause();
    await new Promise((resolve) => setImmediate(resolve));
    reader.resume();
    await waitFor('all of it', () => reader.events.length === 300);
    expect([reader.end, streams.count]).toEqual([undefined, 1]);
  });
});
