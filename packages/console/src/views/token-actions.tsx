import type { Reply } from '../lib/api.js';
import {
  limitArgs,
  limitCall,
  limiterOf,
  type Limiter,
  pathOfToken,
  rotateArgs,
  rotateCall,
} from '../lib/token-forms.js';
import { act } from '../ui/action.jsx';

/** A token that an action is about. The page keeps its text in memory, and shows its first characters alone. */
export interface OneToken {
  readonly namespace: string;
  readonly token: string;
  readonly hint: string;
  readonly limit: Limiter | null;
}

/** The token of an answer. */
export const madeToken = ({ body }: Reply<unknown>): string => (body as { readonly token: string }).token;

/** Replaces a token by a new one with the same permissions. */
export function rotate(of: OneToken, onMade: (token: string) => void, onChange: () => void): void {
  const { namespace, token, hint } = of;
  act({
    ...{ title: `Rotate ${hint}…`, place: null, secret: token },
    about: 'Makes a new token with the same purpose, permissions and limit. The old one ends.',
    form: (
      <div class="form">
        <label>
          <span>Old one goes on for</span>
          <input name="grace" defaultValue="1h" autocomplete="off" />
          <small>15m, 1h or 2d; empty = it ends at once</small>
        </label>
        <label>
          <span>New one expires</span>
          <input name="expires" autocomplete="off" />
          <small>90d, 12h or 2030-01-31; empty = as the old one</small>
        </label>
      </div>
    ),
    call: (fields) => rotateCall(namespace, token, fields),
    cli: (fields) => rotateArgs(namespace, token, fields),
    done: () => 'The new token is made.',
    after: (reply) => {
      onMade(madeToken(reply));
      onChange();
    },
  });
}

/** Sets or removes how many requests a token may make. */
export function setLimit({ namespace, token, hint, limit }: OneToken, onChange: () => void): void {
  const value = (number = 0): string => (number === 0 ? '' : String(number));
  act({
    ...{ title: `Save limit of ${hint}…`, place: null, secret: token, after: onChange },
    about: 'Beyond it, requests with the token are answered with 429. It counts from zero after a change.',
    form: (
      <div class="form">
        <label>
          <span>Leases</span>
          <input name="read" defaultValue={value(limit?.read)} inputMode="numeric" autocomplete="off" />
          <small>requests in a window; empty = no limit</small>
        </label>
        <label>
          <span>Publishes</span>
          <input name="write" defaultValue={value(limit?.write)} inputMode="numeric" autocomplete="off" />
          <small>a bulk publish counts as one; empty = no limit</small>
        </label>
        <label>
          <span>Window, seconds</span>
          <input
            name="interval"
            defaultValue={value(limit?.interval ?? 1)}
            inputMode="numeric"
            autocomplete="off"
          />
        </label>
      </div>
    ),
    call: (fields) => limitCall(namespace, token, fields),
    cli: (fields) => limitArgs(namespace, token, fields),
    done: (_reply, fields) => (limiterOf(fields) === null ? 'It has no limit.' : 'The limit is saved.'),
  });
}

/** Deletes a token. */
export function remove({ namespace, token, hint }: OneToken, onChange: () => void): void {
  act({
    ...{ title: `Delete ${hint}…`, place: null, secret: token, isDanger: true, after: onChange },
    about: 'Every server refuses it within a second. Programs that use it stop working.',
    call: () => ({ method: 'DELETE', path: pathOfToken(namespace, token) }),
    cli: () => ['token', 'rm', namespace, token],
    done: () => 'The token is deleted.',
  });
}
