import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError } from '../lib/api.js';
import { addressOfOidc, oidcName, signIn } from '../lib/session.js';

/** The form for name and password. The view behind it stays, and goes on after the sign-in. */
export function SignIn() {
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [provider, setProvider] = useState<string | null>(null);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  useEffect(() => {
    // Without an answer the form is there all the same.
    oidcName().then(setProvider, () => undefined);
  }, []);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form);
    setBusy(true);
    try {
      await signIn(String(fields.get('account')), String(fields.get('password')));
    } catch (error) {
      const isWrong = error instanceof CallError && error.status === 401;
      setProblem(
        isWrong
          ? 'The name or the password is wrong.'
          : error instanceof Error
            ? error.message
            : String(error),
      );
      setBusy(false);
    }
  };
  return (
    <form
      class="signin"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <h1>Sign in</h1>
      <label>
        Account
        <input ref={first} name="account" autocomplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'Signing in …' : 'Sign in'}
      </button>
      {provider !== null && (
        <a class="button" href={addressOfOidc()}>
          Sign in with {provider}
        </a>
      )}
      <p class="dim">Accounts are in the configuration of the server, as admin.accounts.</p>
    </form>
  );
}
