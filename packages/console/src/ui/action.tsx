import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, CallError, type Reply } from '../lib/api.js';
import { idempotencyKeys } from '../lib/idempotency.js';
import { type Call, linesOf } from '../lib/lines.js';
import { DEFAULT_POOL, type Place } from '../lib/place.js';
import { visible } from '../lib/raw-json.js';
import { ShellLines } from './parts.jsx';
import { toast } from './toasts.jsx';

/** What a dialog does when it is confirmed. */
export interface Action {
  /** As on its button: `Pause mail`. */
  readonly title: string;
  /** What it does and what it does not, in a sentence or two. */
  readonly about?: string;
  readonly place: Place | null;
  /** Counts without a change; its text is shown before the reader decides. */
  readonly dryRun?: () => Promise<string>;
  /** The call by the fields of the form. @throws {Error} a field is wrong; its message says how */
  readonly call: (fields: ReadonlyMap<string, string>) => Call;
  /** Longest time that the call may take, in milliseconds; left out: as most calls. */
  readonly limitMs?: number;
  /** The arguments of `pumphouse`, or the whole line; null = the command line has no command for it. */
  readonly cli: (fields: ReadonlyMap<string, string>) => readonly string[] | string | null;
  /** A token that the call names: its lines have a variable in its place. */
  readonly secret?: string;
  /** The form, with a `name` for each field. */
  readonly form?: ComponentChildren;
  /** Deletes or stops something. */
  readonly isDanger?: boolean;
  /** What was done. @param fields as they were when it was confirmed */
  readonly done: (reply: Reply<unknown>, fields: ReadonlyMap<string, string>) => string;
  /** After each success. The answer may want the same call again: a cursor, or `complete` = false. */
  readonly after?: (reply: Reply<unknown>) => void;
  /** The call that continues a long one; undefined = it is complete. */
  readonly more?: (reply: Reply<unknown>, last: Call) => Call | undefined;
}

const open = signal<Action | null>(null);

/** Opens the dialog of an action. */
export function act(action: Action): void {
  open.value = action;
}

/** The dialog of the action that is open. */
export function ActionDialog() {
  const action = open.value;
  return action === null ? null : <Dialog key={action.title} action={action} />;
}

function fieldsOf(form: HTMLFormElement): Map<string, string> {
  return new Map(
    [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : '']),
  );
}

function Dialog({ action }: { action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [fields, setFields] = useState<ReadonlyMap<string, string>>(new Map());
  const [problem, setProblem] = useState('');
  const [progress, setProgress] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [counted, setCounted] = useState('');
  const [keyOf] = useState(idempotencyKeys);
  const isOpen = useRef(true);
  const pool = action.place?.pool ?? DEFAULT_POOL;

  useEffect(() => {
    dialog.current?.showModal();
    if (form.current !== null) setFields(fieldsOf(form.current));
    const { dryRun } = action;
    if (dryRun !== undefined) {
      setCounted('Counting …');
      dryRun()
        .then(setCounted)
        .catch((error: unknown) =>
          setCounted(`Not counted: ${error instanceof Error ? error.message : String(error)}`),
        );
    }
    return () => {
      isOpen.current = false;
    };
  }, []);

  const close = (): void => {
    open.value = null;
  };

  const submit = async (): Promise<void> => {
    if (isBusy || form.current === null) return;
    const given = fieldsOf(form.current);
    setProblem('');
    setBusy(true);
    try {
      let next: Call | undefined = action.call(given);
      while (next !== undefined && isOpen.current) {
        const made: Call = next;
        const reply: Reply<unknown> = await call(made, pool, undefined, {
          limitMs: action.limitMs,
          idempotencyKey: keyOf(made),
        });
        setProgress(action.done(reply, given));
        next = action.more?.(reply, made);
        if (next === undefined) toast('done', action.done(reply, given));
        action.after?.(reply);
      }
      if (isOpen.current) close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      if (error instanceof CallError && error.status === 401) close();
    } finally {
      setBusy(false);
    }
  };

  const call1 = valid(() => action.call(fields));
  const lines =
    call1 === undefined ? undefined : linesOf(call1, action.place, action.cli(fields), action.secret);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="action-title"
      onClose={close}
      onCancel={(event) => {
        if (isBusy) event.preventDefault();
      }}
    >
      <form
        ref={form}
        noValidate
        onInput={() => form.current !== null && setFields(fieldsOf(form.current))}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id="action-title">{visible(action.title)}</h2>
        {action.about !== undefined && <p>{visible(action.about)}</p>}
        {counted !== '' && (
          <p class="counted" role="status">
            {visible(counted)}
          </p>
        )}
        {action.form}
        {progress !== '' && isBusy && <p role="status">{progress} Closing the dialog stops it.</p>}
        {problem !== '' && (
          <p class="problem pre" role="alert">
            {visible(problem)}
          </p>
        )}
        <div class="buttons">
          <button type="submit" class={action.isDanger === true ? 'danger' : 'primary'} disabled={isBusy}>
            {isBusy ? 'Working …' : firstWords(action.title)}
          </button>
          <button type="button" onClick={close}>
            {isBusy ? 'Stop' : 'Close'}
          </button>
        </div>
        {lines !== undefined && <ShellLines lines={lines} />}
      </form>
    </dialog>
  );
}

/** The verb of a title: the button has no room for long names. */
function firstWords(title: string): string {
  return title.length <= 28 ? title : (title.split(' ')[0] ?? title);
}

function valid<Value>(make: () => Value): Value | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
