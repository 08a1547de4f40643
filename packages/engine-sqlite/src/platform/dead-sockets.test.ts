import { link, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom } from '@tidemark/contracts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SocketPresence } from './socket-presence.ts'

let parent = ''
let folder = ''
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'presence')
})
afterEach(() => rm(parent, { recursive: true, force: true }))

function announced(removeAfterMs?: number) {
  const options = { access: 'owner', random: systemRandom, removeAfterMs } as const
  return new SocketPresence(folder, options).announce()
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
  'LE-16 a start looks at a thousand sockets of the dead at most, and removes them',
  async () => {
    const first = await announced()
    await leaveDeadSockets(1_200)
    const second = await announced(0)
    const left = async (): Promise<number> => (await readdir(folder)).length
    // Those that live may have been among those that were looked at.
    await expect.poll(left, { timeout: 60_000 }).toBeLessThanOrEqual(204)
    expect(await left()).toBeGreaterThanOrEqual(202)
    await first?.close()
    await second?.close()
  },
)
