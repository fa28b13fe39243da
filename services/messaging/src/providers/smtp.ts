import { isIP, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { domainToASCII } from 'node:url';
import { email, text } from '@customer-platform/contracts/core';
import {
  ConnectError,
  createGuardedConnector,
  refusePrivateTarget,
  type TargetGuard,
} from '@customer-platform/outbound';
import { withTimeout } from '@customer-platform/service-kit';
import MailComposer from 'nodemailer/lib/mail-composer';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import { z } from 'zod';
import { quoted } from './post-result.ts';
import type { Outgoing, Provider, SendResult } from './provider.ts';

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

/** Over the look-up of the name, the connection, TLS, the login and the whole message. */
const wholeMs = 15_000;

/** A mail server of the account's own, with one connection for each message. It reports nothing back. */
export const provider: Provider<Settings> = createSmtpProvider(wholeMs);

/** The same with another deadline. */
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
      return await new Transmission(mail, given).result(guard, deadlineMs);
    },
  };
}

interface Mail {
  id: string;
  sender: string;
  recipient: string;
  bytes: Buffer;
}

async function composed({ attemptId, to, subject, body }: Outgoing, from: string): Promise<Mail> {
  const sender = senderOf(from)!;
  // The attempt's own id makes the mail the same one in every try: servers and readers know a repetition by it.
  const id = `<${attemptId}@${domainOf(sender.address)}>`;
  const node = new MailComposer({
    from: sender,
    // An address and never a list of them, whatever is in it.
    to: { name: '', address: to },
    subject,
    text: body,
    messageId: id,
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const envelope = node.getEnvelope();
  return { id, sender: String(envelope.from), recipient: envelope.to[0] ?? to, bytes: await node.build() };
}

/** One mail on its way over a connection of its own. */
class Transmission {
  readonly #mail: Mail;
  readonly #settings: Settings;
  /** From here on the server may have taken the mail, whatever becomes of the connection. */
  #isUnderWay = false;
  #isOver = false;
  #connection: SmtpConnection | undefined;
  readonly #failed = Promise.withResolvers<never>();

  constructor(mail: Mail, settings: Settings) {
    this.#mail = mail;
    this.#settings = settings;
  }

  /** Connects, logs in and sends, within `deadlineMs` over all of it. Never rejects for what the server does. */
  async result(guard: TargetGuard, deadlineMs: number): Promise<SendResult> {
    const late = () => new ConnectError('timeout', `nothing came within ${deadlineMs} ms`);
    try {
      await withTimeout(deadlineMs, Promise.race([this.#transmit(guard, deadlineMs), this.#failed.promise]), late);
      return { outcome: 'accepted', providerId: this.#mail.id };
    } catch (error) {
      return this.#resultOf(error as SmtpError);
    } finally {
      this.#isOver = true;
      this.#connection?.close();
    }
  }

  async #transmit(guard: TargetGuard, deadlineMs: number): Promise<void> {
    const { host, port, security, username: user, password: pass, from } = this.#settings;
    const socket = await dial(host, port, guard, deadlineMs);
    if (this.#isOver) {
      socket.destroy();
      return;
    }
    const connection = new SmtpConnection({
      // A certificate names its host without the dot that ends a name.
      connection: socket,
      host: host.replace(/\.$/, ''),
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      // Not the name of this machine, which is nobody's business outside.
      name: domainOf(senderOf(from)!.address),
      connectionTimeout: deadlineMs,
      greetingTimeout: deadlineMs,
      socketTimeout: deadlineMs,
      maxResponseSize: 64 * 1024,
    });
    this.#connection = connection;
    connection.on('error', this.#failed.reject);
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
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
    // The connection reads it once the server has said that it wants the mail, and not before.
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

  /** What the server said decides where it answered a step of this mail; where the connection failed, how far it had come does. */
  #resultOf(error: SmtpError): SendResult {
    const { code = '', command = '', response, responseCode = 0 } = error;
    if (error instanceof LoginNotOfferedError) return { outcome: 'rejected', message: error.message };
    // Every error of the connection has a code: this one is a fault of ours.
    if (code === '') throw error;
    const isAnswered = code === 'EENVELOPE' || code === 'EMESSAGE' || code === 'EAUTH';
    if (this.#isUnderWay && !(isAnswered && responseCode >= 400)) {
      return { outcome: 'unknown', message: 'The mail server did not confirm the message: it may have been sent' };
    }
    if (error instanceof ConnectError) return resultOfDial(error);
    const said = quoted(response ?? '', loginsOf(this.#settings));
    if (isAnswered && said === '') return { outcome: 'rejected', message: refusalWithoutWords(code, command) };
    if (isAnswered && responseCode >= 500)
      return { outcome: 'rejected', message: `The mail server responded: ${said}` };
    if (said !== '') return { outcome: 'unavailable', message: `The mail server responded: ${said}` };
    // The connection's own bounds are as long as ours, and may be noticed first.
    if (code === 'ETIMEDOUT') return resultOfDial({ failure: 'timeout' });
    const isTls = code === 'ETLS' || isCertificateCode(error.originalCode ?? '');
    const message = isTls
      ? 'No trusted TLS connection to the mail server could be made'
      : 'The mail server closed the connection';
    return { outcome: 'unavailable', message };
  }
}

/** What nodemailer's errors and those of sockets tell. */
type SmtpError = Error & {
  code?: string;
  originalCode?: string;
  command?: string;
  response?: string;
  responseCode?: number;
};

class LoginNotOfferedError extends Error {
  constructor() {
    super('The mail server offers no login on this connection: use another security, or leave username out');
  }
}

/** What is refused before the server was asked: a mail larger than it takes, a login that it has no common way for. */
function refusalWithoutWords(code: string, command: string): string {
  if (code === 'EAUTH') return 'The mail server offers no way to log in with a username and a password';
  if (command === 'MAIL FROM') return 'The message is larger than the mail server accepts';
  return 'The mail server cannot be given this address';
}

function resultOfDial({ failure }: Pick<ConnectError, 'failure'>): SendResult {
  if (failure === 'blocked') return { outcome: 'rejected', message: 'The mail server is at a blocked address' };
  if (failure === 'dns')
    return { outcome: 'unavailable', message: 'The mail server has a host name that cannot be resolved' };
  if (failure === 'timeout') return { outcome: 'unavailable', message: 'The mail server did not respond in time' };
  return { outcome: 'unavailable', message: 'The mail server could not be reached' };
}

function isCertificateCode(code: string): boolean {
  return /CERT|^ERR_(SSL|TLS)|SELF_SIGNED|UNABLE_TO_/.test(code);
}

/** A plain connection to a vetted address of the host; TLS begins on it. Rejects with a ConnectError. */
function dial(hostname: string, port: number, guard: TargetGuard, connectTimeoutMs: number): Promise<Socket> {
  const connect = createGuardedConnector({ ...guard, connectTimeoutMs });
  return new Promise((resolve, reject) => {
    connect({ hostname, port: String(port), protocol: 'smtp:' }, (error, socket) => {
      if (error) reject(error);
      else resolve(socket!);
    });
  });
}

/** The name and address of "address" or "Name <address>"; undefined where it is neither. */
function senderOf(from: string): { name: string; address: string } | undefined {
  const [, name = '', address = from] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(from.trim()) ?? [];
  const isAddress = email.safeParse(address).success && !/[<>,;"]/.test(address);
  return isAddress ? { name: name.trim().replace(/^"(.*)"$/, '$1'), address: address.trim() } : undefined;
}

/** As mail carries it: in ASCII. */
function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1);
  return domainToASCII(domain) || domain;
}

/** What a server that repeats a login would say: the password, and how the ways to log in write it. */
function loginsOf({ username = '', password = '' }: Settings): string[] {
  if (password === '') return [];
  const written = [`\0${username}\0${password}`, `${username}\0${username}\0${password}`, password];
  return [...written.map((text) => Buffer.from(text).toString('base64')), password];
}

/** Whether it is an address, or a name that can stand in a URL; one that reads as a number has to be an address. */
function isHost(host: string): boolean {
  if (isIP(host) !== 0) return !host.includes('%');
  return host.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(host) && URL.canParse(`https://${host}`);
}
