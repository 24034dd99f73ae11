import type { Page } from 'playwright-core';
import { basicOf, testAccounts } from '../../../../test/support/accounts.js';
import { brokenRules, CHROMIUM, type Console, overflowOf } from '../browser.js';
import { ConsoleApp, isShown } from '../console-app.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the console of a server with accounts', () => {
  let at: ConsoleApp;
  let browser: Console;

  beforeAll(async () => {
    at = await ConsoleApp.open({}, (config) => {
      config.admin.accounts = testAccounts(['shop']);
    });
    ({ browser } = at);
    await at.makeToken(basicOf('adam'));
    await at.call('POST', '/jobs', {
      ...{ queue: 'billing', id: 'invoice-17', type: 'invoice', tries: 1, data: { to: 'hidden-data' } },
      attributes: { trace: 'hidden-attribute' },
    });
    await at.fail('billing', 'invoice-17', 'card_declined', 'hidden-message');
    await at.call('POST', '/jobs', { queue: 'billing', id: 'waits', type: 'invoice', data: 'hidden-data' });
    const job = { queue: 'billing', data: 'hidden-data' };
    await at.call('PUT', '/recurring/nightly', { schedule: { every_ms: 3_600_000 }, job });
  }, LIMIT_MS);
  afterAll(() => at.stop());

  async function signIn(page: Page, account: string, password = `secret-of-${account}`): Promise<void> {
    await page.getByLabel('Account').fill(account);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
  }

  /** Uses a page of an account. */
  const as = (account: string, route: string, use: (page: Page) => Promise<void>): Promise<void> =>
    at.using(browser.page(route), async (page) => {
      await signIn(page, account);
      await page.getByRole('button', { name: 'sign out' }).waitFor();
      await isShown(page);
      await use(page);
    });

  const buttonsOf = (page: Page): Promise<string[]> => page.locator('main button').allTextContents();

  it(
    'shows nothing before the sign-in, refuses a wrong password, and then shows the page of the address',
    () =>
      at.using(browser.page('/n/shop/jobs/waits'), async (page) => {
        await page.getByLabel('Password').waitFor();
        expect(await page.content()).not.toContain('invoice');
        expect(await brokenRules(page)).toEqual([]);
        await page.setViewportSize({ width: 360, height: 430 });
        expect(await overflowOf(page)).toBe(0);
        await signIn(page, 'olga', 'secret-of-adam');
        await page.getByRole('alert').getByText('The name or the password is wrong.').waitFor();
        await signIn(page, 'olga');
        await page.getByRole('button', { name: 'Cancel job' }).waitFor();
        expect(await page.context().cookies()).toEqual([
          expect.objectContaining({ httpOnly: true, sameSite: 'Strict' }),
        ]);
        await page.getByRole('button', { name: 'sign out' }).click();
        await page.getByLabel('Password').waitFor();
        await page.reload();
        await page.getByLabel('Password').waitFor();
      }),
    LIMIT_MS,
  );

  it(
    'shows a viewer no data and no action, on any page',
    () =>
      as('vera', '/n/shop/jobs/invoice-17', async (page) => {
        await page.getByText('Withheld: your role does not show data.').waitFor();
        const VIEWS = [
          ...['/n/shop/jobs', '/n/shop/jobs/waits', '/n/shop/queues/billing', '/n/shop/dead'],
          ...['/n/shop/schedules', '/n/shop/workers', '/n/shop/targets', '/n/shop/operations'],
          ...['/n/shop/live', '/n/shop/tokens', '/', '/redis', '/accounts', '/audit'],
        ];
        const actions = /Retry|Respawn|Cancel|Delete|Pause|Purge|Settings|Move|Run|Create|Rotate|edit|End/;
        for (const view of ['/n/shop/jobs/invoice-17', ...VIEWS]) {
          await page.goto(`${browser.url}#${view}`);
          await isShown(page);
          const text = await page.locator('main').innerText();
          expect([view, text.match(/hidden-\w+/g)]).toEqual([view, null]);
          const found = (await buttonsOf(page)).filter((button) => actions.test(button));
          const isOwn = view === '/accounts';
          expect([view, found.length > 0]).toEqual([view, isOwn]);
        }
        await page.goto(`${browser.url}#/n/shop/dead`);
        await page.getByText('withheld: your role does not show messages').waitFor();
        await page.goto(`${browser.url}#/n/shop/tokens`);
        await page.getByText('Tokens are for accounts with the role admin.').waitFor();
      }),
    LIMIT_MS,
  );

  it(
    'shows data to viewer_data, actions to an operator, and tokens to an admin',
    async () => {
      await as('dana', '/n/shop/jobs/waits', async (page) => {
        await page.getByText('hidden-data').first().waitFor();
        expect(await page.getByRole('button', { name: 'Cancel job' }).count()).toBe(0);
      });
      await as('olga', '/n/shop/queues/billing', async (page) => {
        await page.getByRole('button', { name: 'Pause', exact: true }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Pause billing' }).click();
        await page.locator('h1').getByText('paused').waitFor();
        await page.goto(`${browser.url}#/audit`);
        await page.getByText('The audit log is for accounts with the role admin.').waitFor();
      });
      await as('adam', '/audit', async (page) => {
        await page.getByRole('row').filter({ hasText: 'olga' }).first().waitFor();
        await page.goto(`${browser.url}#/n/shop/tokens`);
        await page.getByRole('button', { name: 'Rotate' }).waitFor();
      });
    },
    LIMIT_MS,
  );

  describe('of a queue with redacted places', () => {
    const VIEWS = [
      ...[
        '/n/shop/jobs/card-9',
        '/n/shop/jobs?queue=cards',
        '/n/shop/queues/cards',
        '/n/shop/dead',
        '/n/shop/live',
      ],
      ...['/n/shop/schedules', '/n/shop/operations', '/'],
    ];

    beforeAll(async () => {
      await at.call('PATCH', '/queues/cards', { redact: ['$.card'] });
      const data = { card: 'redacted-card', sum: 12_345 };
      const job = { queue: 'cards', type: 'charge', data, attributes: { trace: 'redacted-trace' } };
      await at.call('POST', '/jobs', { ...job, id: 'card-9', tries: 1 });
      await at.fail('cards', 'card-9', 'declined', 'redacted-message');
      await at.call('PUT', '/recurring/monthly', { schedule: { every_ms: 3_600_000 }, job });
    });

    it.each(['dana', 'olga'])(
      'shows the rest of the data to %s, and no redacted place on any page',
      (account) =>
        as(account, '/n/shop/jobs/card-9', async (page) => {
          for (const view of VIEWS) {
            await page.goto(`${browser.url}#${view}`);
            await isShown(page);
            expect([view, (await page.content()).match(/redacted-\w+/g)]).toEqual([view, null]);
          }
          await page.goto(`${browser.url}#/n/shop/jobs/card-9`);
          const data = page.getByLabel('The data of the job', { exact: true });
          await data.getByText('12345').waitFor();
          await data.getByText('[redacted by Pumphouse]').waitFor();
          await page.getByRole('button', { name: 'as stored' }).click();
          expect(await data.textContent()).toBe('{"card":"[redacted by Pumphouse]","sum":12345}');
          expect(await page.getByRole('button', { name: 'Run a copy' }).count()).toBe(0);
        }),
      LIMIT_MS,
    );

    it(
      'shows all of it to an admin',
      () =>
        as('adam', '/n/shop/jobs/card-9', async (page) => {
          for (const text of ['redacted-card', 'redacted-message', 'redacted-trace'])
            await page.getByText(text).first().waitFor();
          await page.getByRole('button', { name: 'Run a copy' }).waitFor();
        }),
      LIMIT_MS,
    );
  });

  it(
    'shows an account for some namespaces these alone',
    () =>
      as('nora', '/', async (page) => {
        await page.getByRole('link', { name: 'billing', exact: true }).waitFor();
        const names = await page.getByLabel('Namespace').locator('option').allTextContents();
        expect(names).toEqual(['choose …', 'shop']);
        await page.goto(`${browser.url}#/n/other/jobs`);
        await page
          .getByRole('alert')
          .getByText(/namespace not found/)
          .waitFor();
      }),
    LIMIT_MS,
  );

  it(
    'asks for a sign-in when the session ends in the middle of an action, and keeps the page',
    () =>
      as('olga', '/n/shop/jobs/waits', async (page) => {
        await page.getByRole('button', { name: 'Cancel job' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        await at.app.admin('DELETE', '/accounts/olga/sessions', { headers: basicOf('adam') });
        await dialog.getByRole('button', { name: 'Cancel job' }).click();
        await page.getByLabel('Password').waitFor();
        expect(await at.stateOf('waits')).toBe('ready');
        await signIn(page, 'olga');
        await page.locator('h1').getByText('waits').waitFor();
        expect(page.url()).toContain('/n/shop/jobs/waits');
      }),
    LIMIT_MS,
  );

  it(
    'keeps what a view shows for the account that signs in again, and shows none of it to another one',
    () =>
      as('adam', '/n/shop/tokens', async (page) => {
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Create a token' }).click();
        await dialog.locator('[name=description]').fill('shown once');
        await dialog.getByRole('button', { name: 'Create a token' }).click();
        const made = page.getByLabel('The new token');
        await made.waitFor();
        const signInAfterTheEnd = async (account: string): Promise<void> => {
          await at.app.admin('DELETE', '/accounts/adam/sessions', { headers: basicOf('adam') });
          // The page reads at once when its updates go on.
          for (const key of ['p', 'p']) await page.keyboard.press(key);
          await page.getByLabel('Password').waitFor();
          await signIn(page, account);
        };
        await signInAfterTheEnd('adam');
        await made.waitFor();
        await signInAfterTheEnd('olga');
        await page.getByText('Tokens are for accounts with the role admin.').waitFor();
        expect(await made.count()).toBe(0);
      }),
    LIMIT_MS,
  );

  it(
    'lets an operator test, pause and resume a target, and no viewer',
    async () => {
      await at.call('PUT', '/targets/hooks', { url: 'https://hooks.example/in' });
      await as('olga', '/n/shop/targets', async (page) => {
        const row = page.getByRole('row').filter({ hasText: 'hooks' });
        const dialog = page.getByRole('dialog');
        await row.getByRole('button', { name: 'Test' }).waitFor();
        for (const action of ['Pause', 'Resume']) {
          await row.getByRole('button', { name: action }).click();
          await dialog.getByRole('button', { name: `${action} hooks` }).click();
        }
        await row.getByRole('button', { name: 'Pause' }).waitFor();
      });
      await as('dana', '/n/shop/targets', async (page) => {
        await page.getByRole('row').filter({ hasText: 'hooks' }).waitFor();
        expect(await buttonsOf(page)).not.toContain('Pause');
      });
    },
    LIMIT_MS,
  );
});
