import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  createNameResolver,
  createPoster,
  parseAddressRanges,
  signatureHeader,
  signingKeyOf,
} from '@customer-platform/outbound';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterAll, afterEach } from '@jest/globals';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Outgoing, ProviderTools } from '../src/providers/provider.ts';

/** A valid request to a provider's server. */
export interface TakenRequest {
  headers: IncomingMessage['headers'];
  text: string;
  /** Fields of the form or the JSON. */
  fields: Record<string, unknown>;
}

/** Response instead of the server's own. `reset` and `hang` apply after the request was read. */
export type TestResponse = StatusResponse | { fault: 'reset' | 'hang' };
interface StatusResponse {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A provider's server on loopback. It validates requests like the provider, and sends planned responses. */
export interface ProviderServer {
  url: string;
  taken: TakenRequest[];
  /** Responses to the next valid requests, one each. Later requests are accepted. */
  responses: TestResponse[];
  stop(): Promise<void>;
}

/** Returns the provider tools, for loopback only. `close` aborts requests in flight. */
export function providerTools(urls: { twilioUrl?: string; whatsappUrl?: string } = {}) {
  const guard = { allowedRanges: parseAddressRanges('127.0.0.0/8,::1/128'), resolve: createNameResolver(1000) };
  const sockets = { maxSocketsPerPool: 10, maxSockets: 50 };
  const poster = createPoster({ ...guard, ...sockets, timeoutMs: 4_000, keptBytes: 65_536, neverResends: true });
  const hookUrl = 'https://platform.example/hooks/messages/token';
  const tools: ProviderTools = { poster, guard, twilioUrl: '', whatsappUrl: '', hookUrl, ...urls };
  return { ...tools, close: () => poster.close() };
}

/** Clears a server's requests and responses after each test of a file, and stops it after all. */
export function useInTests(server: ProviderServer, tools: ReturnType<typeof providerTools>): void {
  afterEach(() => {
    server.taken.length = 0;
    server.responses.length = 0;
  });
  afterAll(async () => {
    await tools.close();
    await server.stop();
  });
}

/** Returns an outgoing message with these properties. */
export function outgoing(given: Partial<Outgoing> = {}): Outgoing {
  return {
    messageId: '019a0000-0000-7000-8000-000000000001',
    attemptId: '019a0000-0000-7000-8000-000000000002',
    channel: 'sms',
    to: '+4915112345678',
    subject: '',
    body: 'Grüße, Ada & Bob: 100 % = 1',
    ...given,
  };
}

type Refusal = { status: number; body: unknown };
type Check = (request: IncomingMessage, text: string) => { refusal: Refusal } | { fields: Record<string, unknown> };

async function startServer(check: Check, accept: () => { status: number; body: unknown }): Promise<ProviderServer> {
  const taken: TakenRequest[] = [];
  const responses: TestResponse[] = [];
  const respond = (response: ServerResponse, { status, body = {}, headers = {} }: StatusResponse) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const checked = check(request, text);
      if ('refusal' in checked) return respond(response, checked.refusal);
      taken.push({ headers: request.headers, text, fields: checked.fields });
      const planned = responses.shift() ?? accept();
      if ('status' in planned) return respond(response, planned);
      if (planned.fault === 'reset') request.socket.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    responses,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export const twilioSettings = {
  account_sid: `AC${'0123456789abcdef'.repeat(2)}`,
  auth_token: 'twilio-auth-token',
  from: '+4930901820',
};

/** Starts Twilio's Messages API for the account of twilioSettings. Invalid requests get 401 (20003), 404 (20404) or 400 with its codes. */
export function startTwilioServer(): Promise<ProviderServer> {
  const { account_sid, auth_token } = twilioSettings;
  const basic = `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}`;
  const fault = (status: number, code: number, message: string) => ({
    refusal: { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } },
  });
  return startServer(
    (request, text) => {
      const fields = Object.fromEntries(new URLSearchParams(text));
      if (request.headers.authorization !== basic) return fault(401, 20003, 'Authenticate');
      const path = `/2010-04-01/Accounts/${account_sid}/Messages.json`;
      if (request.method !== 'POST' || request.url !== path) return fault(404, 20404, 'The resource was not found');
      if (request.headers['content-type'] !== 'application/x-www-form-urlencoded')
        return fault(415, 20008, 'Unsupported content type');
      const { To = '', From, MessagingServiceSid, Body = '', ContentSid = '', StatusCallback = '' } = fields;
      if (!/^((whatsapp:)?\+\d{7,15}|whatsapp:[A-Z]{2}\.\w+)$/.test(To))
        return fault(400, 21211, `The 'To' number ${To} is not valid`);
      const isOneSender = (From === undefined) !== (MessagingServiceSid === undefined);
      if (!isOneSender) return fault(400, 21603, "A 'From' number or a messaging service is required");
      if (From !== undefined && From.startsWith('whatsapp:') !== To.startsWith('whatsapp:'))
        return fault(400, 63007, 'The channel of From and To must be the same');
      if (ContentSid !== '' && !/^HX[0-9a-f]{32}$/.test(ContentSid))
        return fault(400, 21655, 'The ContentSid is not valid');
      if ((Body === '') === (ContentSid === '') || Body.length > 1600)
        return fault(400, 21602, 'Message body is required');
      if (!URL.canParse(StatusCallback)) return fault(400, 21609, "The 'StatusCallback' URL is not valid");
      return { fields };
    },
    () => ({
      status: 201,
      body: { sid: `SM${randomBytes(16).toString('hex')}`, status: 'queued', error_code: null, error_message: null },
    }),
  );
}

/** Returns a call of a provider's hook. */
export function hookCall(request: { headers: Record<string, string>; body: string }, now = new Date()) {
  const { headers, body } = request;
  const query = new URLSearchParams();
  return { method: 'POST' as const, query, rawQuery: '', headers, body: Buffer.from(body), now };
}

/** Returns headers and body of a request from Twilio to `url`, signed like Twilio's. */
export function twilioRequest(url: string, fields: Record<string, string>, authToken = twilioSettings.auth_token) {
  const signed = Object.keys(fields)
    .sort()
    .reduce((text, name) => text + name + fields[name], url);
  const signature = createHmac('sha1', authToken).update(signed, 'utf8').digest('base64');
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature };
  return { headers, body: new URLSearchParams(fields).toString() };
}

export const whatsappSettings = {
  phone_number_id: '106540352242922',
  access_token: 'EAAG-access-token',
  app_secret: 'app-secret',
  verify_token: 'verify-token',
};

type GraphMessage = Record<string, unknown> & {
  text?: { body?: string };
  template?: { name?: string; language?: { code?: string } };
};

/** Starts Meta's Graph API for the number of whatsappSettings. It refuses invalid requests with 401 (190) and 400 (100). */
export function startGraphServer(): Promise<ProviderServer> {
  const { access_token, phone_number_id } = whatsappSettings;
  const fault = (status: number, code: number, message: string) => ({
    refusal: { status, body: { error: { message, type: 'OAuthException', code, fbtrace_id: 'trace' } } },
  });
  return startServer(
    (request, text) => {
      if (request.headers.authorization !== `Bearer ${access_token}`)
        return fault(401, 190, `Malformed access token ${request.headers.authorization?.slice(7)}`);
      if (request.method !== 'POST' || request.url !== `/v23.0/${phone_number_id}/messages`)
        return fault(400, 100, 'Unsupported post request');
      if (request.headers['content-type'] !== 'application/json') return fault(400, 100, 'Not JSON');
      const fields = JSON.parse(text) as GraphMessage;
      const isText = fields.type === 'text' && !!fields.text?.body;
      const isTemplate = fields.type === 'template' && !!fields.template?.name && !!fields.template.language?.code;
      if (fields.messaging_product !== 'whatsapp' || !(isText || isTemplate))
        return fault(400, 100, '(#100) Invalid parameter');
      const { to, recipient } = fields;
      const isAddressed =
        recipient === undefined ? /^\d{7,15}$/.test(String(to)) : /^[A-Z]{2}\.\w+$/.test(String(recipient));
      if (!isAddressed) return fault(400, 131009, 'Parameter value is not valid');
      return { fields };
    },
    () => ({
      status: 200,
      body: { messaging_product: 'whatsapp', messages: [{ id: `wamid.${randomBytes(18).toString('base64')}` }] },
    }),
  );
}

/** Returns headers and body of a request from Meta with one change, `value`, signed like Meta's. */
export function graphRequest(value: unknown, appSecret = whatsappSettings.app_secret) {
  const entry = [{ id: '1', changes: [{ field: 'messages', value }] }];
  return signedGraphRequest(JSON.stringify({ object: 'whatsapp_business_account', entry }), appSecret);
}

/** Returns a request with this body, signed like Meta's. */
export function signedGraphRequest(body: string, appSecret = whatsappSettings.app_secret) {
  const signature = createHmac('sha256', appSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  return { headers, body };
}

export const httpSecret = `whsec_${Buffer.from('a secret of the http provider').toString('base64')}`;

/** Returns headers and body of a request to the http provider's hook, signed by Standard Webhooks at `at`. */
export function httpRequest(content: unknown, at: Date) {
  const body = typeof content === 'string' ? content : JSON.stringify(content);
  const [id, timestamp] = [`hook-${randomBytes(8).toString('hex')}`, Math.floor(at.getTime() / 1000)];
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureHeader(id, timestamp, body, [signingKeyOf(httpSecret)]),
  };
  return { headers, body };
}

/** A mail that a mail server accepted. */
export interface TakenMail {
  from: string;
  to: string[];
  isOverTls: boolean;
  user: string;
  text: string;
}

/** A mail server on loopback, at localhost and 127.0.0.1. */
export interface MailServer {
  port: number;
  mails: TakenMail[];
  stop(): Promise<void>;
}

/** Login of a mail server. */
export const mailLogin = { username: 'shop', password: 'mail-password' };

/**
 * Starts a mail server with STARTTLS, TLS or neither. The recipient's local part decides the outcome: refused (550),
 * later (451), unwanted (554 after the mail), full (452 after it). Others cut the connection or hang: lost (after the
 * mail), cut (at RCPT), silent (never responds). A sender's local part can be banned (553). All others are accepted.
 * `login` is `asked` if required, and `broken` if it fails temporarily.
 */
export async function startMailServer(
  security: 'starttls' | 'tls' | 'none',
  login: 'possible' | 'asked' | 'broken' | 'none' = 'possible',
): Promise<MailServer> {
  const mails: TakenMail[] = [];
  const cut = (sessionId: string) => {
    for (const connection of server.connections) if (connection.id === sessionId) connection._socket.destroy();
  };
  const disabled = [...(security === 'starttls' ? [] : ['STARTTLS']), ...(login === 'none' ? ['AUTH'] : [])];
  const options: SMTPServerOptions = {
    key: testCertificateKey,
    cert: testCertificate,
    secure: security === 'tls',
    closeTimeout: 100,
    disabledCommands: disabled,
    allowInsecureAuth: true,
    authOptional: login !== 'asked',
    logger: false,
    disableReverseLookup: true,
    onAuth({ username, password }, _session, done) {
      if (login === 'broken') return done(replied(454, '4.7.0 Temporary authentication failure'));
      const isRight = username === mailLogin.username && password === mailLogin.password;
      if (isRight) return done(null, { user: username });
      const line = Buffer.from(`\0${username}\0${password}`).toString('base64');
      done(replied(535, `5.7.8 Authentication failed for ${username} with ${password}: AUTH PLAIN ${line}`));
    },
    onMailFrom({ address }, _session, done) {
      done(address.startsWith('banned@') ? replied(553, '5.1.8 Sender is banned') : null);
    },
    onRcptTo({ address }, { id }, done) {
      if (address.startsWith('refused@')) return done(replied(550, '5.1.1 No such user'));
      if (address.startsWith('later@')) return done(replied(451, '4.7.1 Try again later'));
      if (address.startsWith('cut@')) return cut(id);
      done();
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        const from = session.envelope.mailFrom ? session.envelope.mailFrom.address : '';
        if (to[0]?.startsWith('unwanted@')) return done(replied(554, '5.7.1 Looks like spam'));
        if (to[0]?.startsWith('full@')) return done(replied(452, '4.3.1 No space left'));
        const text = Buffer.concat(chunks).toString();
        mails.push({ from, to, isOverTls: session.secure, user: String(session.user ?? ''), text });
        if (to[0]?.startsWith('lost@')) return cut(session.id);
        if (!to[0]?.startsWith('silent@')) done();
      });
    },
  };
  const server = new SMTPServer(options);
  // Errors of cut connections and of clients that do not trust the certificate. Tests check what the clients report.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function replied(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Makes this process trust the mail servers' certificate until the returned function is called. Other tests share the process. */
export function trustTestCertificate(): () => void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, testCertificate]);
  return () => setDefaultCACertificates(before);
}
