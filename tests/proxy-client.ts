import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { testCertificate } from '@customer-platform/testkit/test-certificate';

/** A request by way of the proxy. */
export interface Sent {
  method?: string;
  path: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** What came back. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A client of the proxy, with one connection that is kept alive. */
export class ProxyClient {
  readonly #url: string;
  readonly #agent: Agent;

  /** @param localAddress address that it comes from */
  constructor(url: string, localAddress = '127.0.0.1') {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: testCertificate, localAddress });
  }

  async send(sent: Sent): Promise<Received> {
    const response = await this.open(sent);
    return { status: response.statusCode!, headers: response.headers, text: await text(response) };
  }

  /** Sends a request and returns once its response has begun. */
  async open({ method = 'GET', path, key, headers = {}, body }: Sent): Promise<IncomingMessage> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { method, agent: this.#agent, headers: { ...authorization, ...type, ...headers } };
    const sending = request(this.#url + path, options);
    sending.end(body);
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    return response;
  }

  /** Returns the milliseconds that each of some requests took, one after the other. */
  async timesOf(count: number, sent: Sent): Promise<number[]> {
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const beganMs = performance.now();
      const { status } = await this.send(sent);
      if (status !== 200) throw new Error(`the request was refused with ${status}`);
      times.push(performance.now() - beganMs);
    }
    return times;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Writes text to a connection of its own, and returns everything that comes until it closes, or is cut off. */
export async function writeRaw(url: string, written: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ca: testCertificate });
  socket.write(written);
  let read = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (read += chunk));
  // What is refused before it has been read whole is cut off in the end.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return read;
}
