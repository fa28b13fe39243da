import { z } from 'zod';

/** Channel on which a contact is reached. */
export const channel = z.enum(['whatsapp', 'sms', 'email'], { error: 'must be whatsapp, sms or email' });
export type Channel = z.infer<typeof channel>;
