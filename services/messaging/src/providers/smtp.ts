import { isIP, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { domainToASCII } from 'node:url';
import { email, text } from '@customer-platform/contracts/core';
import {
  BoundedSocket,
  ConnectError,
  createGuardedConnector,
  refusePrivateTarget,
  type TargetGuard,
  tlsOptions,
} from '@customer-platform/outbound';
import { withTimeout } from '@customer-platform/service-kit';
import MailComposer from 'nodemailer/lib/mail-composer';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import { z } from 'zod';
import { cramMd5 } from './cram-md5.ts';
import { quoted } from './post-result.ts';
import type { Outgoing, Provider, ProviderTools, SendResult } from './provider.ts';

const settings = z
  .object({
    host: z.string().refine(isHost, { error: 'must be the name or the address of a mail server' }),
    port: z
      .int({ error: 'must be 1 to 65535' })
      .min(1, 'must be 1 to 65535')
      .max(65_535, 'must be 1 to 65535')
      .default(587),
    security: z.enum(['starttls', 'tls', 'none'], { error: 'must be starttls, tls or none' }).default('starttls'),
    username: text(320, 1).optional(),
    password: text(1_000, 1).optional(),
    from: text(320).refine((from) => senderOf(from) !== undefined, {
      error: 'must be an email address, such as shop@example.com or "Shop <shop@example.com>"',
    }),
  })
  .refine(({ username, password }) => username === undefined || password !== undefined, {
    error: 'must be given with a username',
    path: ['password'],
  });
type Settings = z.output<typeof settings>;

/** Deadline in ms for DNS, connection, TLS, login and the whole message. */
const wholeMs = 15_000;

/**
 * Maximum bytes of a mail server's replies for a login and a mail, which usually take a few hundred. Without it,
 * endless lines would fill memory, and each empty line would take a turn of the event loop.
 */
const maxReplyBytes = 8_192;

/** The account's own mail server, with one connection per message. It sends no receipts. */
export const provider: Provider<Settings> = createSmtpProvider(wholeMs);

/** Creates the SMTP provider with a deadline. */
export function createSmtpProvider(deadlineMs: number): Provider<Settings> {
  return {
    name: 'smtp',
    channels: ['email'],
    settings,
    secrets: ['password'],
    secretsBelongTo: ['host', 'port', 'security', 'username'],

    prepare(given, call) {
      const host = isIP(given.host) === 6 ? `[${given.host}]` : given.host;
      refusePrivateTarget(`https://${host}:${given.port}`, 'settings.host', call);
      return given;
    },

    async send(message, given, { guard }) {
      const mail = await composed(message, given.from);
      return await new Transmission(mail, given).result({ guard, deadlineMs });
    },
  };
}

/** Reply code for a wrong username or password. */
const wrongLogin = 535;

interface Mail {
  id: string;
  sender: string;
  recipient: string;
  bytes: Buffer;
}

async function composed({ attemptId, to, subject, body, unsubscribeUrl }: Outgoing, from: string): Promise<Mail> {
  const sender = senderOf(from)!;
  // Every call uses the attempt's id, by which servers and clients recognize duplicates.
  const id = `<${attemptId}@${domainOf(sender.address)}>`;
  const node = new MailComposer({
    from: sender,
    // As an object, so that an address with commas is never parsed as a list.
    to: { name: '', address: to },
    subject,
    text: body,
    messageId: id,
    ...(unsubscribeUrl && { headers: unsubscribeHeaders(unsubscribeUrl) }),
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const envelope = node.getEnvelope();
  return { id, sender: String(envelope.from), recipient: envelope.to[0] ?? to, bytes: await node.build() };
}

/** Makes mail programs offer one-click unsubscribing without a page (RFC 8058). */
function unsubscribeHeaders(url: string): Record<string, string> {
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** The rules for targets, and the deadline for the whole transmission. */
interface Transmitting extends Pick<ProviderTools, 'guard'> {
  deadlineMs: number;
}

/** Transmission of one mail over its own connection. */
class Transmission {
  readonly #mail: Mail;
  readonly #settings: Settings;
  /** True once the server may have accepted the mail, even if the connection fails. */
  #isUnderWay = false;
  #isOver = false;
  #connection: SmtpConnection | undefined;
  readonly #failed = Promise.withResolvers<never>();

  constructor(mail: Mail, settings: Settings) {
    this.#mail = mail;
    this.#settings = settings;
  }

  /** Connects, logs in and sends within `deadlineMs`. Never rejects because of the server. */
  async result({ guard, deadlineMs }: Transmitting): Promise<SendResult> {
    const late = () => new ConnectError('timeout', `no response within ${deadlineMs} ms`);
    try {
      await withTimeout(deadlineMs, Promise.race([this.#transmit({ guard, deadlineMs }), this.#failed.promise]), late);
      return { outcome: 'accepted', providerId: this.#mail.id };
    } catch (error) {
      return this.#resultOf(error as SmtpError);
    } finally {
      this.#isOver = true;
      this.#connection?.close();
    }
  }

  async #transmit({ guard, deadlineMs }: Transmitting): Promise<void> {
    const { host, port, security, username: user, password: pass, from } = this.#settings;
    const socket = await connectTo(host, port, guard, deadlineMs);
    if (this.#isOver) {
      socket.destroy();
      return;
    }
    const bounded = new BoundedSocket(socket);
    const connection = new SmtpConnection({
      // A certificate names its host without a trailing dot.
      connection: bounded as unknown as Socket,
      tls: tlsOptions,
      host: host.replace(/\.$/, ''),
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      // Not the host name of this machine, which must not leak.
      name: domainOf(senderOf(from)!.address),
      connectionTimeout: deadlineMs,
      greetingTimeout: deadlineMs,
      socketTimeout: deadlineMs,
      maxResponseSize: maxReplyBytes,
      customAuth: cramMd5,
      // Destroys the socket at once. After a half-close, the connection would continue with data already received.
      socketCloseTimeout: 0,
    });
    this.#connection = connection;
    connection.on('error', this.#failed.reject);
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    bounded.allow(maxReplyBytes);
    if (user !== undefined) {
      if (!connection.allowsAuth) throw new LoginNotOfferedError();
      await new Promise<void>((resolve, reject) => {
        connection.login({ user, ...(pass === undefined ? {} : { pass }) }, (error) =>
          error ? reject(error) : resolve(),
        );
      });
    }
    await this.#sendOver(connection);
  }

  #sendOver(connection: SmtpConnection): Promise<void> {
    const { sender, recipient, bytes } = this.#mail;
    const envelope = { from: sender, to: [recipient], size: bytes.length };
    // The connection reads it only once the server has accepted the envelope.
    const content = new Readable({
      read: () => {
        this.#isUnderWay = true;
        content.push(bytes);
        content.push(null);
      },
    });
    return new Promise((resolve, reject) => {
      connection.send(envelope, content, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Converts an error to a result. A refusal of a step of this mail decides by the server's response, otherwise the connection's progress does. */
  #resultOf(error: SmtpError): SendResult {
    const { code = '', command = '', response, responseCode = 0 } = error;
    if (error instanceof LoginNotOfferedError) return { outcome: 'rejected', message: error.message };
    // Every connection error has a code: an error without one is a bug.
    if (code === '') throw error;
    const isRefusal = code === 'EENVELOPE' || code === 'EMESSAGE' || code === 'EAUTH';
    if (this.#isUnderWay && !(isRefusal && responseCode >= 400)) {
      return { outcome: 'unknown', message: 'The mail server did not confirm the message: it may have been sent' };
    }
    if (error instanceof ConnectError) return resultOfConnectError(error);
    const said = quoted(response ?? '', loginsOf(this.#settings));
    if (isRefusal && said === '') return { outcome: 'rejected', message: refusalWithoutWords(code, command) };
    if (code === 'EAUTH' && responseCode === wrongLogin)
      return { outcome: 'refused', message: `The mail server responded: ${said}` };
    if (isRefusal && responseCode >= 500) return { outcome: 'rejected', message: `The mail server responded: ${said}` };
    if (said !== '') return { outcome: 'unavailable', message: `The mail server responded: ${said}` };
    // The connection's own timeouts equal the deadline and may fire first.
    if (code === 'ETIMEDOUT') return resultOfConnectError({ failure: 'timeout' });
    const isTls = code === 'ETLS' || isCertificateCode(error.originalCode ?? '');
    const message = isTls
      ? 'The mail server could not be reached over trusted TLS'
      : 'The mail server closed the connection';
    return { outcome: 'unavailable', message };
  }
}

/** Properties of errors from nodemailer and sockets. */
type SmtpError = Error & {
  code?: string;
  originalCode?: string;
  command?: string;
  response?: string;
  responseCode?: number;
};

class LoginNotOfferedError extends Error {
  constructor() {
    super('The mail server offers no login on this connection: change security, or omit username');
  }
}

/** Returns the message for a refusal by the client itself: mail too large, or no common login method. */
function refusalWithoutWords(code: string, command: string): string {
  if (code === 'EAUTH') return 'The mail server does not offer a login with username and password';
  if (command === 'MAIL FROM') return 'The message is larger than the mail server accepts';
  return 'The mail server does not support this address';
}

function resultOfConnectError({ failure }: Pick<ConnectError, 'failure'>): SendResult {
  if (failure === 'blocked') return { outcome: 'rejected', message: 'The mail server is at a blocked address' };
  if (failure === 'dns')
    return { outcome: 'unavailable', message: 'The mail server has a host name that cannot be resolved' };
  if (failure === 'timeout') return { outcome: 'unavailable', message: 'The mail server did not respond in time' };
  return { outcome: 'unavailable', message: 'The mail server could not be reached' };
}

function isCertificateCode(code: string): boolean {
  return /CERT|^ERR_(SSL|TLS)|SELF_SIGNED|UNABLE_TO_/.test(code);
}

/** Connects to a checked address of the host. TLS starts later on the same socket. Rejects with a ConnectError. */
function connectTo(hostname: string, port: number, guard: TargetGuard, connectTimeoutMs: number): Promise<Socket> {
  const connect = createGuardedConnector({ ...guard, connectTimeoutMs });
  return new Promise((resolve, reject) => {
    connect({ hostname, port: String(port), protocol: 'smtp:' }, (error, socket) => {
      if (error) reject(error);
      else resolve(socket!);
    });
  });
}

/** Parses "address" or "Name <address>"; undefined if it is neither. */
function senderOf(from: string): { name: string; address: string } | undefined {
  const [, name = '', address = from] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(from.trim()) ?? [];
  const isAddress = email.safeParse(address).success && !/[<>,;"]/.test(address);
  return isAddress ? { name: name.trim().replace(/^"(.*)"$/, '$1'), address: address.trim() } : undefined;
}

/** Returns an address's domain in ASCII, as in mail headers. */
function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1);
  return domainToASCII(domain) || domain;
}

/** Returns the login secrets that a server may repeat: the password and its encodings in login methods. */
function loginsOf({ username = '', password = '' }: Settings): string[] {
  if (password === '') return [];
  const written = [`\0${username}\0${password}`, `${username}\0${username}\0${password}`, password];
  return [...written.map((text) => Buffer.from(text).toString('base64')), password];
}

/** Returns whether the host is an IP address or a name valid in a URL. A name that parses as a number must be an address. */
function isHost(host: string): boolean {
  if (isIP(host) !== 0) return !host.includes('%');
  return host.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(host) && URL.canParse(`https://${host}`);
}
