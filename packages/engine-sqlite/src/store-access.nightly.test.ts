import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StorageEngine } from '@tidemark/store/engine'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copySqliteStore } from './copy-store.ts'
import type { StoreAccess } from './store-access.ts'
import {
  commitOne,
  openCollection,
  type ProcessMessage,
  type ProcessTask,
} from './several-processes.child.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

const CHILD = fileURLToPath(new URL('./several-processes.child.ts', import.meta.url))
const GROUP = 60_009
const isRoot = process.getuid?.() === 0

let parent = ''
let folder = ''
let umask = 0
const engines: StorageEngine[] = []
beforeEach(async () => {
  umask = process.umask()
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
})
afterEach(async () => {
  process.umask(umask)
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
  await rm(parent, { recursive: true, force: true })
})

async function open(access?: StoreAccess): Promise<StorageEngine> {
  const engine = await openSqliteEngine({ folder, access })
  engines.push(engine)
  return engine
}

async function fill(engine: StorageEngine): Promise<void> {
  const { database, collection } = await openCollection(engine)
  await commitOne(database, collection, { id: 'one' })
}

/** The rights of everything in a folder, and of the folder itself, each once: `drwx------`. */
async function rightsIn(where: string): Promise<ReadonlySet<string>> {
  const names = ['.', ...(await readdir(where, { recursive: true }))]
  const found = await Promise.all(names.map((name) => lstat(join(where, name))))
  return new Set(
    found.map((each) => {
      const kind = each.isDirectory() ? 'folder' : each.isSocket() ? 'socket' : 'file'
      return `${kind} ${(each.mode & 0o7777).toString(8)}`
    }),
  )
}

describe.runIf(process.platform !== 'win32')('what a store writes', () => {
  test.each(['000', '077'])(
    'is for its owner only, under umask %s, also the logs while it is open, and copies',
    async (mask) => {
      process.umask(Number.parseInt(mask, 8))
      const engine = await open()
      await fill(engine)
      expect((await readdir(folder)).filter((name) => /-(?:wal|shm)$/.test(name))).not.toEqual([])
      const rights = new Set(['folder 700', 'file 600', 'socket 600'])
      expect(await rightsIn(folder)).toEqual(rights)
      const to = join(parent, 'made', 'copy')
      await copySqliteStore({ from: folder, to })
      expect(await rightsIn(join(parent, 'made'))).toEqual(new Set(['folder 700', 'file 600']))
    },
  )

  test.each(['000', '077'])(
    'is for a group and nobody else with access group, under umask %s, and so are copies',
    async (mask) => {
      process.umask(Number.parseInt(mask, 8))
      const engine = await open('group')
      await fill(engine)
      const rights = new Set(['folder 2770', 'file 660', 'socket 660'])
      expect(await rightsIn(folder)).toEqual(rights)
      const to = join(parent, 'copy')
      await copySqliteStore({ from: folder, to })
      expect(await rightsIn(to)).toEqual(new Set(['folder 2770', 'file 660']))
    },
  )

  test('follows the store that is there: its rights stay, and what is new never lets others in', async () => {
    await (await open('group')).close()
    const engine = await open('owner')
    await fill(engine)
    expect(await rightsIn(folder)).toEqual(new Set(['folder 2770', 'file 660', 'socket 660']))
    await engine.close()
    // As they were made before: by the umask.
    await chmod(folder, 0o755)
    for (const name of await readdir(folder)) {
      if (name !== 'doorbells') await chmod(join(folder, name), 0o644)
    }
    const old = await open('group')
    await old.createDatabase('new')
    expect((await lstat(folder)).mode & 0o777).toBe(0o755)
    const modes = await Promise.all(
      (await readdir(folder)).map(async (name) => (await lstat(join(folder, name))).mode & 0o777),
    )
    expect(modes.filter((mode) => mode === 0o600)).toHaveLength(1)
  })

  test('is not begun in a folder that the group may not write to', async () => {
    await mkdir(folder)
    await chmod(folder, 0o750)
    await expect(open('group')).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('chmod g+rwxs'),
    })
    expect(await readdir(folder)).toEqual([])
  })

  test('has an access that is one of two', async () => {
    // @ts-expect-error -- as from JavaScript
    await expect(open('everybody')).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  })
})

describe.runIf(isRoot)('users of one machine', () => {
  beforeEach(async () => {
    await chmod(parent, 0o755)
    await mkdir(folder)
    await chown(folder, 60_001, GROUP)
    await chmod(folder, 0o2770)
  })

  /** What a process of another user says in the end: its message, or its error output. */
  async function as(
    user: { readonly uid: number; readonly gid: number },
    task: ProcessTask,
  ): Promise<ProcessMessage | string> {
    const child = fork(CHILD, [], {
      ...user,
      execArgv: ['--conditions=@tidemark/source'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let last: ProcessMessage | undefined
    let errors = ''
    child.on('message', (message: ProcessMessage) => {
      last = message
      if (message.kind === 'ready') child.send(task)
    })
    child.stderr?.on('data', (text: Buffer) => (errors += text.toString()))
    await once(child, 'close')
    return last === undefined || last.kind === 'ready' ? errors : last
  }

  test('several of one group work on a store together, and nobody else gets in', async () => {
    await (await open('group')).close()
    const write = { folder, kind: 'write', writers: 2, each: 10 } as const
    const both = await Promise.all([
      as({ uid: 60_001, gid: GROUP }, { ...write, name: 'a' }),
      as({ uid: 60_002, gid: GROUP }, { ...write, name: 'b' }),
    ])
    expect(both).toEqual([
      expect.objectContaining({ kind: 'wrote' }),
      expect.objectContaining({ kind: 'wrote' }),
    ])
    const stranger = await as({ uid: 60_003, gid: 60_003 }, { folder, kind: 'create' })
    expect(stranger).toContain('ERR_STORE_UNAVAILABLE')
    // The files that either of them made can be used by the other.
    const again = await as({ uid: 60_001, gid: GROUP }, { folder, kind: 'create' })
    expect(again).toMatchObject({ kind: 'created' })
  })
})
