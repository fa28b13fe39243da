import { createHmac } from 'node:crypto';
import type SmtpConnection from 'nodemailer/lib/smtp-connection';

type Handlers = NonNullable<NonNullable<ConstructorParameters<typeof SmtpConnection>[0]>['customAuth']>;

/** Maximum bytes of a challenge line, as for any SMTP line (RFC 5321, 4.5.3.1). */
const maxChallengeLength = 1_000;

/**
 * CRAM-MD5 login (RFC 2195) for servers that offer neither PLAIN nor LOGIN. Replaces the mail client's own handler,
 * whose pattern takes quadratic time on the challenge: up to 200 ms for a valid length.
 */
export const cramMd5: Handlers = {
  async 'CRAM-MD5'({ auth: { credentials }, sendCommand }) {
    const { status, response } = await sendCommand('AUTH CRAM-MD5');
    if (status !== 334 || response.length > maxChallengeLength) throw new Error('The server sent no challenge');
    const challenge = Buffer.from(response.slice('334 '.length), 'base64');
    const digest = createHmac('md5', credentials?.pass ?? '')
      .update(challenge)
      .digest('hex');
    const { status: outcome } = await sendCommand(Buffer.from(`${credentials?.user} ${digest}`).toString('base64'));
    if (outcome !== 235) throw new Error('Invalid login');
  },
};
