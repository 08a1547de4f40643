import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { axeViolations, OpenedBrowser, picture } from './opened-browser.ts'
import { openManyLeases, type ManyLeases } from './many-leases.ts'
import { ShopStage } from './shop-stage.ts'

// 1,000 leases of 20 hosts. How fast it is drawn is measured by `npm run ui-bench`.

let browser: OpenedBrowser
let stage: ShopStage
let many: ManyLeases
let address: string

beforeAll(async () => {
  ;[browser, stage] = await Promise.all([OpenedBrowser.open(), ShopStage.open()])
  many = await openManyLeases(stage.store, { leases: 1_000, hosts: 20 })
  address = await stage.serve()
})

afterEach(async () => {
  await browser.closePages()
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await many[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

test('only rows that are seen are drawn, the last one can be scrolled to, and one can be found', async () => {
  const page = await browser.page()
  await page.goto(`${address}#/groups/shop%2Fleases/many`)
  const map = page.getByRole('table', { name: /^Ownership map/ })
  await map.getByRole('columnheader', { name: 'host-20' }).waitFor()
  expect(await map.getAttribute('aria-rowcount')).toBe('1001')
  expect(await map.getByRole('row').count()).toBeLessThan(80)
  expect(await axeViolations(page)).toEqual([])
  await picture(page, 'many-leases')
  await page.evaluate('document.querySelector(".scroll").scrollTop = 1e9')
  await map.getByRole('row', { name: /–last/ }).waitFor()
  await page.getByLabel('Find range or host').fill(many.tokens[500] ?? '')
  await expect.poll(() => map.getByRole('row').count()).toBe(2)
})

test('updates move nothing on the page', async () => {
  const page = await browser.page({ viewport: { width: 1280, height: 1400 } })
  await page.goto(`${address}#/groups/shop%2Fleases/many`)
  const map = page.getByRole('table', { name: /^Ownership map/ })
  await map.getByRole('columnheader', { name: 'host-20' }).waitFor()
  await page.getByText('a sample every').waitFor()
  const places = (): Promise<unknown> =>
    page.evaluate(`[...document.querySelectorAll('h1, h2, th, tr, .figures > div, .plot')].map((element) => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return [x, y, width, height].join(' ')
    })`)
  const before = await places()
  // Half of the first host's ranges go to another one: some are about to move, then they have.
  await many.move('host-1', 'host-2')
  await map.getByText('is to get it').first().waitFor({ state: 'attached' })
  await many.handOver('host-1', 'host-2')
  await map.getByText('is to get it').first().waitFor({ state: 'detached' })
  expect(await places()).toEqual(before)
})
