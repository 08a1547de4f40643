import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  commitOne,
  machineMs,
  openCollection,
  type ProcessMessage,
  type ProcessTask,
} from './several-processes.child.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

const CHILD = fileURLToPath(new URL('./several-processes.child.ts', import.meta.url))

let parent = ''
let folder = ''
const children = new Set<ChildProcess>()
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(parent, { recursive: true, force: true })
})

class StoreProcess {
  readonly #child: ChildProcess
  readonly #messages: ProcessMessage[] = []
  #errors = ''

  constructor({ execPath = process.execPath }: { readonly execPath?: string } = {}) {
    this.#child = fork(CHILD, [], {
      execPath,
      execArgv: ['--conditions=@tidemark/source'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    children.add(this.#child)
    this.#child.on('message', (message: ProcessMessage) => this.#messages.push(message))
    this.#child.stderr?.on('data', (text: Buffer) => (this.#errors += text.toString()))
  }

  /** Starts processes that have loaded everything, so that what follows begins at one instant. */
  static async start(count: number): Promise<readonly StoreProcess[]> {
    const processes = Array.from({ length: count }, () => new StoreProcess())
    await Promise.all(processes.map((each) => each.receive('ready')))
    return processes
  }

  tell(task: ProcessTask): void {
    this.#child.send(task)
  }

  async receive<Kind extends ProcessMessage['kind']>(
    kind: Kind,
  ): Promise<Extract<ProcessMessage, { kind: Kind }>> {
    while (this.#messages.length === 0) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the process ended: ${this.#errors}`)
      }
      await Promise.race([once(this.#child, 'message'), once(this.#child, 'exit')])
    }
    const message = this.#messages.shift()
    if (message?.kind !== kind) throw new Error(`got ${message?.kind}, not ${kind}`)
    return message as Extract<ProcessMessage, { kind: Kind }>
  }

  async exitCode(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, 'exit')
    return this.#child.exitCode
  }
}

test('ST-10 processes that open one folder and make the same in it at once, agree', async () => {
  for (let round = 0; round < 3; round++) {
    folder = join(parent, `store-${round}`)
    const processes = await StoreProcess.start(4)
    for (const each of processes) each.tell({ kind: 'create', folder })
    const created = await Promise.all(processes.map((each) => each.receive('created')))
    expect(new Set(created.map((each) => JSON.stringify(each))).size).toBe(1)
    for (const each of processes) expect(await each.exitCode()).toBe(0)
    const engine = await openSqliteEngine({ folder })
    const { database, collection } = await openCollection(engine)
    expect(await database.countDocuments(collection)).toBe(4)
    expect(await database.check()).toEqual([])
    await engine.close()
    // No trace of who lost the race, none of sockets.
    const names = (await readdir(folder)).filter((name) => name.endsWith('.sqlite'))
    expect(names).toHaveLength(2)
    expect(await readdir(join(folder, 'doorbells'))).toEqual([])
  }
})

test('ST-10 three writing processes share one file, each has its turns, and nothing is lost', async () => {
  const processes = await StoreProcess.start(3)
  for (const [index, each] of processes.entries()) {
    each.tell({ kind: 'write', folder, name: `process-${index}`, writers: 16, each: 100 })
  }
  // One that never had its turn would be refused the lock. How even turns are depends on the machine: the bench measures it.
  await Promise.all(processes.map((each) => each.receive('wrote')))
  for (const each of processes) expect(await each.exitCode()).toBe(0)
  const engine = await openSqliteEngine({ folder })
  const { database, collection } = await openCollection(engine)
  expect(await database.countDocuments(collection)).toBe(3 * 16 * 100)
  expect(await database.check()).toEqual([])
  await engine.close()
})

test('LE-11 a fence that another process raises refuses the earlier owner, who has written in between', async () => {
  const engine = await openSqliteEngine({ folder })
  const { database, collection } = await openCollection(engine)
  const write = (epoch: number) => commitOne(database, collection, { id: 'a', epoch })
  expect(await write(5)).toMatchObject({ kind: 'committed' })
  const [successor] = await StoreProcess.start(1)
  expect(await write(5)).toMatchObject({ kind: 'committed' })
  successor?.tell({ kind: 'fence', folder, epoch: 6 })
  expect(await successor?.receive('fenced')).toMatchObject({ outcome: 'committed' })
  expect(await write(5)).toEqual({ kind: 'fenced', currentEpoch: 6 })
  expect(await successor?.exitCode()).toBe(0)
  await engine.close()
})

test.each([
  ['by the doorbell', false],
  ['by the poll, where doorbells cannot be', true],
])('CF-12 a wait in another process wakes at every commit: %s', async (_how, pollOnly) => {
  const commits = 40
  const engine = await openSqliteEngine({ folder })
  const { database, collection } = await openCollection(engine)
  if (pollOnly) {
    await rm(join(folder, 'doorbells'), { recursive: true })
    await writeFile(join(folder, 'doorbells'), 'in the way')
  }
  const [waiting] = await StoreProcess.start(1)
  waiting?.tell({ kind: 'wait', folder, commits })
  await waiting?.receive('waiting')
  const committedMs: number[] = []
  for (let n = 0; n < commits; n++) {
    await commitOne(database, collection, { id: `d${n}` })
    committedMs.push(machineMs())
    await sleep(15)
  }
  const woken = await waiting?.receive('woken')
  expect(await waiting?.exitCode()).toBe(0)
  await engine.close()
  const delays = committedMs.map((atMs, n) => (woken?.atMs[n] ?? Infinity) - atMs)
  delays.sort((a, b) => a - b)
  // 0.1 ms and 5 ms on a quiet machine.
  expect(delays[commits / 2]).toBeLessThan(100)
  expect(delays.at(-1)).toBeLessThan(2000)
})

test('an open store does not keep its process alive', async () => {
  const [leaving] = await StoreProcess.start(1)
  leaving?.tell({ kind: 'leaveOpen', folder })
  await leaving?.receive('left')
  expect(await leaving?.exitCode()).toBe(0)
  const engine = await openSqliteEngine({ folder })
  const { database, collection } = await openCollection(engine)
  expect(await database.countDocuments(collection)).toBe(1)
  await engine.close()
})

test.runIf(process.platform === 'linux')(
  'ST-6 a disk that takes no more refuses commits and loses none of those before',
  async () => {
    const first = await openSqliteEngine({ folder })
    await openCollection(first)
    await first.close()
    // A limit on the size of files stands in for a full disk; it fails the write in the same place.
    const limited = join(parent, 'limited-node')
    const script = `#!/bin/sh\ntrap '' XFSZ\nulimit -f 4096\nexec '${process.execPath}' "$@"\n`
    await writeFile(limited, script, { mode: 0o755 })
    const filling = new StoreProcess({ execPath: limited })
    await filling.receive('ready')
    filling.tell({ kind: 'fill', folder, bytes: 10_000 })
    const { commits, code } = await filling.receive('filled')
    expect(code).toBe('ERR_STORE_UNAVAILABLE')
    expect(commits).toBeGreaterThan(20)
    expect(await filling.exitCode()).toBe(0)
    const engine = await openSqliteEngine({ folder })
    const { database, collection } = await openCollection(engine)
    expect(await database.countDocuments(collection)).toBe(commits)
    expect(await database.check()).toEqual([])
    await engine.close()
  },
)
