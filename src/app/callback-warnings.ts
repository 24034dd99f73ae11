import { isIP } from 'node:net';
import type { Config } from '../config/config.js';
import { AddressRules } from '../push/send/address-rules.js';

/** A warning for each origin of `later.allow` whose address `push.allow` does not allow: its callbacks all fail. */
export function callbackWarnings({ later, push }: Config): string[] {
  const rules = new AddressRules(push.allow);
  return later.allow.flatMap((origin) => {
    const address = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(address) === 0 || rules.allows(address)) return [];
    return `later.allow has ${origin}, and no callback reaches it: its address is not public. Set push.allow to a range with ${address}, too`;
  });
}
