import type { Route } from 'playwright-core';
import { waitFor } from '../../../../test/support/redis.js';
import { brokenRules, CHROMIUM, type Console, overflowOf } from '../browser.js';
import { ConsoleApp, isShown } from '../console-app.js';
import { seed, seedTypes } from '../seed.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the views of the console', () => {
  let at: ConsoleApp;
  let browser: Console;

  beforeAll(async () => {
    at = await ConsoleApp.open();
    ({ browser } = at);
    await at.makeToken();
    await seed(at);
    await seedTypes(at);
    await addHistory();
  }, LIMIT_MS);
  afterAll(() => at.stop());

  /** An operation that was stopped, a token with a limit that was replaced, and a quota. */
  async function addHistory(): Promise<void> {
    const respawn = { action: 'respawn', filter: { group: 'smtp' }, rate_per_s: 1 };
    const { id } = await at.call('POST', '/operations', respawn);
    await at.call('POST', `/operations/${String(id)}/stop`);
    const { json } = await at.app.admin('POST', '/token/shop?description=rotated');
    const { token } = json as { token: string };
    await at.call('PATCH', '/queues/typed', { fair: true });
    await at.call('POST', '/jobs', { queue: 'typed', fair_key: 'acme' });
    await at.call('POST', '/queues/typed/pause', { fair_key: 'acme', note: 'n', for_ms: 3_600_000 });
    const calls = [
      ['PUT', `/token/shop/${token}/limit`, { interval: 1, read: 100 }],
      ['POST', `/token/shop/${token}/rotate?grace=1h`, {}],
      ['PUT', '/namespaces/shop/quotas', { max_jobs_per_queue: 5_000 }],
    ] as const;
    for (const [method, path, body] of calls) {
      const { status } = await at.app.admin(method, path, { body: JSON.stringify(body) });
      expect([path, status < 300]).toEqual([path, true]);
    }
  }

  const VIEWS = [
    ...['/', '/n/shop/queues/typed', '/n/shop/jobs', '/n/shop/jobs/invoice-17', '/n/shop/jobs/ship'],
    ...['/n/shop/dead', '/n/shop/schedules', '/n/shop/workers', '/n/shop/targets', '/n/shop/operations'],
    ...['/n/shop/live', '/n/shop/tokens', '/redis', '/accounts', '/audit', '/nothing'],
  ];

  it.each(VIEWS)(
    'breaks no rule of accessibility in %s, in light and dark, and fits 360 pixels and a zoom of 200 %',
    (route) =>
      at.using(browser.page(route), async (page) => {
        await isShown(page);
        expect(await brokenRules(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'dark' });
        expect(await brokenRules(page, ['color-contrast'])).toEqual([]);
        // The lines that can be copied are the longest ones.
        await page
          .locator('main summary:visible')
          .evaluateAll((all) => all.forEach((one) => (one as HTMLElement).click()));
        for (const width of [640, 360]) {
          await page.setViewportSize({ width, height: 430 });
          expect([width, await overflowOf(page)]).toEqual([width, 0]);
        }
      }),
    LIMIT_MS,
  );

  it(
    'says of a remedy that it has changed nothing, if another client was faster',
    async () => {
      await at.call('POST', '/jobs', { queue: 'again', id: 'again-1', type: 't', tries: 1 });
      await at.fail('again', 'again-1', 'smtp', 'no route');
      await at.using(browser.page('/n/shop/jobs/again-1'), async (page) => {
        await page.getByRole('button', { name: 'Run it again' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        await at.call('POST', '/dead-letter/respawn', { ids: ['again-1'] });
        await dialog.getByRole('button', { name: 'Run it again' }).click();
        await page
          .getByRole('status')
          .getByText(/^Nothing was changed/)
          .waitFor();
      });
    },
    LIMIT_MS,
  );

  it(
    'pauses the jobs of a type that begins and ends with blanks',
    async () => {
      await at.call('POST', '/jobs', { queue: 'blanks', type: ' sms ' });
      await at.using(browser.page('/n/shop/queues/blanks'), async (page) => {
        await page.getByRole('button', { name: 'Pause some jobs' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.locator('[name=key]').fill(' sms ');
        await dialog.getByRole('button', { name: 'Pause jobs of blanks' }).click();
        await page.getByLabel('Paused jobs', { exact: true }).waitFor();
        expect(await at.call('GET', '/queues/blanks')).toMatchObject({ pauses: [{ type: ' sms ' }] });
      });
    },
    LIMIT_MS,
  );

  it(
    'publishes a copy with the push URL and the content type of the job, and once if an answer is lost',
    async () => {
      const attributes = { trace: 'a' };
      const job = { data: { a: 1 }, content_type: 'application/cloudevents+json', attributes };
      const push = { url: 'https://hooks.example/own' };
      await at.call('POST', '/jobs', { queue: 'hooks', id: 'pushed', type: 't', push, ...job });
      await at.using(browser.page('/n/shop/jobs/pushed'), async (page) => {
        const lose = async (route: Route): Promise<void> => {
          await route.fetch();
          await route.abort();
        };
        await page.route('**/v1/shop/jobs', lose, { times: 1 });
        await page.getByRole('button', { name: 'Run a copy' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.locator('[name=queue]').fill('copies');
        await dialog.getByRole('button', { name: 'Run a copy' }).click();
        await dialog.getByRole('alert').getByText('the server does not answer').waitFor();
        await dialog.getByRole('button', { name: 'Run a copy' }).click();
        await page.getByRole('link', { name: 'copies', exact: true }).waitFor();
      });
      const { items } = (await at.call('GET', '/jobs?queue=copies')) as { items: { id: string }[] };
      expect(items).toHaveLength(1);
      expect(await at.call('GET', `/jobs/${items[0]!.id}`)).toMatchObject({
        ...job,
        attributes: { ...attributes, 'push/url': push.url },
      });
    },
    LIMIT_MS,
  );

  it(
    'shows the filters of the address above the queues, and removes that of a namespace',
    () =>
      at.using(browser.page('/?match=billing&namespace=shop'), async (page) => {
        const box = page.getByLabel('Filter queues by namespace/queue');
        const hasText = (text: string) => waitFor(async () => (await box.inputValue()) === text, 10_000);
        await box.waitFor();
        await hasText('billing');
        const chip = page.getByRole('button', { name: 'Remove the filter namespace shop' });
        await chip.click();
        await chip.waitFor({ state: 'detached' });
        await page.waitForURL(/#\/\?match=billing$/);
        await page.getByRole('link', { name: 'Overview', exact: true }).click();
        await hasText('');
        await page.goBack();
        await hasText('billing');
      }),
    LIMIT_MS,
  );
});
