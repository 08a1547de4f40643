import { execFile } from 'node:child_process'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { compileCacheFolder } from './compile-cache.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const isRoot = process.getuid?.() === 0
const SOMEBODY = 65_534

let home = ''
let cache = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tidemark-home-'))
  cache = join(home, '.cache')
})
afterEach(() => rm(home, { recursive: true, force: true }))

const folderFor = (): string | undefined => compileCacheFolder({ XDG_CACHE_HOME: cache })

test('compiled code is kept in a folder of the user that nobody else may use', async () => {
  const folder = join(cache, 'tidemark')
  expect(folderFor()).toBe(folder)
  if (process.platform !== 'win32') expect((await lstat(folder)).mode & 0o777).toBe(0o700)
  expect(folderFor()).toBe(folder)
})

test.runIf(process.platform !== 'win32')(
  'no compiled code is run of a folder that others may write to, or that is a link',
  async () => {
    const folder = join(cache, 'tidemark')
    for (const mode of [0o777, 0o770, 0o1777, 0o702]) {
      await mkdir(folder, { recursive: true })
      await chmod(folder, mode)
      expect(folderFor()).toBeUndefined()
    }
    await rm(folder, { recursive: true })
    await mkdir(join(home, 'theirs'), { mode: 0o700 })
    await symlink(join(home, 'theirs'), folder)
    expect(folderFor()).toBeUndefined()
  },
)

test.runIf(isRoot)(
  'no compiled code is run of a folder of another user, and none is left in his',
  async () => {
    await mkdir(join(cache, 'tidemark'), { recursive: true, mode: 0o700 })
    await chown(join(cache, 'tidemark'), SOMEBODY, SOMEBODY)
    expect(folderFor()).toBeUndefined()
    await rm(join(cache, 'tidemark'), { recursive: true })
    await chown(cache, SOMEBODY, SOMEBODY)
    expect(folderFor()).toBeUndefined()
    expect(await readdir(cache)).toEqual([])
  },
)

test('the command keeps compiled code in the home of its user, and nothing among the temporary files', async () => {
  const shared = join(home, 'shared')
  await mkdir(shared)
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...environment } = process.env
  const env = {
    ...environment,
    HOME: home,
    USERPROFILE: home,
    TMPDIR: shared,
    TEMP: shared,
    TMP: shared,
  }
  await promisify(execFile)(
    process.execPath,
    ['--conditions=@tidemark/source', MAIN, '--version'],
    { env },
  )
  expect(await readdir(shared)).toEqual([])
  expect(await readdir(join(cache, 'tidemark'))).toHaveLength(1)
})
