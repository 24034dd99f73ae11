const REPLIES = 'src/redis/scripts/wire.spec.ts';

/**
 * What operators read: names of scripts in metrics and errors.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EDGES_WORDS = [
  {
    id: 'reply-error-names-script',
    name: 'errors: a reply that no script gives is an error with the label of the script',
    off: { with: 'message' },
    spec: REPLIES,
    test: 'the reply of a script › fails with the label of the script if it is not what the script returns: %s',
  },
];
