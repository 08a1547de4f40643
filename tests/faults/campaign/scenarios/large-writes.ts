import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { FaultProcess } from '../../fault-process.ts'
import { machineMs } from '../../history.ts'
import { until } from '../../until.ts'
import type { LargeWriterOrder, LargeWriterTask, LogReaderTask } from '../log-tasks.ts'
import type { StagedScenario } from '../scenario.ts'
import { PATIENT, type CampaignStage } from '../stage.ts'

const BESIDE = { kind: 'beside' } as const
const MIB = 2 ** 20
/** As the engine's default. */
const MAX_LOG_BYTES = 64 * MIB
/** MiB, in documents of one each: for some seconds of a usual disk. */
const LARGE = 120
/** More than the log may have. */
const LONG = 80
const PATIENCE_MS = 90_000
const OVERLAPPING = 3
const PAGE_MS = 20
const FOR_EVER_MS = 3_600_000

/** More at once than the disk takes in a session of the hosts, whose leases are documents of the same file. */
export const largeWrites: StagedScenario = {
  name: 'large-writes',
  about:
    'a process writes 120 MiB in one turn into the file that also has the feed and the leases: no lease moves',
  async act(stage) {
    await stage.startAll(['a', 'b'], BESIDE, PATIENT)
    const writer = await largeWriter(stage)
    const owners = stage.owners()
    const sinceMs = machineMs()
    const before = stage.written.length
    await writeAtOnce(writer, { documents: LARGE })
    const between = stage.written.length - before
    await Promise.all(stage.workers.map((worker) => worker.untilWorks(5, machineMs())))
    stage.expectOwners(owners, sinceMs)
    return {
      faults: 1,
      signs: { 'MiB in one turn': LARGE, 'commits of others in between': between },
      figures: `the turn took ${took(writer)} ms`,
    }
  },
}

/** Without somebody who waits for the right moment, readers that always overlap keep the log for ever. */
export const readersHoldLog: StagedScenario = {
  name: 'readers-hold-log',
  about:
    'processes that read all the time, and one that stops amid a read: the log of writes is held, that is told, and it is short again afterwards',
  async act(stage) {
    await stage.startAll(['a', 'b'], BESIDE, PATIENT)
    const writer = await largeWriter(stage)
    const owners = stage.owners()
    const sinceMs = machineMs()
    const file = await databaseFile(stage)
    for (let n = 0; n < OVERLAPPING; n++) {
      await reader(stage, { name: `${n}`, file, readMs: PAGE_MS })
    }
    await writeAtOnce(writer, { documents: LONG })
    const bytesBeside = await logBytes(file)
    const holder = await reader(stage, { name: 'still', file, readMs: FOR_EVER_MS })
    const heldMs = machineMs()
    await writeAtOnce(writer, { documents: LONG })
    await untilNoted(writer, 'logHeld', heldMs)
    const bytesHeld = await logBytes(file)
    const freeMs = machineMs()
    await holder.kill()
    await untilNoted(writer, 'logFreed', freeMs)
    const bytesFreed = await logBytes(file)
    if (bytesFreed > MAX_LOG_BYTES / 2) {
      throw new Error(`the log that was said to be short has ${bytesFreed} bytes`)
    }
    await Promise.all(stage.workers.map((worker) => worker.untilWorks(5, machineMs())))
    stage.expectOwners(owners, sinceMs)
    return {
      faults: OVERLAPPING + 1,
      signs: { 'MiB of log above its bound': mib(bytesHeld - MAX_LOG_BYTES) },
      figures:
        `${LONG} MiB beside ${OVERLAPPING} readers left a log of ${mib(bytesBeside)} MiB, ` +
        `${LONG} more beside one that stood still ${mib(bytesHeld)}, then ${mib(bytesFreed)}`,
    }
  },
}

async function largeWriter(stage: CampaignStage): Promise<FaultProcess<LargeWriterTask>> {
  const historyFile = join(stage.folder, 'large-writer.jsonl')
  const task = { historyFile, folder: stage.folder }
  return ending(stage, await FaultProcess.start('campaign/large-writer.child.ts', task))
}

async function reader(
  stage: CampaignStage,
  { name, ...task }: Omit<LogReaderTask, 'historyFile'> & { readonly name: string },
): Promise<FaultProcess<LogReaderTask>> {
  const historyFile = join(stage.folder, `reader-${name}.jsonl`)
  const process = await FaultProcess.start('campaign/log-reader.child.ts', { ...task, historyFile })
  return ending(stage, process)
}

function ending<Process extends { end(): Promise<void> }>(
  stage: CampaignStage,
  process: Process,
): Process {
  stage.use({ [Symbol.asyncDispose]: () => process.end() })
  return process
}

async function writeAtOnce(
  writer: FaultProcess<LargeWriterTask>,
  order: LargeWriterOrder,
): Promise<void> {
  const before = writer.events('written')
  writer.tell(order)
  await until(() => writer.events('written') > before || writer.hasEnded, {
    what: `${order.documents} large documents written`,
    timeoutMs: PATIENCE_MS,
  })
  writer.assertAlive()
}

function untilNoted(
  writer: FaultProcess<LargeWriterTask>,
  name: string,
  sinceMs: number,
): Promise<void> {
  const isNoted = (): boolean =>
    writer.history.some(
      (entry) => entry.kind === 'event' && entry.name === name && entry.atMs >= sinceMs,
    )
  return until(isNoted, { what: name, timeoutMs: PATIENCE_MS })
}

function took({ history }: FaultProcess<LargeWriterTask>): number {
  const at = (name: string): number =>
    history.find((entry) => entry.kind === 'event' && entry.name === name)?.atMs ?? 0
  return Math.round(at('written') - at('writing'))
}

async function databaseFile(stage: CampaignStage): Promise<string> {
  const folder = join(stage.folder, 'store')
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each))
  if (name === undefined) throw new Error('the store has no database')
  return join(folder, name)
}

async function logBytes(file: string): Promise<number> {
  return (await stat(`${file}-wal`)).size
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB)
}
