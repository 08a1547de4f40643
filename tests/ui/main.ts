import type { CDPSession, Page } from 'playwright-core'
import { readArguments, whole } from '../../scripts/command-line/read-arguments.ts'
import { openManyLeases } from './many-leases.ts'
import { OpenedBrowser } from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'

// `npm run ui-bench`: what the page of a large group costs the browser. One JSON line; ms of the browser's main thread.

const USAGE = `usage: npm run ui-bench -- [--leases N] [--hosts N] [--rounds N]

  --leases N   of the group that is shown   (default 1000)
  --hosts N    that own them                (default 20)
  --rounds N   times that it is opened      (default 10)`

const { values } = readArguments(USAGE, {
  leases: whole(1, 1_000),
  hosts: whole(1, 20),
  rounds: whole(1, 10),
})
const { leases, hosts, rounds } = values

interface Cost {
  readonly script: number
  readonly layout: number
}

/** What the main thread did between two moments. */
async function costOf(session: CDPSession, act: () => Promise<void>): Promise<Cost> {
  const before = await metrics(session)
  await act()
  const after = await metrics(session)
  const spent = (name: string): number => 1_000 * ((after.get(name) ?? 0) - (before.get(name) ?? 0))
  return {
    script: spent('ScriptDuration'),
    layout: spent('LayoutDuration') + spent('RecalcStyleDuration'),
  }
}

async function metrics(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics: found } = await session.send('Performance.getMetrics')
  return new Map(found.map(({ name, value }) => [name, value]))
}

function summary(costs: readonly Cost[]): Readonly<Record<string, number>> {
  const sorted = (of: (cost: Cost) => number): readonly number[] =>
    costs.map(of).toSorted((a, b) => a - b)
  const middle = (list: readonly number[]): number => round(list[Math.floor(list.length / 2)] ?? 0)
  const script = sorted((cost) => cost.script)
  return {
    scriptMedianMs: middle(script),
    scriptMaxMs: round(script.at(-1) ?? 0),
    layoutMedianMs: middle(sorted((cost) => cost.layout)),
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

async function showsLast(page: Page): Promise<void> {
  await page.getByRole('columnheader', { name: `host-${hosts}` }).waitFor()
  await page.locator('.uplot canvas').first().waitFor()
}

await using browser = await OpenedBrowser.open()
await using stage = await ShopStage.open()
await stage.writeOrders(40)
await using many = await openManyLeases(stage.store, { leases, hosts })
const address = await stage.serve()
/** A new page each time, which has drawn nothing of this kind yet. */
async function firstRender(): Promise<readonly [Page, CDPSession, Cost]> {
  const page = await browser.page({ viewport: { width: 1280, height: 1400 } })
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  // Drawing is measured, not loading.
  await page.goto(`${address}#/nowhere`)
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
  const cost = await costOf(session, async () => {
    await page.evaluate(`location.hash = '#/groups/shop%2Fleases/many'`)
    await showsLast(page)
  })
  return [page, session, cost]
}

const renders: Cost[] = []
for (let n = 1; n < rounds; n += 1) {
  renders.push((await firstRender())[2])
  await browser.closePages()
}
const [page, session, last] = await firstRender()
renders.push(last)
const updates: Cost[] = []
for (let n = 1; n <= Math.min(rounds, hosts - 1); n += 1) {
  const [from, to] = [`host-${n}`, `host-${n + 1}`]
  const coming = page.getByText('is to get it').first()
  // One update with all ranges of a host, a second later at most.
  updates.push(
    await costOf(session, async () => {
      await many.move(from, to)
      await coming.waitFor({ state: 'attached' })
    }),
  )
  await many.handOver(from, to)
  await coming.waitFor({ state: 'detached' })
}
console.log(
  JSON.stringify({ leases, hosts, rounds, render: summary(renders), update: summary(updates) }),
)
