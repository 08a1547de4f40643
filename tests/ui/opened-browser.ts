import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureChromium } from '@tidemark/testing/servers'
import axe from 'axe-core'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'

const ARTIFACTS = fileURLToPath(new URL('../../.cache/ui/', import.meta.url))

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A name that a foreign site may point to this machine.
  '--host-resolver-rules=MAP rebound.example 127.0.0.1',
]

/** A real Chromium. Everything that a page complains of is kept, and asserted to be nothing. */
export class OpenedBrowser implements AsyncDisposable {
  readonly #browser: Browser
  readonly #contexts: BrowserContext[] = []
  readonly #complaints: string[] = []

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async open(): Promise<OpenedBrowser> {
    const executablePath = await ensureChromium({ onProgress: console.log })
    return new OpenedBrowser(await chromium.launch({ executablePath, args: ARGUMENTS }))
  }

  /** A page with a profile of its own. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const viewport = { width: 1280, height: 900 }
    const context = await this.#browser.newContext({
      viewport,
      timezoneId: 'Europe/Berlin',
      ...options,
    })
    this.#contexts.push(context)
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => this.#complaints.push(`error: ${message}`))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) {
        this.#complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`)
      }
    })
    return page
  }

  /** What pages complained of since the last call. */
  takeComplaints(): readonly string[] {
    return this.#complaints.splice(0)
  }

  async closePages(): Promise<void> {
    await Promise.all(this.#contexts.splice(0).map((context) => context.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** Keeps a picture of the page as it is, for people to look at: `.cache/ui/NAME.png`. */
export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(ARTIFACTS, { recursive: true })
  await page.screenshot({ path: join(ARTIFACTS, `${name}.png`) })
}

/** The same in light and, as `NAME-dark.png`, in dark. */
export async function pictureInBothSchemes(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' })
  await picture(page, `${name}-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  await picture(page, name)
}

/** Everything that axe-core objects to, as `rule: element`. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  const isThere = await page.evaluate('typeof axe !== "undefined"')
  // Evaluated by the debugger, which the page's own policy does not concern.
  if (isThere !== true) await page.evaluate(axe.source)
  const run = 'axe.run(document, { resultTypes: ["violations"] })'
  const { violations } = (await page.evaluate(run)) as axe.AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** No element makes the page wider than the screen. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const width = await page.evaluate('document.documentElement.scrollWidth')
  expect(width).toBe(page.viewportSize()?.width)
}
