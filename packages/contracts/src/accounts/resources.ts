import { z } from 'zod';
import { accountMode } from '../core/event.ts';
import { currency, email, instant, text, timestamp, timezone, uuid } from '../core/fields.ts';
import { moduleNames, scopes } from '../core/modules.ts';

/** A name of 1 to `max` characters that is not blank. */
const name = (max: number) =>
  text(max, 1).refine((value) => value.trim() !== '', {
    error: `must be a string of 1 to ${max} characters, not blank`,
  });

/** A token bucket of `burst` requests that refills with `per_minute` / 60 requests a second. */
export const RateLimit = z
  .object({
    per_minute: z.int().min(1).max(1_000_000).meta({ description: 'Sustained rate in requests per minute.' }),
    burst: z.int().min(1).max(1_000_000).meta({ description: 'Requests allowed at once after a quiet time.' }),
  })
  .meta({ id: 'RateLimit', description: 'How many requests a key may send. Each key has its own bucket.' });
export type RateLimit = z.infer<typeof RateLimit>;

export const defaultRateLimit: RateLimit = { per_minute: 600, burst: 100 };

const Plan = z
  .object({
    name: name(120),
    api: z.boolean().default(true).meta({ description: 'Whether the plan includes the API.' }),
    modules: z
      .array(z.enum(moduleNames))
      .max(moduleNames.length)
      .default([...moduleNames]),
  })
  .meta({ id: 'Plan' });

const moduleSwitches = z.object(
  Object.fromEntries(moduleNames.map((name) => [name, z.object({ on: z.boolean() }).optional()])) as Record<
    (typeof moduleNames)[number],
    z.ZodOptional<z.ZodObject<{ on: z.ZodBoolean }>>
  >,
);

export const country = z
  .string()
  .regex(/^[A-Z]{2}$/, { error: 'must be an ISO 3166 alpha-2 country code, such as DE' });
export const language = z
  .string()
  .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, { error: 'must be a language tag, such as en or pt-BR' });

/** Body of POST /admin/accounts. */
export const AccountInput = z.object({
  name: name(200),
  timezone: timezone.default('UTC'),
  country: country.optional().meta({ description: 'Default: the country of the timezone.' }),
  language: language.default('en'),
  currency: currency.default('EUR'),
  plan: Plan.optional(),
  modules: moduleSwitches.optional(),
  rate_limit: RateLimit.optional(),
});

/** Body of PATCH /admin/accounts/{id}: objects merge by key. */
export const AccountChange = z.object({
  name: name(200).optional(),
  status: z.enum(['active', 'suspended']).optional(),
  timezone: timezone.optional(),
  plan: z
    .object({ name: name(120), api: z.boolean(), modules: z.array(z.enum(moduleNames)) })
    .partial()
    .optional(),
  modules: moduleSwitches.optional(),
  rate_limit: RateLimit.partial().optional(),
});

export const Account = z
  .object({
    id: z.guid(),
    name: z.string(),
    status: z.enum(['active', 'suspended']),
    timezone: z.string(),
    country: z.string(),
    language: z.string(),
    currency: z.string(),
    plan: z.object({ name: z.string(), api: z.boolean(), modules: z.array(z.enum(moduleNames)) }),
    modules: z.record(z.enum(moduleNames), z.object({ on: z.boolean() })),
    rate_limit: RateLimit,
    sandbox_id: z.guid().nullable().meta({ description: 'Id of the sandbox; null if the account is a sandbox.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Account' });

/** `*` means every scope. */
const scopeList = z
  .array(z.enum(['*', ...scopes]))
  .min(1)
  .max(scopes.length + 1)
  .meta({ description: 'Scopes of the operations that the key may call. `*` is every scope, including later ones.' });

const cidr = z
  .union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], {
    error: 'must be an IP address or a CIDR range, such as 203.0.113.0/24',
  })
  .meta({ examples: ['203.0.113.0/24'] });

const keyMode = accountMode.meta({
  description: '`live`: the key acts on the account. `test`: it acts on its sandbox.',
});

/** Body of POST /admin/accounts/{id}/keys. */
export const KeyInput = z.object({
  name: name(120).meta({ description: 'Your name for the key, such as the program that uses it.' }),
  mode: keyMode,
  scopes: scopeList,
  allowed_addresses: z
    .array(cidr)
    .max(100)
    .default([])
    .meta({ description: 'IP addresses and CIDR ranges that may use the key; empty: any address.' }),
  rate_limit: RateLimit.optional().meta({ description: "Default: the account's rate limit." }),
  expires_at: instant.optional().meta({ description: 'When the key expires. Default: never.' }),
});

/** Body of POST /v1/keys, without the rate limit, which only an operator sets. */
export const OwnKeyInput = KeyInput.omit({ rate_limit: true });

export const Key = z
  .object({
    id: z.guid().meta({ description: 'Id of the key, for paths; not the secret key.' }),
    name: z.string().meta({ description: KeyInput.shape.name.description }),
    mode: keyMode,
    scopes: z.array(z.string()).meta({ description: scopeList.description }),
    allowed_addresses: z.array(z.string()).meta({ description: KeyInput.shape.allowed_addresses.description }),
    rate_limit: RateLimit.nullable().meta({
      description: "The key's own rate limit, set by an operator; null: the account's applies.",
    }),
    last4: z.string().meta({ description: 'Last four characters of the key, to recognize it.' }),
    created_at: timestamp,
    last_used_at: timestamp
      .nullable()
      .meta({ description: 'When the key was last used, accurate to 60 seconds; null if never.' }),
    expires_at: timestamp.nullable().meta({
      description: 'When the key ends: its expiry, or the end of the overlap after a rotation; null: never.',
    }),
    revoked_at: timestamp.nullable().meta({ description: 'When the key was revoked; null if it was not.' }),
  })
  .meta({ id: 'Key', description: 'An API key, without the secret.' });
export type Key = z.infer<typeof Key>;

export const KeyWithSecret = Key.extend({
  key: z.string().meta({ description: 'The secret key; only this response contains it.' }),
}).meta({ id: 'KeyWithSecret', description: 'A new API key.' });

/** Body of POST /admin/accounts/{id}/members. Emails appear in paths, so a slash is rejected. */
export const MemberInput = z.object({
  name: name(120).meta({ description: 'Name shown in bookings. It replaces the name of an existing member.' }),
  email: email
    .refine((value) => !value.includes('/'), { error: 'must be an email address without a slash' })
    .meta({ description: 'Identifies the member in the whole API, such as in `staff`. Stored in lower case.' }),
});

export const Member = z
  .object({
    id: z.guid().meta({ description: 'Id of the member, for paths of this resource.' }),
    name: z.string().meta({ description: 'Name shown in bookings.' }),
    email: z.string().meta({ description: 'Identifies the member in the whole API, such as in `staff`.' }),
    active: z.boolean().meta({ description: 'Whether the member is on the team; false after removal.' }),
  })
  .meta({ id: 'Member', description: "A member of the account's team." });
export type Member = z.infer<typeof Member>;

export const accountPath = z.object({ account_id: uuid });
export const keyPath = z.object({ key_id: uuid.meta({ description: 'Id of an API key.' }) });
export const memberPath = z.object({ account_id: uuid, member_id: uuid.meta({ description: 'Id of a team member.' }) });
export const ownMemberPath = memberPath.omit({ account_id: true });

/** A client address with invalid keys in the last hour. */
export const AddressWithInvalidKeys = z
  .object({
    address: z.string().meta({ description: 'An IPv4 address, or an IPv6 network such as 2001:db8:0:1::/64.' }),
    invalid_keys: z.int().meta({ description: 'Number of invalid keys from this address in the last hour.' }),
    last_at: timestamp,
  })
  .meta({ id: 'AddressWithInvalidKeys' });

/** Response of GET /v1/me. */
export const Me = z
  .object({
    account: z
      .object({
        id: z.guid().meta({ description: 'Id of the account; the field `account` of events.' }),
        name: z.string().meta({ description: 'Name of the account; `{{account_name}}` in templates.' }),
        timezone: z.string().meta({ description: 'IANA timezone of timestamps and of day boundaries.' }),
        currency: z.string().meta({ description: 'ISO 4217 code: the default currency of orders and deals.' }),
      })
      .meta({ description: 'The account that the key acts on; for a test key, its sandbox.' }),
    mode: keyMode,
    scopes: z.array(z.string()).meta({ description: scopeList.description }),
    modules: z.array(z.enum(moduleNames)).meta({ description: 'Modules that are in the plan and switched on.' }),
    rate_limit: RateLimit,
    tzdata: z.string().meta({ description: 'Version of the timezone database in use.' }),
  })
  .meta({ id: 'Me', description: 'A key, its account and its rights.' });

/** Maximum number of days by which one request advances a clock. */
export const maxAdvanceDays = 366;

/** The clock of a sandbox account. */
export const SandboxClock = z
  .object({
    now: timestamp.meta({ description: 'Current time of the sandbox.' }),
    status: z.enum(['ready', 'advancing']).meta({
      description: '`advancing` until the clock has reached `target` and all due work is done; otherwise `ready`.',
    }),
    target: timestamp.nullable().meta({ description: 'Time that the clock is advancing to; null if `ready`.' }),
  })
  .meta({ id: 'SandboxClock', description: 'The clock of a sandbox account.' });
export type SandboxClock = z.infer<typeof SandboxClock>;
