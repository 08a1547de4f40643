import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
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

/** Names of processes, as they are: 16 hexadecimal digits. */
const A = 'a'.repeat(16)
const B = 'b'.repeat(16)
const C = 'c'.repeat(16)
const DEAD = 'd'.repeat(16)

async function ringAs(
  id: string,
  where = folder,
): Promise<{ doorbells: Doorbells; rings: number[] }> {
  const rings: number[] = []
  const doorbells = new Doorbells(where, { id, access: 'owner', onRing: () => rings.push(1) })
  open.push(doorbells)
  await doorbells.open()
  return { doorbells, rings }
}

test('CF-12 a ring is heard by all others and not by oneself', async () => {
  const [a, b, c] = [await ringAs(A), await ringAs(B), await ringAs(C)]
  await expect.poll(() => a.doorbells.peers).toBe(2)
  b.doorbells.ring()
  await expect.poll(() => [a.rings.length, c.rings.length]).toEqual([1, 1])
  expect(b.rings).toEqual([])
})

/** What a kill leaves: a socket that nobody listens on. */
async function deadSocket(path: string): Promise<void> {
  const dead = createServer()
  await new Promise<void>((resolve) => dead.listen(`${path}.new`, resolve))
  // Closing removes what has the name that it listened on.
  await rename(`${path}.new`, path)
  await new Promise((resolve) => dead.close(resolve))
}

test('what a killed process left is removed, and those that live are found beside it', async () => {
  const a = await ringAs(A)
  await deadSocket(join(folder, `${DEAD}.sock`))
  const b = await ringAs(B)
  await expect.poll(() => a.doorbells.peers).toBe(1)
  expect(b.doorbells.peers).toBe(1)
  expect((await readdir(folder)).sort()).toEqual([`${A}.sock`, `${B}.sock`])
})

test.runIf(process.platform === 'linux')(
  'a path that is too long for a socket rings too, and nothing is made outside the folder',
  async () => {
    const deep = join(folder, 'x'.repeat(120))
    await mkdir(deep)
    await deadSocket(join(folder, `${DEAD}.sock`))
    await rename(join(folder, `${DEAD}.sock`), join(deep, `${DEAD}.sock`))
    const [a, b] = [await ringAs(A, deep), await ringAs(B, deep)]
    expect((await readdir(deep)).sort()).toEqual([`${A}.sock`, `${B}.sock`])
    a.doorbells.ring()
    await expect.poll(() => b.rings).toHaveLength(1)
    await Promise.all([a.doorbells.close(), b.doorbells.close()])
    expect(await readdir(deep)).toEqual([])
  },
)

test.runIf(process.platform !== 'win32')(
  'a doorbell may be rung by its owner only, whatever the umask is',
  async () => {
    const where = join(folder, 'doorbells')
    await ringAs(A, where)
    expect((await stat(where)).mode & 0o777).toBe(0o700)
    expect((await stat(join(where, `${A}.sock`))).mode & 0o777).toBe(0o600)
  },
)

test('what is in the folder and no doorbell stays, and what it names', async () => {
  const victim = join(folder, 'victim')
  const where = join(folder, 'doorbells')
  await mkdir(where)
  await deadSocket(join(folder, 'their.sock'))
  await writeFile(victim, 'precious')
  await writeFile(join(where, '0123.path'), victim)
  await writeFile(join(where, `${DEAD}.path`), victim)
  await writeFile(join(where, `${DEAD}.sock`), 'a file')
  await symlink(join(folder, 'their.sock'), join(where, `${C}.sock`))
  await deadSocket(join(where, 'theirs.sock'))
  const before = (await readdir(where)).sort()
  const { doorbells } = await ringAs(A, where)
  expect(doorbells.peers).toBe(0)
  expect((await readdir(where)).filter((name) => name !== `${A}.sock`).sort()).toEqual(before)
  expect((await readdir(folder)).sort()).toEqual(['doorbells', 'their.sock', 'victim'])
})

test('a folder of doorbells that is a link is left alone', async () => {
  const theirs = join(folder, 'theirs')
  await mkdir(theirs)
  await deadSocket(join(theirs, `${DEAD}.sock`))
  await symlink(theirs, join(folder, 'doorbells'))
  const { doorbells } = await ringAs(A, join(folder, 'doorbells'))
  expect(doorbells.peers).toBe(0)
  expect(await readdir(theirs)).toEqual([`${DEAD}.sock`])
})

test('closing leaves nothing behind, and a peer that goes is forgotten', async () => {
  const [a, b] = [await ringAs(A), await ringAs(B)]
  await b.doorbells.close()
  await expect.poll(() => a.doorbells.peers).toBe(0)
  a.doorbells.ring()
  await a.doorbells.close()
  expect(await readdir(folder)).toEqual([])
})

test('where there can be no sockets there are no doorbells, and no error', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  const { doorbells } = await ringAs(A, file)
  doorbells.ring()
  expect(doorbells.peers).toBe(0)
})
