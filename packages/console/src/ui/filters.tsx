import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useId, useRef, useState } from 'react';
import { Field, type FieldSpec } from './field.tsx';

/**
 * Filters of a list, kept in the URL. Selections apply at once, text on Enter. On narrow screens, a button with the number of active filters
 * opens them.
 */
export function Filters({ fields, values }: { fields: FieldSpec[]; values: Record<string, unknown> }) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const fieldsId = useId();
  const [isOpen, setOpen] = useState(false);
  const apply = (event?: FormEvent) => {
    event?.preventDefault();
    const given = [...new FormData(form.current!)].map(([name, value]) => [name, String(value).trim()] as const);
    const search = Object.fromEntries(given.filter(([, value]) => value !== ''));
    void navigate({ to: '.', search: () => search });
  };
  const applied = fields.filter(({ name }) => values[name] !== undefined).length;
  return (
    // The key recreates the uncontrolled inputs when the URL changes, so that they show its values.
    <form
      key={JSON.stringify(values)}
      ref={form}
      className={isOpen ? 'filters open' : 'filters'}
      aria-label="Filters"
      onSubmit={apply}
      onChange={(event) => {
        if (event.target instanceof HTMLSelectElement) apply();
      }}
    >
      <button
        type="button"
        className="opener"
        aria-expanded={isOpen}
        aria-controls={fieldsId}
        onClick={() => setOpen(!isOpen)}
      >
        {applied > 0 ? `Filters (${applied})` : 'Filters'}
      </button>
      <div id={fieldsId} className="fields">
        {fields.map((field) => {
          const value = values[field.name];
          const spec = value === undefined ? field : { ...field, value: String(value) };
          return <Field key={field.name} spec={spec} isAtFault={false} />;
        })}
        <button type="submit">Filter</button>
        {applied > 0 && (
          <button type="button" onClick={() => void navigate({ to: '.', search: () => ({}) })}>
            Clear
          </button>
        )}
      </div>
    </form>
  );
}
