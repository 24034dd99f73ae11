import { basicOf, testAccounts } from '../../test/support/accounts.js';
import { Accounts } from './accounts.js';

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

describe('the accounts of the admin port', () => {
  const accounts = new Accounts({ ops: 'secret', 'ops:x': 'y', ünï: 'pässwort', ...testAccounts(['own-*']) });

  it.each([
    [basic('ops:secret'), 'ops'],
    [basic('ünï:pässwort'), 'ünï'],
    [basic('ops:secret').replace('Basic', 'basic'), 'ops'],
    [basic('ops:secret '), null],
    [basic('ops:'), null],
    [basic('unknown:secret'), null],
    [basic('vera:secret-of-vera'), 'vera'],
    [basic('nora:secret-of-nora'), 'nora'],
    [basic('vera:secret-of-nora'), null],
    [basic('vera:'), null],
    [basic('vera'), null],
    [basic('secret-of-vera'), null],
    ['Basic !!!', null],
    ['Bearer secret', null],
    ['', null],
    [undefined, null],
  ])('give for the Authorization header %j the account %j (null: refused)', async (header, name) => {
    expect((await accounts.whose(header))?.account ?? null).toBe(name);
  });

  it('have the role and the namespaces of the configuration, and all of both for a plain password', async () => {
    expect(await accounts.whose(basicOf('nora').authorization)).toMatchObject({
      role: 'admin',
      namespaces: ['own-*'],
    });
    expect(await accounts.whose(basicOf('vera').authorization)).toMatchObject({
      role: 'viewer',
      namespaces: null,
    });
    expect(await accounts.whose(basic('ops:secret'))).toMatchObject({ role: 'admin', namespaces: null });
    expect(accounts.all().map(({ account }) => account)).toEqual([
      'adam',
      'dana',
      'nora',
      'olga',
      'ops',
      'ops:x',
      'vera',
      'ünï',
    ]);
  });

  it('see the namespaces that match one of their patterns', () => {
    const { nora, vera } = { nora: accounts.named('nora'), vera: accounts.named('vera') };
    expect(['own-', 'own-1', 'own', 'xown-1', 'shop', ''].filter((one) => nora?.allows(one))).toEqual([
      'own-',
      'own-1',
    ]);
    expect(vera?.allows('shop')).toBe(true);
  });

  it('require no login if no account is configured', () => {
    expect(new Accounts({}).areNeeded).toBe(false);
    expect(new Accounts({}).whose(basic(':'))).toBeNull();
    expect(accounts.areNeeded).toBe(true);
    expect(new Accounts(testAccounts()).areNeeded).toBe(true);
  });
});
