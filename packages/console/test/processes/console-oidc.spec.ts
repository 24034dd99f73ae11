import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testAccounts } from '../../../../test/support/accounts.js';
import { TestProvider } from '../../../../test/support/oidc.js';
import { freePort } from '../../../../test/support/redis.js';
import { brokenRules, CHROMIUM, overflowOf } from '../browser.js';
import { ConsoleApp } from '../console-app.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the console of a server with OpenID Connect', () => {
  let at: ConsoleApp;
  let provider: TestProvider;
  let folder: string;

  beforeAll(async () => {
    const port = await freePort();
    const publicUrl = `http://127.0.0.1:${String(port)}`;
    provider = await TestProvider.start(`${publicUrl}/sign-in/oidc/callback`);
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-oidc-'));
    writeFileSync(join(folder, 'secret'), provider.secret);
    at = await ConsoleApp.open({}, ({ admin }) => {
      Object.assign(admin, { port, public_url: publicUrl, accounts: testAccounts() });
      Object.assign(admin.oidc, {
        ...{ issuer: provider.issuer, client_id: 'pumphouse', name: 'Example' },
        client_secret_file: join(folder, 'secret'),
        groups: { 'queue-admins': 'admin' },
      });
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await at.stop();
    await provider.down();
    rmSync(folder, { recursive: true });
  });

  it(
    'signs a user in at the provider, comes back to the page of the address, and signs out',
    () =>
      at.using(at.browser.page('/audit?action=sign-in'), async (page) => {
        const button = page.getByRole('link', { name: 'Sign in with Example' });
        await button.waitFor();
        expect(await brokenRules(page)).toEqual([]);
        await page.setViewportSize({ width: 360, height: 430 });
        expect(await overflowOf(page)).toBe(0);
        await button.press('Enter');
        await page.getByRole('button', { name: 'sign out' }).waitFor();
        await page.locator('header').getByText('oidc:u-1').waitFor();
        expect(page.url()).toBe(`${at.browser.url}#/audit?action=sign-in`);
        expect((await page.context().cookies()).map(({ name, sameSite }) => [name, sameSite])).toContainEqual(
          ['pumphouse_session', 'Strict'],
        );
        await page.getByRole('button', { name: 'sign out' }).click();
        await button.waitFor();
      }),
    LIMIT_MS,
  );

  it(
    'shows a user without a group what to ask for, and the way back',
    async () => {
      provider.user = { sub: 'u-2', groups: [] };
      await at.using(at.browser.page('/'), async (page) => {
        await page.getByRole('link', { name: 'Sign in with Example' }).click();
        await page.getByText('none of your groups has access').waitFor();
        await page.getByText('one of these groups: queue-admins').waitFor();
        expect(await brokenRules(page)).toEqual([]);
        await page.getByRole('link', { name: 'To the console' }).click();
        await page.getByLabel('Password').waitFor();
      });
    },
    LIMIT_MS,
  );
});
