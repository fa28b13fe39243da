import { useId } from 'react';

/** An input of a form. With `options` it is a selection, and with `isList` a multiple selection. */
export interface FieldSpec {
  name: string;
  label: string;
  hint?: string;
  type?: 'text' | 'email' | 'number' | 'datetime-local';
  value?: string | number;
  options?: readonly string[];
  /** Labels of options by value. Default: the value. */
  labels?: Record<string, string>;
  isList?: boolean;
  /** Initially selected options of a list. */
  values?: readonly string[];
  isRequired?: boolean;
  maxLength?: number;
  min?: number;
  max?: number;
}

/** An input with its label. `isAtFault` marks a field that the control plane rejected. */
export function Field({ spec, isAtFault }: { spec: FieldSpec; isAtFault: boolean }) {
  const id = useId();
  if (spec.isList) return <Choices spec={spec} isAtFault={isAtFault} />;
  const hintId = spec.hint ? `${id}-hint` : undefined;
  const shared = {
    id,
    name: spec.name,
    required: spec.isRequired,
    defaultValue: spec.value,
    'aria-describedby': hintId,
    'aria-invalid': isAtFault || undefined,
  };
  return (
    <div className="field">
      <label htmlFor={id}>{spec.label}</label>
      {spec.options ? (
        <select {...shared}>
          {spec.options.map((option) => (
            <option key={option} value={option}>
              {spec.labels?.[option] ?? (option === '' ? 'all' : option)}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          type={spec.type ?? 'text'}
          maxLength={spec.maxLength}
          min={spec.min}
          max={spec.max}
          autoComplete="off"
        />
      )}
      {spec.hint && (
        <p className="hint" id={hintId}>
          {spec.hint}
        </p>
      )}
    </div>
  );
}

function Choices({ spec, isAtFault }: { spec: FieldSpec; isAtFault: boolean }) {
  return (
    <fieldset className={isAtFault ? 'field at-fault' : 'field'}>
      <legend>{spec.label}</legend>
      <div className="choices">
        {spec.options?.map((option) => (
          <label key={option}>
            <input type="checkbox" name={spec.name} value={option} defaultChecked={spec.values?.includes(option)} />{' '}
            {option}
          </label>
        ))}
      </div>
      {spec.hint && <p className="hint">{spec.hint}</p>}
    </fieldset>
  );
}
