import { FULL_RANGE } from '@tidemark/contracts'
import { openChangeFeed } from '@tidemark/gateway/client'
import { StoreTime } from '@tidemark/testing/conformance'
import { expect, test } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'

const START_MS = 1_800_000_000_000

test.each(['latestVersion', 'allVersions'] as const)(
  'JB-2 %s: a ttl that a commit made of an instant goes out with every image',
  async (mode) => {
    const clock = new StoreTime(START_MS)
    await using under = await gatewayUnderTest({ clock, maintenance: 'manual' })
    const db = under.store.database('db')
    const items = await db.createCollectionIfNotExists<{ id: string; pk: string }>({
      id: 'items',
      partitionKey: '/pk',
      defaultTtl: -1,
      allVersions: { retentionSeconds: 3600, previousImages: true },
    })
    const feed = await openChangeFeed<{ id: string; pk: string; ttl?: number }>(under.connect({}), {
      database: 'db',
      container: 'items',
    })
    const { continuation } = await feed.resolveStart({ range: FULL_RANGE, start: 'now', mode })
    const put = {
      kind: 'put',
      document: { id: 'a', pk: 'p' },
      expiresAtMs: START_MS + 7_000,
    } as const
    await db.commitAtomically([{ collection: items, operation: put }])
    const page = () => feed.readPage({ range: FULL_RANGE, continuation, mode })
    expect((await page()).changes[0]).toMatchObject(
      mode === 'allVersions' ? { current: { ttl: 7 } } : { document: { ttl: 7 } },
    )
    await items.delete('a', 'p')
    if (mode === 'latestVersion') return
    expect((await page()).changes[1]).toMatchObject({ previous: { id: 'a', ttl: 7 } })
  },
)
