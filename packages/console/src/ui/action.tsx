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
  /** What it did can be read nowhere else: it stays until it is closed, instead of a toast. */
  isShownOnce?: boolean;
  /** Does it, and returns what it did. Throws Refusal. */
  run: (values: FormData) => Promise<ReactNode>;
}

/** Field for the reason that the audit log keeps. */
export const reasonField: FieldSpec = {
  name: 'reason',
  label: 'Reason',
  maxLength: 200,
  hint: 'For the audit log. Optional.',
};

/** The same for what holds work back or loses something, which needs one. */
export const requiredReasonField: FieldSpec = { ...reasonField, isRequired: true, hint: 'For the audit log.' };

/** Returns the reason that was given, to be sent along; nothing where there is none. */
export function reasonIn(values: FormData): { reason?: string } {
  const reason = String(values.get('reason') ?? '').trim();
  return reason === '' ? {} : { reason };
}

/** Actions of a page: the button whose dialog is open, and how a button opens its dialog and says again what it will touch. */
interface Actions {
  openId: string | null;
  open: (id: string, action: Action) => void;
  renew: (action: Action) => void;
}

const ActionContext = createContext<Actions>({ openId: null, open: () => undefined, renew: () => undefined });

/**
 * Button that opens the dialog of an action. `make` is called when it is pressed, and while the dialog is open each time that the numbers
 * around the button are others.
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

/** Shows the dialog of one action at a time over what it wraps. */
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

/** Returns an open action with what it touches now. A button may stand for another action by now, which is not the one that was chosen. */
function renewed(action: Action, now: Action): Action {
  return now.title === action.title ? { ...action, touches: now.touches } : action;
}

/** Progress of an action. */
type Progress = { step: 'asking'; error?: Refusal } | { step: 'running' } | { step: 'done'; result: ReactNode };

/**
 * Closes a dialog when another page is shown, which it has nothing to do with. One that is at work or done stays: it may lead to another page
 * itself, and then says there what it did.
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

/** Longest wait in milliseconds for the page's numbers after an action, before it says what it did. */
const renewMs = 1_000;

/** Does an action, and returns how it went. */
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
  // What is shown once would be lost with the dialog, be it that the response is still on its way.
  const isKept = progress.step === 'done' || (progress.step === 'running' && action.isShownOnce === true);
  const mayClose = isKept ? undefined : close;
  useCloseOnLeaving(progress.step !== 'asking', close);
  const run = async (values: FormData) => {
    setProgress({ step: 'running' });
    const next = await progressOf(action, values);
    // The numbers behind the dialog are those from before until they are loaded again; a source that does not respond is not waited for.
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
