import { z } from 'zod';
import { accountMode } from '../core/event.ts';
import { currency, email, instant, text, timestamp, timezone, uuid } from '../core/fields.ts';
import { moduleNames, scopes } from '../core/modules.ts';

/** A name of 1 to `max` characters that is not blank. */
const name = (max: number) =>
  text(max, 1).refine((value) => value.trim() !== '', {
    error: `must be a string of 1 to ${max} characters, not blank`,
  });

/** A token bucket: `burst` requests at once, refilled with `per_minute` / 60 a second. */
export const RateLimit = z
  .object({
    per_minute: z.int().min(1).max(1_000_000).meta({ description: 'Requests per minute in the long run.' }),
    burst: z.int().min(1).max(1_000_000).meta({ description: 'Requests that may come at once after a quiet time.' }),
  })
  .meta({ id: 'RateLimit', description: 'How many requests a key may make; each key counts on its own.' });
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
  country: country.optional().meta({ description: "Default: the timezone's country." }),
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
    sandbox_id: z.guid().nullable().meta({ description: 'Id of the sandbox twin; null for a sandbox.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Account' });

/** `*` means every scope. */
const scopeList = z
  .array(z.enum(['*', ...scopes]))
  .min(1)
  .max(scopes.length + 1)
  .meta({ description: 'What the key may do: the scopes of operations; `*` is every scope.' });

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
  name: name(120).meta({ description: 'Your own name for the key, such as that of the program that uses it.' }),
  mode: keyMode,
  scopes: scopeList,
  allowed_addresses: z
    .array(cidr)
    .max(100)
    .default([])
    .meta({ description: 'Addresses and CIDR ranges that may use the key; empty: any address.' }),
  rate_limit: RateLimit.optional().meta({ description: "Default: the account's setting." }),
  expires_at: instant.optional().meta({ description: 'When the key expires; default: never.' }),
});

/** Body of POST /v1/keys: the rate limit is the operator's to set. */
export const OwnKeyInput = KeyInput.omit({ rate_limit: true });

export const Key = z
  .object({
    id: z.guid().meta({ description: 'Names the key in paths; it is not the key itself.' }),
    name: z.string().meta({ description: KeyInput.shape.name.description }),
    mode: keyMode,
    scopes: z.array(z.string()).meta({ description: scopeList.description }),
    allowed_addresses: z.array(z.string()).meta({ description: KeyInput.shape.allowed_addresses.description }),
    rate_limit: RateLimit.nullable().meta({
      description: "A limit of its own, which an operator sets; null: the account's.",
    }),
    last4: z.string().meta({ description: 'Last four characters of the key, to recognize it by.' }),
    created_at: timestamp,
    last_used_at: timestamp
      .nullable()
      .meta({ description: 'When it was last used, accurate to 60 seconds; null if never.' }),
    expires_at: timestamp.nullable().meta({
      description: 'When it ends: its expiry, or the end of the overlap after its rotation. Null: never.',
    }),
    revoked_at: timestamp.nullable().meta({ description: 'When it was revoked; null if it was not.' }),
  })
  .meta({ id: 'Key', description: 'An API key, without the key itself.' });
export type Key = z.infer<typeof Key>;

export const KeyWithSecret = Key.extend({
  key: z.string().meta({ description: 'The secret key, shown only in this response.' }),
}).meta({ id: 'KeyWithSecret', description: 'A new API key.' });

/** Body of POST /admin/accounts/{id}/members. Emails appear in paths, so a slash is refused. */
export const MemberInput = z.object({
  name: name(120).meta({ description: 'Name that bookings show; it replaces that of an existing member.' }),
  email: email
    .refine((value) => !value.includes('/'), { error: 'must be an email address without a slash' })
    .meta({ description: 'Identifies the member throughout the API, such as in `staff`; kept in lower case.' }),
});

export const Member = z
  .object({
    id: z.guid().meta({ description: 'Names the member in paths of this resource.' }),
    name: z.string().meta({ description: 'Name that bookings show.' }),
    email: z.string().meta({ description: 'Identifies the member throughout the API, such as in `staff`.' }),
    active: z.boolean().meta({ description: 'Whether the member is on the team: false after a removal.' }),
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
        id: z.guid().meta({ description: 'Id of the account, which events have as `account`.' }),
        name: z.string().meta({ description: 'Name of the account, which templates have as `{{account_name}}`.' }),
        timezone: z.string().meta({ description: 'IANA timezone, by which days begin and timestamps are shown.' }),
        currency: z.string().meta({ description: 'ISO 4217 code: the default currency of orders and deals.' }),
      })
      .meta({ description: 'The account that the key acts on; for a test key, its sandbox.' }),
    mode: keyMode,
    scopes: z.array(z.string()).meta({ description: scopeList.description }),
    modules: z.array(z.enum(moduleNames)).meta({ description: 'Modules in the plan and switched on.' }),
    rate_limit: RateLimit,
    tzdata: z.string().meta({ description: 'Version of the timezone database in use.' }),
  })
  .meta({ id: 'Me', description: 'What a key is and may do.' });

/** The most that one request may advance a clock by, in days. */
export const maxAdvanceDays = 366;

/** The clock of a sandbox account. */
export const SandboxClock = z
  .object({
    now: timestamp.meta({ description: 'The time by which everything of the sandbox goes.' }),
    status: z.enum(['ready', 'advancing']).meta({
      description: '`advancing` until the clock is at `target` and what fell due has been done; then `ready`.',
    }),
    target: timestamp.nullable().meta({ description: 'The time that it is advancing to; null while it is ready.' }),
  })
  .meta({ id: 'SandboxClock', description: 'The clock of a sandbox account.' });
export type SandboxClock = z.infer<typeof SandboxClock>;
