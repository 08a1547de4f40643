import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Doorbells } from './doorbells.ts'

let folder = ''
const open: Doorbells[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((doorbells) => doorbells.close()))
  await rm(folder, { recursive: true, force: true })
})

async function ringAs(
  id: string,
  where = folder,
): Promise<{ doorbells: Doorbells; rings: number[] }> {
  const rings: number[] = []
  const doorbells = new Doorbells(where, { id, onRing: () => rings.push(1) })
  open.push(doorbells)
  await doorbells.open()
  return { doorbells, rings }
}

test('CF-12 a ring is heard by all others and not by oneself', async () => {
  const [a, b, c] = [await ringAs('a'), await ringAs('b'), await ringAs('c')]
  await expect.poll(() => a.doorbells.peers).toBe(2)
  b.doorbells.ring()
  await expect.poll(() => [a.rings.length, c.rings.length]).toEqual([1, 1])
  expect(b.rings).toEqual([])
})

test('what a killed process left is removed, and those that live are found beside it', async () => {
  const a = await ringAs('a')
  const dead = createServer()
  await new Promise<void>((resolve) => dead.listen(join(folder, 'dead.sock'), resolve))
  // Closing would remove it; a file that no socket listens on is what a kill leaves.
  await new Promise((resolve) => dead.close(resolve))
  await writeFile(join(folder, 'dead.sock'), '')
  await writeFile(join(folder, 'gone.path'), join(folder, 'nowhere'))
  const b = await ringAs('b')
  await expect.poll(() => a.doorbells.peers).toBe(1)
  expect(b.doorbells.peers).toBe(1)
  expect((await readdir(folder)).sort()).toEqual(['a.sock', 'b.sock'])
})

test('a path that is too long for a socket has its socket elsewhere', async () => {
  const deep = join(folder, 'x'.repeat(120))
  const [a, b] = [await ringAs('a1b2', deep), await ringAs('c3d4', deep)]
  expect((await readdir(deep)).sort()).toEqual(['a1b2.path', 'c3d4.path'])
  a.doorbells.ring()
  await expect.poll(() => b.rings).toHaveLength(1)
})

test('closing leaves nothing behind, and a peer that goes is forgotten', async () => {
  const [a, b] = [await ringAs('a'), await ringAs('b')]
  await b.doorbells.close()
  await expect.poll(() => a.doorbells.peers).toBe(0)
  a.doorbells.ring()
  await a.doorbells.close()
  expect(await readdir(folder)).toEqual([])
})

test('where there can be no sockets there are no doorbells, and no error', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  const { doorbells } = await ringAs('a', file)
  doorbells.ring()
  expect(doorbells.peers).toBe(0)
})
