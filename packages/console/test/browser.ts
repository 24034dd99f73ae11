import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { onPath } from '../../../scripts/setup/run.mjs';

/** The browser, without windows where there is one: it opens a page three times as fast. Null where none is installed. */
export const CHROMIUM = onPath('chromium-headless-shell') ?? onPath('chromium');

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A page that takes longer than this to show something is broken, also on a busy machine. */
const SHOWN_WITHIN_MS = 90_000;

export interface Looks {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
}

/** A browser with pages of the console. */
export class Console {
  private readonly problems: string[] = [];

  private constructor(
    private readonly browser: Browser,
    /** Of the page, with its slash. */
    readonly url: string,
  ) {}

  static async open(url: string): Promise<Console> {
    const browser = await chromium.launch({
      executablePath: CHROMIUM ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    return new Console(browser, url);
  }

  /** What went wrong in any page: exceptions, errors of its console, broken rules of its policy. */
  get failures(): readonly string[] {
    return this.problems;
  }

  /** A page of its own, without cookies of others. @param route behind the `#` */
  async page(route = '/', { width = 1_280, scheme = 'light' }: Looks = {}): Promise<Page> {
    const context: BrowserContext = await this.browser.newContext({
      viewport: { width, height: 860 },
      colorScheme: scheme,
      // Colours are looked at while a transition would change them.
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(SHOWN_WITHIN_MS);
    const page = await context.newPage();
    page.on('pageerror', (error) => void this.problems.push(error.message));
    page.on('console', (message) => {
      // Answers that are no success are shown by the page, and logged by the browser.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) this.problems.push(message.text());
    });
    await page.goto(`${this.url}#${route}`);
    return page;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The rules of WCAG 2.2 AA that a page breaks, with the elements that do. @param rules only these; left out, all */
export async function brokenRules(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const runOnly = { type: rules === undefined ? 'tag' : 'rule', values: rules ?? TAGS };
  const found = await page.evaluate(
    async (options) => {
      const { axe } = globalThis as unknown as {
        axe: { run: (options: object) => Promise<{ violations: unknown }> };
      };
      return (await axe.run(options)).violations;
    },
    { runOnly },
  );
  return (found as Violation[]).flatMap(({ id, nodes }) =>
    nodes.map(
      ({ html, failureSummary = '' }) =>
        `${id}: ${html.slice(0, 160)} ${failureSummary.split('\n').at(-1) ?? ''}`,
    ),
  );
}

/** By how many pixels the page is wider than its window. */
export async function overflowOf(page: Page): Promise<number> {
  const overflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  // Charts take their new width a frame after the page.
  for (let i = 0; i < 50 && (await overflow()) > 0; i++) await page.waitForTimeout(100);
  return overflow();
}
