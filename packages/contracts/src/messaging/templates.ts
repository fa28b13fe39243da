import { z } from 'zod';
import { text } from '../core/fields.ts';
import { WhatsAppTemplate, whatsAppTemplateInput } from './whatsapp-template.ts';

/** Names of placeholders in templates: `{{title}}`. */
export const placeholders = [
  'contact_name',
  'account_name',
  'title',
  'date',
  'time',
  'staff_name',
  'location',
  'meeting_link',
] as const;
export type Placeholder = (typeof placeholders)[number];

export const templateNames = ['appointment_booked', 'appointment_rescheduled', 'appointment_reminder'] as const;
export type TemplateName = (typeof templateNames)[number];

/** Returns the first unknown placeholder of a text, with its braces; in linear time, whatever the number of braces. */
function unknownPlaceholder(text: string): string | undefined {
  for (let open = text.indexOf('{{'); open !== -1; ) {
    const close = text.indexOf('}}', open + 2);
    if (close === -1) return undefined;
    // If several braces opened before it, the last pair is the placeholder's.
    const start = text.lastIndexOf('{{', close - 1);
    const name = text.slice(start + 2, close);
    const isName = !/[{}]/.test(name);
    if (isName && !placeholders.includes(name.trim() as Placeholder)) return text.slice(start, close + 2);
    open = text.indexOf('{{', close + 2);
  }
  return undefined;
}

function withKnownNames<Schema extends z.ZodType<string>>(schema: Schema) {
  return schema.refine((value) => unknownPlaceholder(value) === undefined, {
    error: (issue) =>
      `must name only ${placeholders.map((name) => `{{${name}}}`).join(', ')}, not ${unknownPlaceholder(issue.input as string)}`,
  });
}

const subject = withKnownNames(text(255)).meta({
  description: 'Subject of the email, with placeholders such as `{{date}}`.',
});
const body = withKnownNames(text(4_096, 1)).meta({
  description: `The text. Placeholders: ${placeholders.map((name) => `\`{{${name}}}\``).join(', ')}.`,
});

/** Template that a text goes by on WhatsApp; its parameters may have placeholders, as texts have. */
const AutomaticTemplateInput = whatsAppTemplateInput(withKnownNames(text(1_024, 1))).meta({
  id: 'AutomaticTemplateInput',
  description: 'A template at Meta or Twilio, and what fills its placeholders.',
});

/** Change of a text that the platform sends on its own; null restores the default in the account's language. */
const TemplateChange = z
  .object({
    subject: subject
      .nullable()
      .optional()
      .meta({ description: `${subject.description} Null: the default.` }),
    body: body
      .nullable()
      .optional()
      .meta({ description: `${body.description} Null: the default.` }),
    whatsapp: AutomaticTemplateInput.nullable().optional().meta({
      description: 'Template that WhatsApp sends it by; null: as text.',
    }),
  })
  .meta({ id: 'MessageTemplateChange', description: 'What to change of a text; the rest stays as it is.' });
const Template = z
  .object({
    subject: z.string().meta({ description: subject.description }),
    body: z.string().meta({ description: body.description }),
    whatsapp: WhatsAppTemplate.nullable().meta({
      description: 'Template that WhatsApp sends it by; null: as text, which reaches only who wrote within 24 hours.',
    }),
    is_default: z
      .boolean()
      .meta({ description: "Whether it is the platform's default text in the account's language." }),
  })
  .meta({ id: 'MessageTemplate', description: 'A text that the platform sends on its own.' });

const ofEach = <Value>(value: Value) =>
  Object.fromEntries(templateNames.map((name) => [name, value])) as Record<TemplateName, Value>;

export const TemplatesChange = z.object(
  ofEach(
    TemplateChange.nullable()
      .optional()
      .meta({ description: 'What to change of this text; null restores its defaults.' }),
  ),
);
export const Templates = z.object(ofEach(Template)).meta({
  id: 'MessageTemplates',
  description:
    'Texts for the booking and the move of an appointment, sent if confirmations are on, and for its reminders.',
});
export type Templates = z.infer<typeof Templates>;
