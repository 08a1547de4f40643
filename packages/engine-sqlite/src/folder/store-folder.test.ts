import fs from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemRandom } from '@tidemark/contracts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FORMAT, openStoreFolder, type StoreMarker } from './store-folder.ts'
import type { StoreAccess } from '../store-access.ts'

let parent = ''
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(parent, { recursive: true, force: true }))

async function open(folder: string, access: StoreAccess = 'owner'): Promise<StoreMarker> {
  const options = { access, random: systemRandom, nowMs: 1_700_000_000_000 }
  return (await openStoreFolder(folder, options)).marker
}

test('a missing folder is made with its parents, and stays the same store', async () => {
  const folder = join(parent, 'a', 'b')
  const made = await open(folder)
  expect(made).toMatchObject({ format: FORMAT, engine: 'sqlite', createdAt: 1_700_000_000_000 })
  expect(made.storeId).toMatch(/^[0-9a-f]{32}$/)
  expect(await open(folder)).toEqual(made)
  expect(await readdir(folder)).toEqual(['tidemark.json'])
})

/** Which folders are synced while `act` runs. With an error the system refuses it. */
async function synced(act: () => Promise<unknown>, errno?: string): Promise<readonly string[]> {
  const { fsyncSync, openSync } = fs
  const paths = new Map<number, string>()
  const folders: string[] = []
  fs.openSync = (path, ...rest) => {
    const handle = openSync(path, ...rest)
    paths.set(handle, String(path))
    return handle
  }
  fs.fsyncSync = (handle) => {
    folders.push(paths.get(handle) ?? '')
    if (errno === undefined) fsyncSync(handle)
    else throw Object.assign(new Error(`${errno}: fsync`), { errno: -1, code: errno })
  }
  syncBuiltinESMExports()
  try {
    await act()
  } finally {
    Object.assign(fs, { fsyncSync, openSync })
    syncBuiltinESMExports()
  }
  return folders
}

test('ST-6 each folder made for a store is durable in its parent before there is anything in it', async () => {
  const above = [dirname(parent), parent, join(parent, 'a'), join(parent, 'a', 'b')]
  const folder = join(parent, 'a', 'b', 'store')
  expect(await synced(() => open(folder))).toEqual([...above, folder])
  const existing = join(parent, 'c')
  await mkdir(existing)
  expect(await synced(() => open(existing))).toEqual([parent, existing])
})

test('ST-6 a disk that fails while a folder is synced is not passed over', async () => {
  const folder = join(parent, 'store')
  const failed = expect.objectContaining({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('EIO'),
  })
  await expect(synced(() => open(folder), 'EIO')).rejects.toEqual(failed)
  // Who finds the folder there does not know whether its name is durable.
  await mkdir(folder)
  await expect(synced(() => open(folder), 'EIO')).rejects.toEqual(failed)
  const folders = await synced(() => open(folder), 'EINVAL')
  expect(folders).toEqual([parent, folder])
})

test('ST-10 of many that make a folder a store at once, all get the same store', async () => {
  const folder = join(parent, 'store')
  const opened = await Promise.all(Array.from({ length: 20 }, () => open(folder)))
  expect(new Set(opened.map(({ storeId }) => storeId)).size).toBe(1)
})

test('what a process left that died while it made the folder is no obstacle', async () => {
  await writeFile(join(parent, '.tidemark-0011223344556677'), '{"form')
  expect(await open(parent)).toMatchObject({ format: FORMAT })
})

test('a folder with other files is refused and not touched', async () => {
  await writeFile(join(parent, 'photo.jpg'), 'x')
  await expect(open(parent)).rejects.toMatchObject({
    code: 'ERR_STORE_IN_USE',
    message: expect.stringContaining('photo.jpg'),
  })
  expect(await readdir(parent)).toEqual(['photo.jpg'])
})

test('a newer format is refused and not touched', async () => {
  const text = JSON.stringify({ format: FORMAT + 1, engine: 'sqlite', storeId: 'x', createdAt: 1 })
  await writeFile(join(parent, 'tidemark.json'), text)
  await expect(open(parent)).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringMatching(/format 2.*newer/),
  })
  expect(await readFile(join(parent, 'tidemark.json'), 'utf8')).toBe(text)
  expect(await readdir(parent)).toEqual(['tidemark.json'])
})

test("another engine's store is refused", async () => {
  const text = JSON.stringify({ format: 1, engine: 'lmdb', storeId: 'x', createdAt: 1 })
  await writeFile(join(parent, 'tidemark.json'), text)
  await expect(open(parent)).rejects.toMatchObject({ code: 'ERR_STORE_IN_USE' })
})

test.each(['', '{', 'null', '[]', '{"format":1}', '{"format":"1","engine":"sqlite"}'])(
  'a marker of %j is damage, and the file is named',
  async (text) => {
    await writeFile(join(parent, 'tidemark.json'), text)
    await expect(open(parent)).rejects.toMatchObject({
      code: 'ERR_STORE_DAMAGED',
      message: expect.stringContaining(join(parent, 'tidemark.json')),
    })
  },
)

test('a path that is a file, or goes through one, is refused', async () => {
  const file = join(parent, 'file')
  await writeFile(file, '')
  for (const folder of [file, join(file, 'below')]) {
    await expect(open(folder)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  }
})

test.runIf(process.platform === 'linux')(
  'a folder that cannot be made or read is unavailable, with the reason',
  async () => {
    // Not even root may make a folder there.
    await expect(open('/sys/tidemark')).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining('/sys/tidemark'),
    })
  },
)

test.runIf(process.getuid?.() !== 0)('no permission is a coded error', async () => {
  const folder = join(parent, 'locked')
  await mkdir(folder, { mode: 0o500 })
  await expect(open(folder)).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
})
