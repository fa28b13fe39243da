import { z } from 'zod';
import { text } from '../core/fields.ts';
import { WhatsAppTemplate, whatsAppTemplateInput } from './whatsapp-template.ts';

/** Names of placeholders in templates, written as `{{title}}`. */
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

/** Returns the first unknown placeholder of a text, with its braces. Takes linear time for any number of braces. */
function unknownPlaceholder(text: string): string | undefined {
  for (let open = text.indexOf('{{'); open !== -1; ) {
    const close = text.indexOf('}}', open + 2);
    if (close === -1) return undefined;
    // If several braces open before the end, the last pair begins the placeholder.
    const start = text.lastIndexOf('{{', close - 1);
    const name = text.slice(start + 2, close);
    const isName = !/[{}]/.test(name);
    if (isName && !placeholders.includes(name.trim() as Placeholder)) return text.slice(start, close + 2);
    open = text.indexOf('{{', close + 2);
  }
  return undefined;
}

function withKnownPlaceholders<Schema extends z.ZodType<string>>(schema: Schema) {
  return schema.refine((value) => unknownPlaceholder(value) === undefined, {
    error: (issue) =>
      `must use only the placeholders ${placeholders.map((name) => `{{${name}}}`).join(', ')}, not ${unknownPlaceholder(issue.input as string)}`,
  });
}

const subject = withKnownPlaceholders(text(255)).meta({
  description: 'Subject of the email, with placeholders such as `{{date}}`.',
});
const body = withKnownPlaceholders(text(4_096, 1)).meta({
  description: `Text of the message. Placeholders: ${placeholders.map((name) => `\`{{${name}}}\``).join(', ')}.`,
});

/** WhatsApp template of an automatic text. Its parameters can contain the same placeholders as the text. */
const AutomaticTemplateInput = whatsAppTemplateInput(withKnownPlaceholders(text(1_024, 1))).meta({
  id: 'AutomaticTemplateInput',
  description: 'A template at Meta or Twilio, with the values of its placeholders.',
});

/** Change of an automatic text. Null restores the default in the account's language. */
const TemplateChange = z
  .object({
    subject: subject
      .nullable()
      .optional()
      .meta({ description: `${subject.description} Null restores the default.` }),
    body: body
      .nullable()
      .optional()
      .meta({ description: `${body.description} Null restores the default.` }),
    whatsapp: AutomaticTemplateInput.nullable().optional().meta({
      description: 'Template for WhatsApp. Null: the text is sent.',
    }),
  })
  .meta({ id: 'MessageTemplateChange', description: 'Fields of a text to change; those left out stay as they are.' });
const Template = z
  .object({
    subject: z.string().meta({ description: subject.description }),
    body: z.string().meta({ description: body.description }),
    whatsapp: WhatsAppTemplate.nullable().meta({
      description: 'Template for WhatsApp. Null: the text, which reaches only people who wrote within 24 hours.',
    }),
    is_default: z
      .boolean()
      .meta({ description: "Whether it is the platform's default text in the account's language." }),
  })
  .meta({ id: 'MessageTemplate', description: 'A text that the platform sends automatically.' });

const forEachTemplate = <Value>(value: Value) =>
  Object.fromEntries(templateNames.map((name) => [name, value])) as Record<TemplateName, Value>;

export const TemplatesChange = z.object(
  forEachTemplate(
    TemplateChange.nullable().optional().meta({ description: 'Changes of this text; null restores its defaults.' }),
  ),
);
export const Templates = z.object(forEachTemplate(Template)).meta({
  id: 'MessageTemplates',
  description: 'Texts for booked and rescheduled appointments, sent if confirmations are on, and for reminders.',
});
export type Templates = z.infer<typeof Templates>;
