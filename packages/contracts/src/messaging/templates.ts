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

const subject = withKnownNames(text(255));
const body = withKnownNames(text(4_096, 1));

/** Template that a text goes by on WhatsApp; its parameters may have placeholders, as texts have. */
const AutomaticTemplateInput = whatsAppTemplateInput(withKnownNames(text(1_024, 1))).meta({
  id: 'AutomaticTemplateInput',
});

/** Change of a text that the platform sends on its own; null restores the default in the account's language. */
const TemplateChange = z
  .object({
    subject: subject.nullable().optional(),
    body: body.nullable().optional(),
    whatsapp: AutomaticTemplateInput.nullable().optional(),
  })
  .meta({ id: 'MessageTemplateChange' });
const Template = z
  .object({
    subject: z.string(),
    body: z.string(),
    whatsapp: WhatsAppTemplate.nullable().meta({
      description: 'Template that WhatsApp sends it by; null: as text, which reaches only who wrote within 24 hours.',
    }),
    is_default: z
      .boolean()
      .meta({ description: "Whether it is the platform's default text in the account's language." }),
  })
  .meta({ id: 'MessageTemplate' });

const ofEach = <Value>(value: Value) =>
  Object.fromEntries(templateNames.map((name) => [name, value])) as Record<TemplateName, Value>;

export const TemplatesChange = z.object(ofEach(TemplateChange.nullable().optional()));
export const Templates = z.object(ofEach(Template)).meta({ id: 'MessageTemplates' });
export type Templates = z.infer<typeof Templates>;
