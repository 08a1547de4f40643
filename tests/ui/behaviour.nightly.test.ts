import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { DASHBOARD_FOLDER } from '../../scripts/build-dashboard.ts'
import { OpenedBrowser, picture } from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'

let browser: OpenedBrowser
let stage: ShopStage

beforeAll(async () => {
  ;[browser, stage] = await Promise.all([OpenedBrowser.open(), ShopStage.open()])
  await stage.startWorker({ name: 'printer-1', group: 'printer', failurePolicy: 'deadLetter' })
})

afterEach(async () => {
  await browser.closePages()
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

test('the script is at most 60 KB, gzipped, and names no other server', async () => {
  const assets = join(DASHBOARD_FOLDER, 'assets')
  const files = await readdir(assets)
  const scripts = files.filter((file) => file.endsWith('.js'))
  expect(scripts).toHaveLength(1)
  let bytes = 0
  for (const file of files) {
    const content = await readFile(join(assets, file))
    if (file.endsWith('.js')) bytes += gzipSync(content).length
    const urls = content.toString().match(/https?:\/\/[\w.]+/g) ?? []
    // Names of XML's namespaces are no addresses.
    expect(urls.filter((url) => url !== 'http://www.w3.org')).toEqual([])
  }
  expect(bytes).toBeLessThanOrEqual(60_000)
})

test('a server that goes away makes the page say since when it is stale; when it is back, it is live', async () => {
  const first = await stage.serveOnce()
  const page = await browser.page()
  await page.goto(`${first.address}#/groups`)
  const mark = page.getByRole('banner').getByRole('status')
  await mark.getByText('live').waitFor()
  await first.stop()
  await mark.getByText(/^stale since \d\d:\d\d:\d\d$/).waitFor()
  // What was known stays to be seen.
  await page.getByRole('link', { name: 'printer' }).waitFor()
  await picture(page, 'stale')
  const second = await stage.serveOnce(first.port)
  await mark.getByText('live').waitFor()
  await second.stop()
  await mark.getByText(/^stale since/).waitFor()
  // The browser notes each attempt.
  for (const complaint of browser.takeComplaints()) expect(complaint).toMatch(/ERR_/)
})

test('it works below any path, also when the slash at the end is forgotten', async () => {
  const address = await stage.serve({ basePath: '/ops/tidemark' })
  expect(new URL(address).pathname).toBe('/ops/tidemark')
  const page = await browser.page()
  await page.goto(address)
  await page.getByRole('link', { name: 'printer', exact: true }).first().click()
  await page.getByRole('columnheader', { name: 'printer-1' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/ops/tidemark/')
})

test('the keyboard is enough: to skip to the content, to open a dialog, and to leave it', async () => {
  const page = await browser.page()
  await page.goto(`${await stage.serve()}#/groups/shop%2Fleases/printer`)
  const pause = page.getByRole('button', { name: 'Pause …' })
  await pause.waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.id')).toBe('main')
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent')
  while ((await focused()) !== 'Pause …') await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog')
    .getByText(/Nothing is processed/)
    .waitFor()
  // Enter alone confirms nothing.
  expect(await focused()).toBe('Cancel')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Pause')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await focused()).toBe('Pause …')
})

test('colours follow the system until somebody chooses, and the choice is kept', async () => {
  const address = await stage.serve()
  const page = await browser.page({ colorScheme: 'dark' })
  await page.goto(address)
  const background = (): Promise<unknown> =>
    page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const dark = await background()
  await page.getByRole('button', { name: /^Colours: auto/ }).click()
  const light = await background()
  expect(light).not.toBe(dark)
  await page.reload()
  await page.getByRole('button', { name: /^Colours: light/ }).waitFor()
  expect(await background()).toBe(light)
})

test('times are in the zone of whoever looks, with UTC in their titles', async () => {
  await stage.writeOrders(1)
  const page = await browser.page({ timezoneId: 'Asia/Kolkata' })
  await page.goto(`${await stage.serve()}#/collections/shop/orders?part=documents`)
  const time = page.getByRole('table').getByRole('time').first()
  await time.waitFor()
  const iso = (await time.getAttribute('datetime')) ?? ''
  expect(await time.getAttribute('title')).toBe(`${iso.slice(0, 19).replace('T', ' ')} UTC`)
  const local = new Date(Date.parse(iso) + 5.5 * 3_600_000).toISOString()
  expect(await time.textContent()).toContain(local.slice(11, 19))
})
