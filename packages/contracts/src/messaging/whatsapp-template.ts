import { z } from 'zod';
import { text } from '../core/fields.ts';

const language = z
  .string()
  .regex(/^[a-z]{2,3}(_[A-Z]{2})?$/, { error: "must be one of Meta's language codes, such as de or en_US" })
  .meta({ description: 'Language of the template, such as `de` or `en_US`. The provider twilio ignores it.' });

/** Returns the schema of a template with its placeholder values in order. `parameter` is the schema of one value. */
export function whatsAppTemplateInput<Parameter extends z.ZodType<string>>(parameter: Parameter) {
  return z.object({
    name: text(512, 1).meta({ description: 'Name of the template at Meta; for twilio, its ContentSid (HX…).' }),
    language,
    parameters: z
      .array(parameter)
      .max(20)
      .default([])
      .meta({ description: "Values of the placeholders in the template's body, in order." }),
  });
}

export const WhatsAppTemplateInput = whatsAppTemplateInput(text(1_024, 1)).meta({
  id: 'WhatsAppTemplateToSend',
  description: 'A template that Meta approved, with the values of its placeholders.',
});

/** The template of a message or of an automatic text. */
export const WhatsAppTemplate = z
  .object({
    name: z.string().meta({ description: WhatsAppTemplateInput.shape.name.description }),
    language: z.string().meta({ description: language.description }),
    parameters: z.array(z.string()).meta({ description: WhatsAppTemplateInput.shape.parameters.description }),
  })
  .meta({ id: 'WhatsAppTemplate', description: 'A WhatsApp template, with the values of its placeholders.' });
export type WhatsAppTemplate = z.infer<typeof WhatsAppTemplate>;
