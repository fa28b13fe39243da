import { type ReactNode, useEffect, useId, useRef } from 'react';

/**
 * A modal dialog. The browser keeps the focus in it, Esc closes it, and then the focus returns to the previous element. Without `close`, only
 * the dialog's content can close it.
 */
export function Dialog(props: {
  title: string;
  className?: string;
  close: (() => void) | undefined;
  children: ReactNode;
}) {
  const { title, className, close, children } = props;
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current!;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className={className}
      aria-labelledby={titleId}
      // Browsers close a dialog at the second Esc even if `cancel` is prevented. `closedby` stops that.
      closedby={close ? 'closerequest' : 'none'}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
