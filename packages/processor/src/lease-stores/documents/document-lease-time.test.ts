import type { DocumentCollection } from '@tidemark/contracts'
import { FakeDocumentCollection } from '@tidemark/testing'
import { observingGroup, StoreTime } from '@tidemark/testing/conformance'
import { expect, test } from 'vitest'
import { DocumentLeaseStore } from './document-lease-store.ts'

const profile = { weight: 1, minLeases: 0, maxLeases: Infinity, leaving: false }
const TTL_MS = 8000

/** How long a session that is not renewed lasts to the eyes of another host, in ms. */
async function lifeOfSession(serverTimeErrorMs: number): Promise<number> {
  const time = new StoreTime()
  const fake = new FakeDocumentCollection({ clock: time })
  const collection: DocumentCollection = Object.assign(fake, { serverTimeErrorMs })
  const opened = await new DocumentLeaseStore(collection, { clock: time }).openGroup('g')
  const group = observingGroup(opened, time)
  const beat = async (host: string) => {
    const who = { host, incarnation: `${host}-1`, profile, ttlMs: TTL_MS, clockCapMs: 2000 }
    const reply = await group.sync({ ...who, intent: 'join' })
    return reply.kind === 'ok' ? reply.membershipVersion : undefined
  }
  await beat('a')
  time.advance(1)
  const both = await beat('b')
  let livedMs = 0
  do {
    time.advance(250)
    livedMs += 250
  } while ((await beat('b')) === both && livedMs < 60_000)
  await group.close()
  return livedMs
}

test('LE-4 where times are whole seconds, a session lasts a second longer than its host relies on', async () => {
  const exact = await lifeOfSession(0)
  expect(exact).toBeGreaterThanOrEqual(TTL_MS)
  expect((await lifeOfSession(1000)) - exact).toBe(1000)
})
