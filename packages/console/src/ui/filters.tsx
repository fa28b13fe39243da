import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef } from 'react';
import { Field, type FieldSpec } from './field.tsx';

/** Filters of a list, which are kept in the page's address. Choices apply at once, texts on Enter. */
export function Filters({ fields, values }: { fields: FieldSpec[]; values: Record<string, unknown> }) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const apply = (event?: FormEvent) => {
    event?.preventDefault();
    const given = [...new FormData(form.current!)].map(([name, value]) => [name, String(value).trim()] as const);
    const search = Object.fromEntries(given.filter(([, value]) => value !== ''));
    void navigate({ to: '.', search: () => search });
  };
  const isFiltered = fields.some(({ name }) => values[name] !== undefined);
  return (
    // The inputs are made again when the address changes: its values are theirs.
    <form
      key={JSON.stringify(values)}
      ref={form}
      className="filters"
      aria-label="Filters"
      onSubmit={apply}
      onChange={(event) => {
        if (event.target instanceof HTMLSelectElement) apply();
      }}
    >
      {fields.map((field) => {
        const value = values[field.name];
        const spec = value === undefined ? field : { ...field, value: String(value) };
        return <Field key={field.name} spec={spec} isAtFault={false} />;
      })}
      <button type="submit">Filter</button>
      {isFiltered && (
        <button type="button" onClick={() => void navigate({ to: '.', search: () => ({}) })}>
          Clear
        </button>
      )}
    </form>
  );
}
