import { z } from 'zod';
import { ErrorEnvelope } from '../core/errors.ts';
import { clearable, email, text, timestamp, uuid } from '../core/fields.ts';

const fieldValue = z.union([text(1_000), z.number(), z.boolean()], {
  error: 'must be a string of at most 1000 characters, a number or a boolean',
});
const fieldName = text(100, 1);

/** Custom fields of a contact: at most 100; customer data checks that the merged result is at most 64 KiB as JSON. */
export const ContactFields = z
  .record(fieldName, fieldValue)
  .refine((fields) => Object.keys(fields).length <= 100, { error: 'must have at most 100 keys' })
  .meta({ description: 'At most 100 keys and 64 KiB as JSON.' });

const tags = z.array(text(100, 1)).max(100).meta({ description: 'Tags; repeated tags are stored once.' });
const phone = text(50).meta({
  description:
    "A phone number; without a country code it is read as a number of the account's country. Responses show E.164.",
});

const externalId = text(200);
const name = text(200);
const emailOrNone = email.or(z.literal(''));

/** Body of POST. */
export const ContactInput = z
  .object({
    external_id: externalId
      .optional()
      .meta({ description: "The contact's id in your own system; it need not be unique." }),
    name: name.default(''),
    phone: phone.optional(),
    email: emailOrNone.optional(),
    tags: tags.default([]),
    fields: ContactFields.default({}),
  })
  .refine((contact) => contact.name || contact.phone || contact.email || contact.external_id, {
    path: ['name'],
    error: 'must be given, or phone, email or external_id: a contact needs one of them',
  });

/** Body of PATCH: `fields` merges by key and null removes a key, or all of them; null or an empty string clears a value; `tags` is replaced. */
export const ContactChange = z.object({
  external_id: clearable(externalId, ''),
  name: clearable(name, ''),
  phone: clearable(phone, ''),
  email: clearable(emailOrNone, ''),
  tags: clearable(tags, []),
  fields: z.record(fieldName, fieldValue.nullable()).nullable().optional(),
});

/** Body of PUT by external id: the id comes from the path; omitted values of an existing contact are kept. */
export const ContactByExternalId = ContactChange.omit({ external_id: true });

/** Most contacts that one request writes. */
export const maxBatch = 500;

/** A contact of a batch: found by its external id, else its email, else its phone, and then updated as by PATCH. */
export const WrittenContact = ContactChange;

/** What a batch came to, entry by entry. */
export const ContactsWritten = z
  .object({
    created: z.int(),
    updated: z.int(),
    unchanged: z.int(),
    failed: z.int(),
    data: z.array(
      z
        .object({
          index: z.int().meta({ description: 'Place in the request, from 0.' }),
          outcome: z.enum(['created', 'updated', 'unchanged', 'failed']),
          id: z.guid().nullable().meta({ description: 'Id of the contact; null if the entry failed.' }),
          error: ErrorEnvelope.shape.error.nullable().meta({ description: 'Why the entry failed; otherwise null.' }),
        })
        .meta({ id: 'ContactOutcome' }),
    ),
  })
  .meta({ id: 'ContactsWritten' });
export type ContactsWritten = z.infer<typeof ContactsWritten>;

export const Contact = z
  .object({
    id: z.guid(),
    number: z
      .int()
      .meta({ description: 'Number of the contact, counting up within the account; shown as its id in agent plans.' }),
    external_id: z.string().nullable(),
    name: z.string(),
    phone: z.string().nullable().meta({ description: 'Phone number in E.164.' }),
    email: z.string().nullable().meta({ description: 'Email address in lower case.' }),
    tags: z.array(z.string()),
    fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    merged_into: z
      .guid()
      .nullable()
      .meta({ description: 'Always null: the id of a merged contact returns the contact it was merged into.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Contact' });
export type Contact = z.infer<typeof Contact>;

/** A contact as every other module shows it; `phone` is empty if there is none. */
export const ContactSummary = z
  .object({ id: z.guid(), name: z.string(), phone: z.string() })
  .meta({ id: 'ContactSummary' });
export type ContactSummary = z.infer<typeof ContactSummary>;

export const contactPath = z.object({ contact_id: uuid.meta({ param: { id: 'ContactId' } }) });
