import { connect, type Socket } from 'node:net';

/** Response: status, body, and latency in ms from when its request was due. */
export interface LoadResponse {
  status: number;
  body: Buffer;
  ms: number;
}

/** Result of a load; `responses` is their number. */
export interface LoadResult {
  seconds: number;
  responses: number;
  /** Number of responses by status. */
  statuses: Record<number, number>;
  /** Latency of every response, in order. */
  latenciesMs: number[];
}

/** Load on one origin; `next` returns the bytes of the next request, or undefined if none is left. */
export interface Load {
  url: string;
  connections: number;
  next(): Buffer | undefined;
  /** Status that every response must have: refusals are cheap and would distort the figures. */
  expected?: number;
  /** Called with every response and its request. */
  onResponse?(response: LoadResponse, request: Buffer): void;
}

/**
 * Returns an HTTP/1.1 request as bytes. It is built once and sent often, so that the load costs little CPU. `target` is its method and
 * path, such as `GET /v1/me`.
 */
export function requestBytes(url: string, target: string, headers: Record<string, string>, body?: string): Buffer {
  const length =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries({ host: new URL(url).host, ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return Buffer.from(`${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** Returns a `next` that ends after `count` requests. */
export function several(count: number, next: () => Buffer): () => Buffer | undefined {
  return () => (count-- > 0 ? next() : undefined);
}

/** Request, and the time from which its latency counts. */
interface Due {
  request: Buffer;
  dueAt: number;
}

/**
 * Keeps `connections` busy: each sends its next request when it gets a response, until the time is over or none is left. Throws if
 * a response does not have the expected status.
 */
export async function closedLoop(load: Load, durationMs = Number.POSITIVE_INFINITY): Promise<LoadResult> {
  const lines = await openLines(load);
  const began = performance.now();
  const take = (): Due | undefined => {
    const dueAt = performance.now();
    const request = dueAt - began < durationMs ? load.next() : undefined;
    return request && { request, dueAt };
  };
  return await sendOver(lines, load, take);
}

/**
 * Sends `perSecond` requests a second however long responses take, for `durationMs`, then waits for those in flight. A request's
 * latency counts from when it is sent, or from when it began to wait if no connection is free. Due requests are sent each
 * millisecond and with each response, so that they are spread evenly. Throws if a response does not have the expected status.
 */
export async function openLoop(load: Load, perSecond: number, durationMs: number): Promise<LoadResult> {
  const lines = await openLines(load);
  const waiting: Due[] = [];
  const idle: ((due?: Due) => void)[] = [];
  const began = performance.now();
  let made = 0;
  const makeDue = () => {
    const dueAt = performance.now();
    const isOver = dueAt - began >= durationMs;
    for (const due = (Math.min(dueAt - began, durationMs) * perSecond) / 1_000; made < due; made++) {
      const request = load.next();
      if (request === undefined) break;
      waiting.push({ request, dueAt });
    }
    while (idle.length > 0 && (waiting.length > 0 || isOver)) idle.pop()!(waiting.shift());
    return isOver;
  };
  const take = () => {
    const isOver = makeDue();
    return waiting.shift() ?? (isOver ? undefined : new Promise<Due | undefined>((resolve) => idle.push(resolve)));
  };
  const timer = setInterval(makeDue, 1);
  return await sendOver(lines, load, take).finally(() => clearInterval(timer));
}

/** Sends requests over each connection, one after the other, until there are none left. */
async function sendOver(
  lines: readonly Line[],
  load: Load,
  take: () => Promise<Due | undefined> | Due | undefined,
): Promise<LoadResult> {
  const result: LoadResult = { seconds: 0, responses: 0, statuses: {}, latenciesMs: [] };
  const began = performance.now();
  const sendEach = async (line: Line) => {
    for (let due = await take(); due; due = await take()) {
      const response = await line.send(due.request, due.dueAt);
      result.responses++;
      result.statuses[response.status] = (result.statuses[response.status] ?? 0) + 1;
      result.latenciesMs.push(response.ms);
      load.onResponse?.(response, due.request);
    }
  };
  await Promise.all(lines.map(sendEach));
  result.seconds = (performance.now() - began) / 1_000;
  for (const line of lines) line.close();
  const wrong = Object.keys(result.statuses).some((status) => load.expected && Number(status) !== load.expected);
  if (wrong) throw new Error(`every response should be ${load.expected}: ${JSON.stringify(result.statuses)}`);
  return result;
}

async function openLines({ url, connections }: Load): Promise<Line[]> {
  return await Promise.all(Array.from({ length: connections }, () => Line.open(url)));
}

/** A persistent connection with one request at a time. Parses just enough of HTTP to find the end of a response. */
class Line {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #taken: ((response: { status: number; body: Buffer }) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the connection was closed before the response')));
  }

  static async open(url: string): Promise<Line> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new Line(socket);
  }

  async send(request: Buffer, dueAt: number): Promise<LoadResponse> {
    const response = await new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
      if (this.#socket.destroyed) throw new Error('the connection was closed between two requests');
      this.#taken = resolve;
      this.#failed = reject;
      this.#socket.write(request);
    });
    return { ...response, ms: performance.now() - dueAt };
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const response = readResponse(this.#received);
    if (response === undefined) return;
    this.#received = this.#received.subarray(response.length);
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.(response);
  }
}

/** Returns the first response in the bytes and its length, undefined if it is not complete yet. */
function readResponse(bytes: Buffer): { status: number; body: Buffer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.toString('latin1', 0, headEnd + 2);
  const status = Number(head.slice(9, 12));
  const begin = headEnd + 4;
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(head)) {
    const chunked = readChunks(bytes, begin);
    return chunked && { status, ...chunked };
  }
  const bodyLength = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0);
  const length = begin + bodyLength;
  return bytes.length < length ? undefined : { status, body: bytes.subarray(begin, length), length };
}

/** Returns a chunked body from `begin` and its end, undefined if it is not complete yet. */
function readChunks(bytes: Buffer, begin: number): { body: Buffer; length: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = begin; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), length: next };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
