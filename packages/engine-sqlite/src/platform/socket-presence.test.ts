import { fork, spawn, type ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  symlink,
  unlink,
} from 'node:fs/promises'
import { readFileSync, watch as watchFolder } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemRandom, type AnnouncedPresence } from '@tidemark/contracts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kernelBootId } from './boot-id.ts'
import { SocketPresence, type SocketPresenceOptions } from './socket-presence.ts'

const CHILD = fileURLToPath(new URL('./socket-presence.child.ts', import.meta.url))
const STARVED = fileURLToPath(new URL('./starved-watcher.child.ts', import.meta.url))
const CONDITIONS = '--conditions=@tidemark/source'
/** Long enough for a watcher that takes anything else for a death to say so; whoever does not needs no time. */
const QUIET_MS = 100

let parent = ''
let folder = ''
const open: AnnouncedPresence[] = []
const children = new Set<ChildProcess>()
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'presence')
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await Promise.all(open.splice(0).map((one) => one.close()))
  await rm(parent, { recursive: true, force: true })
})

async function announce(options: Partial<SocketPresenceOptions> = {}): Promise<AnnouncedPresence> {
  const presence = new SocketPresence(folder, {
    access: 'owner',
    random: systemRandom,
    ...options,
  })
  const announced = await presence.announce()
  if (announced === undefined) throw new Error('nothing was announced')
  open.push(announced)
  return announced
}

/** A process that announces itself. */
async function announcingProcess(): Promise<{ readonly child: ChildProcess; readonly id: string }> {
  const child = fork(CHILD, [folder], { execArgv: [CONDITIONS] })
  children.add(child)
  const [id] = (await once(child, 'message')) as [string]
  return { child, id }
}

/** How often a watch has called back, and when it does first. */
function watched(
  by: AnnouncedPresence,
  id: string,
): { readonly times: () => number; readonly first: Promise<void>; readonly stop: () => void } {
  const { promise: first, resolve } = Promise.withResolvers<void>()
  let times = 0
  const stop = by.watch(id, () => {
    times += 1
    resolve()
  })
  return { times: () => times, first, stop }
}

function nameOf(id: string): string {
  const [name = ''] = id.slice(id.indexOf('/') + 1).split('.')
  return name
}

function pathOf(id: string): string {
  return join(folder, `${nameOf(id)}.sock`)
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

describe.runIf(process.platform === 'linux')('LE-16 a process announces itself', () => {
  test('one that is killed is gone, and it is told once', async () => {
    const { child, id } = await announcingProcess()
    const watch = watched(await announce(), id)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
    await killed(child)
    await watch.first
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(1)
  })

  test('a worker of a cluster that is killed is gone', async () => {
    cluster.setupPrimary({ exec: CHILD, args: [folder], execArgv: [CONDITIONS] })
    const worker = cluster.fork()
    children.add(worker.process)
    const [id] = (await once(worker, 'message')) as [string]
    const watch = watched(await announce(), id)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
    await killed(worker.process)
    await watch.first
  })

  test('one that was killed before anybody watched is gone', async () => {
    const { child, id } = await announcingProcess()
    await killed(child)
    await watched(await announce(), id).first
  })

  test('one that is stopped is not gone, however many connect to it, and gone when it is killed', async () => {
    const { child, id } = await announcingProcess()
    const watcher = await announce()
    child.kill('SIGSTOP')
    const watch = watched(watcher, id)
    // More than it has room for: further ones are not refused, but told to come again (EAGAIN).
    const sockets = await connectUntilFull(pathOf(id))
    const late = watched(watcher, id)
    await sleep(QUIET_MS)
    expect([watch.times(), late.times()]).toEqual([0, 0])
    for (const socket of sockets) socket.destroy()
    await killed(child)
    await Promise.all([watch.first, late.first])
  })

  test('one that dies before it has accepted the connection of whoever watches is gone', async () => {
    const { child, id } = await announcingProcess()
    const watcher = await announce()
    child.kill('SIGSTOP')
    const watch = watched(watcher, id)
    child.kill('SIGKILL')
    // As after a long computation, the watching process sees the end of its connection before it has seen its beginning.
    while (readFileSync('/proc/net/unix', 'utf8').includes(nameOf(id)));
    await watch.first
  })

  test('a watch that begins while there is no descriptor left sees the death when there is one', async () => {
    const { child, id } = await announcingProcess()
    await killed(child)
    const starved = spawn(
      'sh',
      ['-c', 'ulimit -n 200 && exec "$@"', 'sh', process.execPath, CONDITIONS, STARVED, folder, id],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    )
    children.add(starved)
    const exited = once(starved, 'exit').then(() => ['exited'])
    expect(await Promise.race([once(starved, 'message'), exited])).toEqual(['gone', undefined])
  })

  test('one that closes is not gone, nor when it dies afterwards', async () => {
    const { child, id } = await announcingProcess()
    const watcher = await announce()
    const watch = watched(watcher, id)
    await sleep(QUIET_MS)
    child.send('close')
    await once(child, 'message')
    const late = watched(watcher, id)
    await sleep(QUIET_MS)
    await killed(child)
    await sleep(QUIET_MS)
    expect([watch.times(), late.times()]).toEqual([0, 0])
  })

  test('closing never shows as a death to those who connect meanwhile', async () => {
    const watcher = await announce()
    for (let round = 0; round < 50; round += 1) {
      const closing = await announce()
      const watches = Array.from({ length: 5 }, () => watched(watcher, closing.id))
      await Promise.all([closing.close(), sleep(1)])
      expect(watches.map(({ times }) => times())).toEqual([0, 0, 0, 0, 0])
      for (const { stop } of watches) stop()
    }
  })

  test('one that cannot remove its entry goes on listening: nobody sees it refuse', async () => {
    const [watcher, closing] = [await announce(), await announce()]
    const entry = pathOf(closing.id)
    await rename(entry, `${entry}.kept`)
    await mkdir(entry)
    await closing.close()
    await rmdir(entry)
    await rename(`${entry}.kept`, entry)
    const watch = watched(watcher, closing.id)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
  })

  test('a folder that is renamed is the same one: to those who live, and to those who come', async () => {
    const { child, id } = await announcingProcess()
    const before = watched(await announce(), id)
    folder = join(parent, 'renamed')
    await rename(join(parent, 'presence'), folder)
    const after = watched(await announce(), id)
    await sleep(QUIET_MS)
    expect([before.times(), after.times()]).toEqual([0, 0])
    await killed(child)
    await Promise.all([before.first, after.first])
  })

  test('in another folder with a socket of the same name, a copy, nobody is gone', async () => {
    const { id } = await announcingProcess()
    const original = folder
    folder = join(parent, 'copy')
    const watcher = await announce()
    await copySocket(join(original, 'x'), pathOf(id))
    const watch = watched(watcher, id)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
  })

  test('a socket in the place of the announced one says nothing', async () => {
    const { child, id } = await announcingProcess()
    const watcher = await announce()
    await unlink(pathOf(id))
    await copySocket(join(folder, 'x'), pathOf(id))
    const watch = watched(watcher, id)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
    await killed(child)
    await sleep(QUIET_MS)
    expect(watch.times()).toBe(0)
  })

  test('of another boot, or with a name that is none, nobody is gone', async () => {
    const { child, id } = await announcingProcess()
    const watcher = await announce()
    await killed(child)
    const [place = '', socket = ''] = id.split('/')
    const ids = [
      `${place.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}/${socket}`,
      `${place}/../presence/${socket}`,
      `${place}/${socket}x`,
      `${place}/`,
      '',
    ]
    const watches = ids.map((other) => watched(watcher, other))
    await sleep(QUIET_MS)
    expect(watches.map(({ times }) => times())).toEqual(ids.map(() => 0))
  })

  test('whoever stops watching, or closes, hears of no death', async () => {
    const { child, id } = await announcingProcess()
    const [watcher, closed] = [await announce(), await announce()]
    const [stopped, ended] = [watched(watcher, id), watched(closed, id)]
    await sleep(QUIET_MS)
    stopped.stop()
    await closed.close()
    const late = watched(closed, id)
    await killed(child)
    await watched(watcher, id).first
    expect([stopped, ended, late].map(({ times }) => times())).toEqual([0, 0, 0])
  })

  test('every announcement has an id of its own, and its socket is for the owner of the store', async () => {
    const [a, b] = [await announce(), await announce()]
    expect(a.id).not.toBe(b.id)
    // Another boot, or another machine, is another place.
    expect(a.id.split('.')[0]).toBe(kernelBootId())
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(pathOf(a.id))).mode & 0o777).toBe(0o600)
    await Promise.all([a.close(), b.close()])
    expect(await readdir(folder)).toEqual([])
  })

  test('an entry gets its name when its socket listens already', async () => {
    await announce()
    const names: string[] = []
    const folderWatch = watchFolder(folder, (_event, name) => names.push(name ?? ''))
    const entry = pathOf((await announce()).id).slice(folder.length + 1)
    await expect.poll(() => names).toContain(entry)
    folderWatch.close()
    expect(names[0]).toBe(entry.replace('.sock', '.new'))
  })

  test('nothing is announced on a file system that other machines may have, or through a link', async () => {
    const { type } = await statfs(parent)
    const options = { access: 'owner', random: systemRandom } as const
    const elsewhere = new SocketPresence(folder, {
      ...options,
      fileSystems: new Set([type + 1]),
    })
    expect(await elsewhere.announce()).toBeUndefined()
    expect(await readdir(folder)).toEqual([])
    await symlink(folder, join(parent, 'link'))
    expect(await new SocketPresence(join(parent, 'link'), options).announce()).toBeUndefined()
  })

  test('what killed processes left is removed, later; what lives or is no socket of theirs stays', async () => {
    const dead = await announcingProcess()
    await killed(dead.child)
    const living = await announce()
    await cp(fileURLToPath(import.meta.url), join(folder, 'note'))
    const removing = await announce({ removeAfterMs: 1 })
    await expect.poll(() => readdir(folder)).toHaveLength(3)
    const names = [living, removing].map(({ id }) => pathOf(id).slice(folder.length + 1))
    expect((await readdir(folder)).sort()).toEqual([...names, 'note'].sort())
  })
})

/** What a copy of a folder makes of a socket: one that nobody ever listened on. */
async function copySocket(made: string, to: string): Promise<void> {
  const { child, id } = await announcingProcess()
  await killed(child)
  await rename(pathOf(id), made)
  await rename(made, to)
}

/** Fills the queue of connections of a process that is stopped. */
async function connectUntilFull(path: string): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  for (;;) {
    const socket = createConnection(path)
    sockets.push(socket)
    const [code] = await Promise.race([
      once(socket, 'connect').then(() => ['connected']),
      new Promise<[string]>((resolve) => {
        socket.once('error', (error) => resolve(['code' in error ? String(error.code) : '']))
      }),
    ])
    socket.on('error', () => undefined)
    if (code === 'connected') continue
    expect(code).toBe('EAGAIN')
    return sockets
  }
}
