import { useEffect, useRef } from 'preact/hooks';
import { NAMESPACE_PAGES, PAGES } from '../lib/pages.js';

/** Keys, and where to read more. */
export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const keys = [
    ['?', 'this help'],
    ['/', 'to the filter of the page'],
    ['p', 'pause or continue the updates'],
    ['t', 'theme: as the system, light, dark'],
    ...[...PAGES, ...NAMESPACE_PAGES].map(([, label, key]) => [`g ${key}`, label]),
  ] as const;
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, about]) => (
          <div key={key}>
            <dt>
              {(key ?? '').split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
      <p class="dim">
        Each view and each action shows the line of curl and of the command line that does the same. They read
        the address and the token from PUMPHOUSE_URL and PUMPHOUSE_TOKEN, and those of the admin port from
        PUMPHOUSE_ADMIN_URL and PUMPHOUSE_ADMIN_AUTH.
      </p>
      <form method="dialog" class="buttons">
        <button class="primary">Close</button>
      </form>
    </dialog>
  );
}
