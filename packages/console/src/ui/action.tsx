import { useQueryClient } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { createContext, type FormEvent, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { Refusal } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { Field, type FieldSpec } from './field.tsx';

/** A change that an operator is about to make. */
export interface Action {
  title: string;
  /** Text of the button that does it. */
  confirm: string;
  /** The change loses something. */
  isDangerous?: boolean;
  /** Says what it will touch, with counts. */
  touches: ReactNode;
  fields?: FieldSpec[];
  /** Does it, and returns what it did. Throws Refusal. */
  run: (values: FormData) => Promise<ReactNode>;
}

/** Field for the reason that the audit log keeps. */
export const reasonField: FieldSpec = { name: 'reason', label: 'Reason', maxLength: 500, isRequired: true };

const ActionContext = createContext<(action: Action) => void>(() => undefined);

/** Returns a function that opens the dialog of an action. */
export function useAction(): (action: Action) => void {
  return useContext(ActionContext);
}

/** Button that opens the dialog of an action. `make` is called when it is pressed. */
export function ActionButton(props: { children: string; label?: string; isDangerous?: boolean; make: () => Action }) {
  const open = useAction();
  const { children, label, isDangerous, make } = props;
  return (
    <button
      type="button"
      className={isDangerous ? 'danger' : undefined}
      aria-label={label}
      onClick={() => open(make())}
    >
      {children}
    </button>
  );
}

/** Shows the dialog of one action at a time over what it wraps. */
export function ActionProvider({ children }: { children: ReactNode }) {
  const [action, setAction] = useState<Action | null>(null);
  return (
    <ActionContext value={setAction}>
      {children}
      {action && <ActionDialog action={action} close={() => setAction(null)} />}
    </ActionContext>
  );
}

/** Progress of an action. */
type Progress = { step: 'asking'; error?: Refusal } | { step: 'running' } | { step: 'done'; result: ReactNode };

/**
 * Closes a dialog when another page is shown, which it has nothing to do with. One that is at work stays: it may lead to another page itself,
 * and then says there what it did.
 */
function useCloseOnLeaving(isRunning: boolean, close: () => void): void {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const lastPath = useRef(path);
  useEffect(() => {
    const hasLeft = lastPath.current !== path;
    lastPath.current = path;
    if (hasLeft && !isRunning) close();
  }, [path, isRunning, close]);
}

function ActionDialog({ action, close }: { action: Action; close: () => void }) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState<Progress>({ step: 'asking' });
  useCloseOnLeaving(progress.step === 'running', close);
  const run = async (values: FormData) => {
    setProgress({ step: 'running' });
    try {
      setProgress({ step: 'done', result: await action.run(values) });
    } catch (error) {
      setProgress({ step: 'asking', error: error instanceof Refusal ? error : new Refusal(0, String(error)) });
    }
    await queryClient.invalidateQueries();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void run(new FormData(event.currentTarget));
  };
  if (progress.step === 'done') {
    return (
      <Dialog title={action.title} close={close}>
        <div className="result" role="status">
          {progress.result}
        </div>
        <footer>
          {/* biome-ignore lint/a11y/noAutofocus: the button that had the focus is gone */}
          <button type="button" className="primary" autoFocus onClick={close}>
            Done
          </button>
        </footer>
      </Dialog>
    );
  }
  const error = progress.step === 'asking' ? progress.error : undefined;
  return (
    <Dialog title={action.title} close={close}>
      <form onSubmit={submit}>
        <div className="touches">{action.touches}</div>
        {action.fields?.map((field) => (
          <Field key={field.name} spec={field} isAtFault={error?.field === field.name} />
        ))}
        {error && (
          <p className="notice bad" role="alert">
            {error.message}
          </p>
        )}
        <footer>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            className={action.isDangerous ? 'primary danger' : 'primary'}
            disabled={progress.step === 'running'}
          >
            {progress.step === 'running' ? 'Working…' : action.confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
