import { useQueryClient } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Refusal } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { Field, type FieldSpec } from './field.tsx';
import { useToast } from './toast.tsx';

/** A change that an operator can make in a dialog. */
export interface Action {
  title: string;
  /** Label of the button that makes the change. */
  confirm: string;
  /** Whether the change loses data. */
  isDangerous?: boolean;
  /** Describes what the change affects, with counts. */
  touches: ReactNode;
  fields?: FieldSpec[];
  /** The result is shown nowhere else, so the dialog shows it until the user closes it, instead of a toast. */
  isShownOnce?: boolean;
  /** Makes the change, and returns a description of the result. Throws Refusal. */
  run: (values: FormData) => Promise<ReactNode>;
}

/** The field for the reason in the audit log. */
export const reasonField: FieldSpec = {
  name: 'reason',
  label: 'Reason',
  maxLength: 200,
  hint: 'For the audit log. Optional.',
};

/** The same field for changes that require a reason, such as pausing or deleting. */
export const requiredReasonField: FieldSpec = { ...reasonField, isRequired: true, hint: 'For the audit log.' };

/** Returns the entered reason as a request field; an empty object if there is none. */
export function reasonIn(values: FormData): { reason?: string } {
  const reason = String(values.get('reason') ?? '').trim();
  return reason === '' ? {} : { reason };
}

/** Context of action buttons. `openId` is the button whose dialog is open. `renew` updates the text of the open dialog. */
interface Actions {
  openId: string | null;
  open: (id: string, action: Action) => void;
  renew: (action: Action) => void;
}

const ActionContext = createContext<Actions>({ openId: null, open: () => undefined, renew: () => undefined });

/**
 * Button that opens the dialog of an action. Calls `make` when it is pressed, and while the dialog is open after each rerender, so that the
 * dialog shows current numbers.
 */
export function ActionButton(props: { children: string; label?: string; isDangerous?: boolean; make: () => Action }) {
  const id = useId();
  const { openId, open, renew } = useContext(ActionContext);
  const { children, label, isDangerous, make } = props;
  useEffect(() => {
    if (openId === id) renew(make());
  }, [openId, id, renew, make]);
  return (
    <button
      type="button"
      className={isDangerous ? 'danger' : undefined}
      aria-label={label}
      onClick={() => open(id, make())}
    >
      {children}
    </button>
  );
}

/** Shows the dialogs of action buttons in its children, one at a time. */
export function ActionProvider({ children }: { children: ReactNode }) {
  const [opened, setOpened] = useState<{ id: string; action: Action } | null>(null);
  const openId = opened?.id ?? null;
  const actions = useMemo<Actions>(
    () => ({
      openId,
      open: (id, action) => setOpened({ id, action }),
      renew: (action) => setOpened((last) => last && { ...last, action: renewed(last.action, action) }),
    }),
    [openId],
  );
  return (
    <ActionContext value={actions}>
      {children}
      {opened && <ActionDialog action={opened.action} close={() => setOpened(null)} />}
    </ActionContext>
  );
}

/** Returns an open action with its current text. If the button has a different action by now, returns the chosen one unchanged. */
function renewed(action: Action, now: Action): Action {
  return now.title === action.title ? { ...action, touches: now.touches } : action;
}

/** Progress of an action. */
type Progress = { step: 'asking'; error?: Refusal } | { step: 'running' } | { step: 'done'; result: ReactNode };

/**
 * Closes a dialog when the user leaves its page. A dialog that is running or done stays, since the action may navigate and then shows its
 * result on the next page.
 */
function useCloseOnLeaving(hasBegun: boolean, close: () => void): void {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const lastPath = useRef(path);
  useEffect(() => {
    const hasLeft = lastPath.current !== path;
    lastPath.current = path;
    if (hasLeft && !hasBegun) close();
  }, [path, hasBegun, close]);
}

/** Milliseconds to wait at most for fresh data after an action, before the result is shown. */
const renewMs = 1_000;

/** Runs an action and returns its result or error. */
async function progressOf(action: Action, values: FormData): Promise<Progress> {
  try {
    return { step: 'done', result: await action.run(values) };
  } catch (error) {
    return { step: 'asking', error: error instanceof Refusal ? error : new Refusal(0, String(error)) };
  }
}

function ActionDialog({ action, close }: { action: Action; close: () => void }) {
  const queryClient = useQueryClient();
  const toast = useToast();
  const [progress, setProgress] = useState<Progress>({ step: 'asking' });
  // A result that is shown once would be lost if the dialog closed, even while the request is running.
  const isKept = progress.step === 'done' || (progress.step === 'running' && action.isShownOnce === true);
  const mayClose = isKept ? undefined : close;
  useCloseOnLeaving(progress.step !== 'asking', close);
  const run = async (values: FormData) => {
    setProgress({ step: 'running' });
    const next = await progressOf(action, values);
    // Reload the data behind the dialog, but do not wait for a source that does not respond.
    await Promise.race([queryClient.invalidateQueries(), new Promise((resolve) => setTimeout(resolve, renewMs))]);
    if (next.step === 'done' && !action.isShownOnce) {
      toast(next.result);
      close();
    } else setProgress(next);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void run(new FormData(event.currentTarget));
  };
  if (progress.step === 'done') {
    return (
      <Dialog title={action.title} close={mayClose}>
        <div className="result" role="status">
          {progress.result}
        </div>
        <footer>
          {/* biome-ignore lint/a11y/noAutofocus: the button that had the focus was removed */}
          <button type="button" className="primary" autoFocus onClick={close}>
            Done
          </button>
        </footer>
      </Dialog>
    );
  }
  const error = progress.step === 'asking' ? progress.error : undefined;
  return (
    <Dialog title={action.title} close={mayClose}>
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
          <button type="button" disabled={isKept} onClick={close}>
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
