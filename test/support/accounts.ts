import type { AccountConfig } from '../../src/config/config.js';
import type { Role } from '../../src/domain/roles.js';

const hashed = (digest: string, role: Role, namespaces?: string[]): AccountConfig => ({
  password_hash: `scrypt:14:8:1:MDEyMzQ1Njc4OWFiY2RlZg:${digest}`,
  role,
  ...(namespaces && { namespaces }),
});

/**
 * An account of each role, named by its first letter: vera is a viewer, dana sees data too, olga operates, adam is an
 * admin; nora is an admin of `namespaces` only. The password of each is `secret-of-NAME`, and cheap to check.
 */
export function testAccounts(namespaces: string[] = ['own-*']): Record<string, AccountConfig> {
  return {
    vera: hashed('AV8IbYPbkijFg7RhDqx6Te7C2KryVBFKIR7MBpbRRgc', 'viewer'),
    dana: hashed('IfJTga4LR_Up5qWEJTcHIHxSmNtL2Ec6RSGJM8_XNOc', 'viewer_data'),
    olga: hashed('gF5JQ1p-DQqjBUZkoCgewT3vc8nH1_WyOCWX-Fg0GGI', 'operator'),
    adam: hashed('uOt-UaU2mAdmSdM_75-yCxo9cmDK8ebUuMUF9hzxWJ4', 'admin'),
    nora: hashed('2L7bzz-_O95fW2-AyGhl0cfQgN59WuH-yUpWtVR36NY', 'admin', namespaces),
  };
}

/** The role of each of the test accounts. */
export const ROLE_OF: Readonly<Record<string, Role>> = {
  vera: 'viewer',
  dana: 'viewer_data',
  olga: 'operator',
  adam: 'admin',
};

/** The header of a test account. */
export function basicOf(name: string, password = `secret-of-${name}`): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}
