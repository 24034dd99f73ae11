const OIDC = 'test/api/oidc.spec.ts';
const SIGN_IN = 'sign-in by OpenID Connect';
const SESSIONS = `${SIGN_IN} › sessions`;

/**
 * Sign-in to the admin port by OpenID Connect.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const OIDC_GUARDS = [
  {
    id: 'sign-in-cookie-is-signed',
    name: 'OpenID Connect: a cookie of a sign-in that was changed counts',
    off: 'true',
    spec: OIDC,
    test: `${SIGN_IN} › refuses a cookie that is %s`,
  },
  {
    id: 'sign-in-in-time',
    name: 'OpenID Connect: a sign-in may take for ever',
    off: 'true',
    spec: OIDC,
    test: `${SIGN_IN} › ends ten minutes after it was begun`,
  },
  {
    id: 'sign-in-is-usable-once',
    name: 'OpenID Connect: a sign-in may be used twice',
    off: 'false',
    spec: OIDC,
    test: `${SIGN_IN} › is usable once also for a provider that accepts a code twice`,
  },
  {
    id: 'id-token-signature-is-checked',
    name: 'OpenID Connect: the signature of an ID token is not checked',
    off: 'remove',
    spec: OIDC,
    test: `${SIGN_IN} › refuses an ID token that another key has signed, and one without a signature`,
  },
  {
    id: 'no-group-no-access',
    name: 'OpenID Connect: a user without a group may sign in',
    off: 'false',
    spec: OIDC,
    test: `${SIGN_IN} › gives a user with %s no access, and says what to ask for`,
  },
  {
    id: 'oidc-role-in-its-namespaces',
    name: 'OpenID Connect: the namespaces of a lower role count for a higher one',
    off: { with: 'grants' },
    spec: OIDC,
    test: `${SIGN_IN} › gives the highest role of several groups, in the namespaces of those that give it`,
  },
  {
    id: 'route-is-behind-the-hash',
    name: 'OpenID Connect: the page to return to may have any form',
    off: 'true',
    spec: OIDC,
    test: `${SIGN_IN} › leads to the console only, when it is told to return to %j`,
  },
  {
    id: 'email-is-verified',
    name: 'OpenID Connect: an address that is not verified names an account',
    off: 'true',
    spec: OIDC,
    test: `${SIGN_IN} › names the account by a claim, also one of the userinfo`,
  },
  {
    id: 'groups-are-checked-again',
    name: 'OpenID Connect: the groups are not checked again',
    off: 'true',
    spec: OIDC,
    test: `${SESSIONS} › end all, within 15 minutes, when the user has lost the group`,
  },
  {
    id: 'lost-group-ends-all-sessions',
    name: 'OpenID Connect: other sessions of a user without a group go on',
    off: 'false',
    spec: OIDC,
    test: `${SESSIONS} › end all, within 15 minutes, when the user has lost the group`,
  },
  {
    id: 'unchecked-session-is-bounded',
    name: 'OpenID Connect: a session goes on for ever while the provider is away',
    off: 'true',
    spec: OIDC,
    test: `${SESSIONS} › go on for an hour without the provider, and again when it is back`,
  },
  {
    id: 'refreshed-subject-is-the-same',
    name: 'OpenID Connect: a check may bring the groups of another user',
    off: 'false',
    spec: OIDC,
    test: `${SESSIONS} › end when the provider answers with another user`,
  },
  {
    id: 'ended-session-stays-ended',
    name: 'OpenID Connect: a check brings a session back that has ended',
    off: 'false',
    spec: OIDC,
    test: `${SESSIONS} › stay ended when a check was under way`,
  },
  {
    id: 'check-age-by-a-clock-set-back',
    name: 'OpenID Connect: a check in the future ends operations, too',
    off: 'unwrap',
    spec: OIDC,
    test: `${SESSIONS} › have operations, which stop %s`,
  },
  {
    id: 'operation-ends-with-its-oidc-account',
    name: 'OpenID Connect: operations go on although the groups are not known any more',
    off: 'false',
    spec: OIDC,
    test: `${SESSIONS} › have operations, which stop %s`,
  },
  {
    id: 'stream-ends-with-its-role',
    name: 'OpenID Connect: a stream of events goes on with the role that the session had',
    off: { with: 'session !== null' },
    spec: OIDC,
    test: `${SESSIONS} › have streams of events, which end when the role has changed`,
  },
];
