import { z } from 'zod';
import { text } from '../core/fields.ts';

/** What a text can name: `{{title}}`. */
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

function withKnownNames<Schema extends z.ZodType<string>>(schema: Schema) {
  const unknown = (value: string) =>
    [...value.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)].find(([, name]) => !placeholders.includes(name as Placeholder));
  return schema.refine((value) => !unknown(value), {
    error: (issue) =>
      `must name only ${placeholders.map((name) => `{{${name}}}`).join(', ')}, not ${unknown(issue.input as string)?.[0]}`,
  });
}

const subject = withKnownNames(text(255));
const body = withKnownNames(text(4_096, 1));

/** The text of a message that the platform sends by itself; null in a change brings the default of the account's language back. */
const TemplateChange = z.object({ subject: subject.nullable().optional(), body: body.nullable().optional() });
const Template = z.object({
  subject: z.string(),
  body: z.string(),
  is_default: z.boolean().meta({ description: "Whether it is the platform's own text in the account's language." }),
});

const ofEach = <Value>(value: Value) =>
  Object.fromEntries(templateNames.map((name) => [name, value])) as Record<TemplateName, Value>;

export const TemplatesChange = z.object(ofEach(TemplateChange.nullable().optional()));
export const Templates = z.object(ofEach(Template)).meta({ id: 'MessageTemplates' });
export type Templates = z.infer<typeof Templates>;
