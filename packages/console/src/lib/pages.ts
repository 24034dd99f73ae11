/** Pages of a namespace: name in the address, label, key after `g`. */
export const NAMESPACE_PAGES = [
  ['jobs', 'Jobs', 'j'],
  ['dead', 'Dead letters', 'd'],
  ['schedules', 'Schedules', 's'],
  ['workers', 'Workers', 'w'],
  ['targets', 'Push targets', 'p'],
  ['operations', 'Operations', 'b'],
  ['live', 'Live', 'l'],
  ['tokens', 'Tokens', 'k'],
] as const;
/** Pages of the installation. */
export const PAGES = [
  ['', 'Overview', 'o'],
  ['redis', 'Redis', 'r'],
  ['accounts', 'Accounts', 'a'],
  ['audit', 'Audit', 'u'],
] as const;
