import { link, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom } from '@tidemark/contracts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SocketPresence } from './socket-presence.ts'

const { pauses } = vi.hoisted(() => ({
  pauses: [] as { readonly ms: number; readonly end: () => void }[],
}))
vi.mock(import('node:timers/promises'), async (original) => ({
  ...(await original()),
  setTimeout: (ms = 0) => new Promise<never>((end) => pauses.push({ ms, end: end as () => void })),
}))

let parent = ''
let folder = ''
beforeEach(async () => {
  pauses.length = 0
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'presence')
})
afterEach(() => rm(parent, { recursive: true, force: true }))

function announced() {
  return new SocketPresence(folder, { access: 'owner', random: systemRandom }).announce()
}

/** As processes that were killed leave them. */
async function leaveDeadSockets(count: number): Promise<void> {
  const dead = join(parent, 'dead')
  const server = createServer().listen(`${dead}.sock`)
  await new Promise((resolve) => server.once('listening', resolve))
  await rename(`${dead}.sock`, dead)
  await new Promise((resolve) => server.close(resolve))
  for (let n = 0; n < count; n += 1) {
    await link(dead, join(folder, `${String(n).padStart(32, '0')}.sock`))
  }
}

test.runIf(process.platform === 'linux')(
  'LE-16 a start looks at a thousand sockets of the dead at most, and removes them after a minute',
  async () => {
    const first = await announced()
    await leaveDeadSockets(1_200)
    const second = await announced()
    expect(pauses.map(({ ms }) => ms)).toEqual([60_000, 60_000])
    expect(await readdir(folder)).toHaveLength(1_202)
    pauses[1]?.end()
    await expect.poll(async () => (await readdir(folder)).length).toBeLessThan(1_202)
    // The first one may have been among those that were looked at.
    const { length } = await readdir(folder)
    expect(length).toBeGreaterThanOrEqual(202)
    expect(length).toBeLessThanOrEqual(203)
    await first?.close()
    await second?.close()
  },
)
