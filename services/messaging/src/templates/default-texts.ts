import type { TemplateName } from '@customer-platform/contracts/messaging';

/** Text of a message, with `{{placeholders}}`. */
export interface TemplateText {
  subject: string;
  body: string;
}

/** Location and link of an appointment. A line without a value is dropped. */
const where = '\n{{location}}\n{{meeting_link}}';

/** Default texts by language. The booking text is also sent for a requested appointment, so it does not say confirmed. */
const texts: Record<string, Record<TemplateName, TemplateText>> = {
  en: {
    appointment_booked: {
      subject: 'Your appointment on {{date}}',
      body: `Your appointment with {{account_name}} is in our calendar:\n{{title}}, {{date}} at {{time}}${where}`,
    },
    appointment_rescheduled: {
      subject: 'Your appointment has changed: {{date}}',
      body: `Your appointment with {{account_name}} has changed. It is now:\n{{title}}, {{date}} at {{time}}${where}`,
    },
    appointment_reminder: {
      subject: 'Reminder: your appointment on {{date}}',
      body: `A reminder of your appointment with {{account_name}}:\n{{title}}, {{date}} at {{time}}${where}`,
    },
  },
  de: {
    appointment_booked: {
      subject: 'Ihr Termin am {{date}}',
      body: `Ihr Termin bei {{account_name}} ist eingetragen:\n{{title}}, {{date}}, {{time}} Uhr${where}`,
    },
    appointment_rescheduled: {
      subject: 'Ihr Termin hat sich geändert: {{date}}',
      body: `Ihr Termin bei {{account_name}} hat sich geändert. Er ist jetzt:\n{{title}}, {{date}}, {{time}} Uhr${where}`,
    },
    appointment_reminder: {
      subject: 'Erinnerung: Ihr Termin am {{date}}',
      body: `Zur Erinnerung an Ihren Termin bei {{account_name}}:\n{{title}}, {{date}}, {{time}} Uhr${where}`,
    },
  },
  fr: {
    appointment_booked: {
      subject: 'Votre rendez-vous du {{date}}',
      body: `Votre rendez-vous chez {{account_name}} est bien noté :\n{{title}}, {{date}} à {{time}}${where}`,
    },
    appointment_rescheduled: {
      subject: 'Votre rendez-vous a été modifié : {{date}}',
      body: `Votre rendez-vous chez {{account_name}} a été modifié. Le voici :\n{{title}}, {{date}} à {{time}}${where}`,
    },
    appointment_reminder: {
      subject: 'Rappel : votre rendez-vous du {{date}}',
      body: `Nous vous rappelons votre rendez-vous chez {{account_name}} :\n{{title}}, {{date}} à {{time}}${where}`,
    },
  },
  es: {
    appointment_booked: {
      subject: 'Su cita del {{date}}',
      body: `Hemos registrado su cita con {{account_name}}:\n{{title}}, {{date}}, {{time}}${where}`,
    },
    appointment_rescheduled: {
      subject: 'Su cita ha cambiado: {{date}}',
      body: `Su cita con {{account_name}} ha cambiado. Ahora es:\n{{title}}, {{date}}, {{time}}${where}`,
    },
    appointment_reminder: {
      subject: 'Recordatorio: su cita del {{date}}',
      body: `Le recordamos su cita con {{account_name}}:\n{{title}}, {{date}}, {{time}}${where}`,
    },
  },
  it: {
    appointment_booked: {
      subject: 'Il suo appuntamento di {{date}}',
      body: `Il suo appuntamento con {{account_name}} è in agenda:\n{{title}}, {{date}}, ore {{time}}${where}`,
    },
    appointment_rescheduled: {
      subject: 'Il suo appuntamento è cambiato: {{date}}',
      body: `Il suo appuntamento con {{account_name}} è cambiato. Ora è:\n{{title}}, {{date}}, ore {{time}}${where}`,
    },
    appointment_reminder: {
      subject: 'Promemoria: il suo appuntamento di {{date}}',
      body: `Le ricordiamo il suo appuntamento con {{account_name}}:\n{{title}}, {{date}}, ore {{time}}${where}`,
    },
  },
  nl: {
    appointment_booked: {
      subject: 'Uw afspraak op {{date}}',
      body: `Uw afspraak bij {{account_name}} staat in onze agenda:\n{{title}}, {{date}} om {{time}} uur${where}`,
    },
    appointment_rescheduled: {
      subject: 'Uw afspraak is gewijzigd: {{date}}',
      body: `Uw afspraak bij {{account_name}} is gewijzigd. Die is nu:\n{{title}}, {{date}} om {{time}} uur${where}`,
    },
    appointment_reminder: {
      subject: 'Herinnering: uw afspraak op {{date}}',
      body: `Wij herinneren u aan uw afspraak bij {{account_name}}:\n{{title}}, {{date}} om {{time}} uur${where}`,
    },
  },
};

/** Returns the default text in a language such as de or de-AT, or in English. `language` is the language of the text. */
export function defaultText(name: TemplateName, language: string): TemplateText & { language: string } {
  const own = texts[language.split('-', 1)[0]!];
  return own ? { ...own[name], language } : { ...texts.en![name], language: 'en' };
}
