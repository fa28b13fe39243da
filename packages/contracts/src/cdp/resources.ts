import { z } from 'zod';
import { ErrorEnvelope } from '../core/errors.ts';
import { clearable, email, text, timestamp, uuid } from '../core/fields.ts';

const fieldValue = z.union([text(1_000), z.number(), z.boolean()], {
  error: 'must be a string of at most 1000 characters, a number or a boolean',
});
const fieldName = text(100, 1);

/** At most 100 custom fields of a contact. Customer data checks that the merged result has at most 64 KiB as JSON. */
export const ContactFields = z
  .record(fieldName, fieldValue)
  .refine((fields) => Object.keys(fields).length <= 100, { error: 'must have at most 100 keys' })
  .meta({ description: 'Custom fields by name. At most 100 keys and 64 KiB as JSON.' });

const tags = z.array(text(100, 1)).max(100);
const phone = text(50);
const phoneRule =
  "Phone number. Without a country code, it is a number of the account's country. Responses show E.164.";
const emailRule = 'Email address, stored in lowercase, not necessarily unique.';

const externalId = text(200);
const name = text(200);
const emailOrNone = email.or(z.literal(''));

/** Body of POST. */
export const ContactInput = z
  .object({
    external_id: externalId
      .optional()
      .meta({ description: "The contact's id in your own system, not necessarily unique." }),
    name: name.default('').meta({
      description: 'Full name. A contact needs at least one of name, phone, email and external id.',
    }),
    phone: phone.optional().meta({ description: phoneRule }),
    email: emailOrNone.optional().meta({ description: emailRule }),
    tags: tags.default([]).meta({ description: 'Tags; duplicates are stored once.' }),
    fields: ContactFields.default({}),
  })
  .refine((contact) => contact.name || contact.phone || contact.email || contact.external_id, {
    path: ['name'],
    error: 'must be given, or phone, email or external_id: a contact needs one of them',
  });

/** Body of PATCH. `fields` merges by key; null removes a key, or all keys. Null or an empty string clears a value. `tags` is replaced. */
export const ContactChange = z.object({
  external_id: clearable(externalId, '').meta({
    description: "The contact's id in your own system; null or an empty string removes it.",
  }),
  name: clearable(name, '').meta({ description: 'Full name; null or an empty string removes it.' }),
  phone: clearable(phone, '').meta({ description: `${phoneRule} Null or an empty string removes it.` }),
  email: clearable(emailOrNone, '').meta({ description: `${emailRule} Null or an empty string removes it.` }),
  tags: clearable(tags, []).meta({
    description: 'All tags, replacing the current tags. Null or an empty list removes all.',
  }),
  fields: z.record(fieldName, fieldValue.nullable()).nullable().optional().meta({
    description:
      'Custom fields to change, by name. Fields that are left out stay. Null removes a field; null instead of the object removes all.',
  }),
});

/** Body of PUT by external id, which is in the path. Values left out or null stay as they are in an existing contact. */
export const ContactByExternalId = z.object({
  name: name.optional().meta({ description: 'Full name; an empty string removes it.' }),
  phone: phone.optional().meta({ description: `${phoneRule} An empty string removes it.` }),
  email: emailOrNone.optional().meta({ description: `${emailRule} An empty string removes it.` }),
  tags: tags.optional().meta({ description: 'All tags, replacing the current tags. An empty list removes all.' }),
  fields: ContactChange.shape.fields.unwrap().unwrap().optional().meta({
    description: 'Custom fields to change, by name. Fields that are left out stay; null removes a field.',
  }),
});

/** Maximum number of contacts in one request. */
export const maxBatch = 500;

/** An entry of a batch. The contact is found by external id, otherwise by email, otherwise by phone, and updated like PATCH. */
export const WrittenContact = ContactChange;

/** Outcome of a batch, by entry. */
export const ContactsWritten = z
  .object({
    created: z.int().meta({ description: 'Number of entries that created a contact.' }),
    updated: z.int().meta({ description: 'Number of entries that changed a contact.' }),
    unchanged: z.int().meta({ description: 'Number of entries whose contact already had all these values.' }),
    failed: z.int().meta({ description: 'Number of entries that failed.' }),
    data: z
      .array(
        z
          .object({
            index: z.int().meta({ description: 'Position in the request, from 0.' }),
            outcome: z
              .enum(['created', 'updated', 'unchanged', 'failed'])
              .meta({ description: 'Outcome of the entry. `unchanged`: the contact already had all these values.' }),
            id: z.guid().nullable().meta({ description: 'Id of the contact; null if the entry failed.' }),
            error: ErrorEnvelope.shape.error.nullable().meta({ description: 'Why the entry failed; otherwise null.' }),
          })
          .meta({ id: 'ContactOutcome' }),
      )
      .meta({ description: 'The outcome of each entry, in the order of the request.' }),
  })
  .meta({ id: 'ContactsWritten' });
export type ContactsWritten = z.infer<typeof ContactsWritten>;

export const Contact = z
  .object({
    id: z.guid().meta({ description: 'Id of the contact. After a merge, it refers to the surviving contact.' }),
    number: z.int().meta({
      description: 'Number of the contact, counting up within the account; its id in agent plans.',
    }),
    external_id: z
      .string()
      .nullable()
      .meta({ description: "The contact's id in your own system, not necessarily unique; null if there is none." }),
    name: z.string().meta({ description: 'Full name; empty if unknown.' }),
    phone: z.string().nullable().meta({ description: 'Phone number in E.164; null if there is none.' }),
    email: z.string().nullable().meta({ description: 'Email address in lowercase; null if there is none.' }),
    tags: z.array(z.string()).meta({ description: 'Tags, without duplicates.' }),
    fields: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .meta({ description: 'Custom fields by name: strings, numbers and booleans.' }),
    merged_into: z
      .guid()
      .nullable()
      .meta({ description: 'Always null, because the id of a merged contact returns the surviving contact.' }),
    created_at: timestamp.meta({ description: 'When the contact was created.' }),
    updated_at: timestamp.meta({ description: 'When a value of the contact last changed.' }),
  })
  .meta({
    id: 'Contact',
    description: 'A person that the account knows, with phone, email, tags and custom fields.',
  });
export type Contact = z.infer<typeof Contact>;

/** A contact in other modules. `phone` is empty if there is none. */
export const ContactSummary = z
  .object({
    id: z.guid().meta({ description: 'Id of the contact.' }),
    name: z.string().meta({ description: 'Full name; empty if unknown.' }),
    phone: z.string().meta({ description: 'Phone number in E.164; empty if there is none.' }),
  })
  .meta({ id: 'ContactSummary', description: 'A contact in resources of other modules, with id, name and phone.' });
export type ContactSummary = z.infer<typeof ContactSummary>;

export const contactPath = z.object({
  contact_id: uuid.meta({
    description: 'Id of the contact. The id of a merged contact refers to the surviving contact.',
    param: { id: 'ContactId' },
  }),
});
