import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writePaced, type WriteTimes } from '../../measuring/paced-writes.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { judgeHandled, type Judgement } from '../judging/judge-handled.ts'
import { startWorker, WorkerGroup, type WorkerProcess } from '../worker-group.ts'
import { checkOurs } from './check-promises.ts'
import { WRITES_PER_SECOND } from './latency.ts'
import { NEVER, type PeerFigures, type PeerScenario, type PeerSession } from './peer-scenario.ts'

const PAGE = 100
const WARM_UP_SECONDS = 0.5
/** After the share should have moved: so much longer is written. */
const AFTER_SECONDS = 1
const NOTE_LIMIT_MS = 10_000

/**
 * One of two workers ends with a page at hand, at 1,000 writes a second: killed for good, or stopped and let go on later,
 * when others have its share.
 */
export const peerTakeover: PeerScenario = {
  name: 'takeover',
  columns: [
    { name: 'kill.wait', heading: 'SIGKILL: longest wait', unit: 'ms' },
    { name: 'kill.repeats', heading: 'repeats', unit: 'documents' },
    { name: 'kill.orderBreaks', heading: 'out of order', unit: 'documents' },
    { name: 'stop.wait', heading: 'SIGSTOP: longest wait', unit: 'ms' },
    { name: 'stop.repeats', heading: 'repeats', unit: 'documents' },
    { name: 'stop.orderBreaks', heading: 'out of order', unit: 'documents' },
  ],
  open(session) {
    return Promise.resolve({
      async run() {
        const kill = await takeOver(session, 'SIGKILL')
        const stop = await takeOver(session, 'SIGSTOP')
        return { ...named('kill', kill), ...named('stop', stop) }
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  },
}

function named(prefix: string, figures: PeerFigures): PeerFigures {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [`${prefix}.${name}`, value]),
  )
}

async function takeOver(session: PeerSession, signal: 'SIGKILL' | 'SIGSTOP'): Promise<PeerFigures> {
  const { entry, options, newFolder } = session
  await using stack = new AsyncDisposableStack()
  const victim = await startWorker(entry)
  stack.defer(() => victim.kill())
  const survivor = stack.use(await startWorker(entry))
  const folder = await newFolder()
  const group = await joinBoth(session, [victim, survivor], folder)
  const indexes = new Map<number, number>()
  const writing = writeThrough(session, indexes)
  await sleep(WARM_UP_SECONDS * 1000)
  const endedMs = await endWith(victim, { signal, note: join(folder, 'note') })
  const times = await writing
  await group.untilHandled(indexes.size, patienceOf(session))
  // What the victim does later moves nothing on.
  const moved = judgeHandled(group.handled())
  if (signal === 'SIGSTOP') {
    process.kill(victim.pid, 'SIGCONT')
    // It finishes its page, and finds out whether it may say so.
    await sleep(Math.min(2_000, options.takeoverMs))
  }
  await survivor.call({ kind: 'leave' })
  const judged = judgeHandled(group.handled())
  // What a dead worker handled last comes again: no more than it had for each of its leases.
  checkOurs(entry, judged, { repeats: 4 * (entry.parts ?? 0) * PAGE })
  const waitMs = longestWaitMs(moved, { indexes, times, endedMs })
  if (entry.isOurs && waitMs === NEVER) throw new Error(`${entry.name}: nobody took over`)
  return { wait: waitMs, repeats: judged.repeats, orderBreaks: judged.orderBreaks }
}

/** The victim comes first: where one worker stands by, that is the other one. */
async function joinBoth(
  { entry, peer, options }: PeerSession,
  workers: readonly WorkerProcess[],
  folder: string,
): Promise<WorkerGroup> {
  const { takeoverMs } = options
  const group = await WorkerGroup.join(workers, {
    entry,
    place: await peer.newGroup({ begin: 'now', takeoverMs }),
    pageSize: PAGE,
    takeoverMs,
    folder,
  })
  await group.go()
  await group.shared()
  return group
}

function writeThrough(
  { options, writer }: PeerSession,
  indexes: Map<number, number>,
): Promise<WriteTimes> {
  return writePaced(
    (revision) => {
      const { index, acknowledged } = writer.write()
      indexes.set(revision, index)
      return acknowledged
    },
    {
      perSecond: WRITES_PER_SECOND,
      seconds: WARM_UP_SECONDS + options.takeoverMs / 1000 + AFTER_SECONDS,
    },
  )
}

/** Resolves with the machine clock of the end. */
async function endWith(
  victim: WorkerProcess,
  { signal, note }: { readonly signal: NodeJS.Signals; readonly note: string },
): Promise<number> {
  await victim.call({ kind: 'end', signal, note })
  const deadline = machineMs() + NOTE_LIMIT_MS
  while (!existsSync(note)) {
    if (machineMs() > deadline) throw new Error('the worker got no page to end with')
    await sleep(1)
  }
  return Number(await readFile(note, 'utf8'))
}

/** Where nobody takes over there is nothing to wait for. */
function patienceOf({ entry, options }: PeerSession): number {
  return entry.sharing === 'static' ? 500 : 2 * options.takeoverMs + 2_000
}

/** How long a document waited that was there, or came, after the end. */
function longestWaitMs(
  { first }: Judgement,
  {
    indexes,
    times,
    endedMs,
  }: {
    readonly indexes: ReadonlyMap<number, number>
    readonly times: WriteTimes
    readonly endedMs: number
  },
): number {
  let longest = 0
  for (const [revision, index] of indexes) {
    const handledMs = first.get(index) ?? NEVER
    longest = Math.max(
      longest,
      handledMs - Math.max(endedMs, times.acknowledged.get(revision) ?? 0),
    )
  }
  return longest
}
