/** What a person does about a reason for which a Redis cannot be used at start. The first that fits counts. */
const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/has no password, but one is configured/, 'remove username and password (also from the url)'],
  [/WRONGPASS|invalid password/, 'set username and password (or those in the url) to a user of this Redis'],
  [/NOAUTH/, 'set password, or redis://:password@host:port as the url'],
  [
    /DB index is out of range/,
    'set db (or the number at the end of the url) below `databases` of this Redis',
  ],
  [
    /cluster support disabled|unknown command '?cluster/i,
    'it is no node of a Cluster: set url = "redis://host:port" in the place of cluster',
  ],
  [/self.signed|unable to (?:get|verify)/, 'set tls_ca to the CA of its certificate'],
  [/ERR_TLS_CERT_ALTNAME|altnames/, 'use a host name that its certificate has'],
  [/ECONNREFUSED/, 'nothing listens there: start Redis, or change host and port'],
  [/ENOTFOUND|EAI_AGAIN/, 'no such host is known: change its name'],
];

/** The reason with its remedy, if one is known. */
export function withRemedy(reason: string): string {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1];
  return remedy === undefined ? reason : `${reason}; ${remedy}`;
}
