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
  .meta({ description: 'Custom fields by name. At most 100 keys and 64 KiB as JSON.' });

const tags = z.array(text(100, 1)).max(100);
const phone = text(50);
const phoneRule =
  "Phone number; without a country code it is read as a number of the account's country. Responses show E.164.";
const emailRule = 'Email address, stored in lower case; it need not be unique.';

const externalId = text(200);
const name = text(200);
const emailOrNone = email.or(z.literal(''));

/** Body of POST. */
export const ContactInput = z
  .object({
    external_id: externalId
      .optional()
      .meta({ description: "The contact's id in your own system; it need not be unique." }),
    name: name.default('').meta({
      description: 'Full name. A contact needs at least one of name, phone, email and external id.',
    }),
    phone: phone.optional().meta({ description: phoneRule }),
    email: emailOrNone.optional().meta({ description: emailRule }),
    tags: tags.default([]).meta({ description: 'Tags; repeated tags are stored once.' }),
    fields: ContactFields.default({}),
  })
  .refine((contact) => contact.name || contact.phone || contact.email || contact.external_id, {
    path: ['name'],
    error: 'must be given, or phone, email or external_id: a contact needs one of them',
  });

/** Body of PATCH: `fields` merges by key and null removes a key, or all of them; null or an empty string clears a value; `tags` is replaced. */
export const ContactChange = z.object({
  external_id: clearable(externalId, '').meta({
    description: "The contact's id in your own system; null or an empty string removes it.",
  }),
  name: clearable(name, '').meta({ description: 'Full name; null or an empty string removes it.' }),
  phone: clearable(phone, '').meta({ description: `${phoneRule} Null or an empty string removes it.` }),
  email: clearable(emailOrNone, '').meta({ description: `${emailRule} Null or an empty string removes it.` }),
  tags: clearable(tags, []).meta({
    description: 'All tags, in place of the former ones; null or an empty list removes them.',
  }),
  fields: z.record(fieldName, fieldValue.nullable()).nullable().optional().meta({
    description:
      'Custom fields to change, by name. Those left out stay, null removes one, and null for all of them removes all.',
  }),
});

/** Body of PUT by external id, which comes from the path: what is left out or null of an existing contact is kept. */
export const ContactByExternalId = z.object({
  name: name.optional().meta({ description: 'Full name; an empty string removes it.' }),
  phone: phone.optional().meta({ description: `${phoneRule} An empty string removes it.` }),
  email: emailOrNone.optional().meta({ description: `${emailRule} An empty string removes it.` }),
  tags: tags.optional().meta({ description: 'All tags, in place of the former ones; an empty list removes them.' }),
  fields: ContactChange.shape.fields.unwrap().unwrap().optional().meta({
    description: 'Custom fields to change, by name. Those left out stay, and null removes one.',
  }),
});

/** Most contacts that one request writes. */
export const maxBatch = 500;

/** A contact of a batch: found by its external id, else its email, else its phone, and then updated as by PATCH. */
export const WrittenContact = ContactChange;

/** What a batch came to, entry by entry. */
export const ContactsWritten = z
  .object({
    created: z.int().meta({ description: 'Number of entries that created a contact.' }),
    updated: z.int().meta({ description: 'Number of entries that changed a contact.' }),
    unchanged: z.int().meta({ description: 'Number of entries whose contact had all these values already.' }),
    failed: z.int().meta({ description: 'Number of entries that were refused.' }),
    data: z
      .array(
        z
          .object({
            index: z.int().meta({ description: 'Place in the request, from 0.' }),
            outcome: z
              .enum(['created', 'updated', 'unchanged', 'failed'])
              .meta({ description: 'What the entry did. `unchanged`: the contact had all these values already.' }),
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
    id: z.guid().meta({ description: 'Id of the contact. After a merge it finds the surviving contact.' }),
    number: z
      .int()
      .meta({ description: 'Number of the contact, counting up within the account; shown as its id in agent plans.' }),
    external_id: z
      .string()
      .nullable()
      .meta({ description: "The contact's id in your own system; null if there is none. It need not be unique." }),
    name: z.string().meta({ description: 'Full name; empty if it is not known.' }),
    phone: z.string().nullable().meta({ description: 'Phone number in E.164; null if there is none.' }),
    email: z.string().nullable().meta({ description: 'Email address in lower case; null if there is none.' }),
    tags: z.array(z.string()).meta({ description: 'Tags, each once.' }),
    fields: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .meta({ description: 'Custom fields by name: texts, numbers and booleans.' }),
    merged_into: z
      .guid()
      .nullable()
      .meta({ description: 'Always null: the id of a merged contact returns the contact it was merged into.' }),
    created_at: timestamp.meta({ description: 'When the contact was created.' }),
    updated_at: timestamp.meta({ description: 'When a value of the contact last changed.' }),
  })
  .meta({
    id: 'Contact',
    description: 'A person that the account knows, with phone, email, tags and custom fields.',
  });
export type Contact = z.infer<typeof Contact>;

/** A contact as every other module shows it; `phone` is empty if there is none. */
export const ContactSummary = z
  .object({
    id: z.guid().meta({ description: 'Id of the contact.' }),
    name: z.string().meta({ description: 'Full name; empty if it is not known.' }),
    phone: z.string().meta({ description: 'Phone number in E.164; empty if there is none.' }),
  })
  .meta({ id: 'ContactSummary', description: 'A contact in short, as resources of other modules show it.' });
export type ContactSummary = z.infer<typeof ContactSummary>;

export const contactPath = z.object({
  contact_id: uuid.meta({
    description: 'Id of the contact; that of a merged contact finds the contact that it was merged into.',
    param: { id: 'ContactId' },
  }),
});
