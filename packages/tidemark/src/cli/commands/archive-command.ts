import { Command } from 'commander'
import { systemClock } from '@tidemark/contracts'
import {
  archiveExpired,
  archiveGroup,
  jsonLinesSink,
  type ArchiveEvent,
  type ArchiveProgress,
} from '@tidemark/jobs'
import type { Collection, Store } from '@tidemark/store'
import { hostNameOption } from '../arguments/host-name-option.ts'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { addLogFlags, chosenLogger, type LogFlags } from '../output/command-logger.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine } from '../output/json-lines.ts'
import { ProgressLine, grouped } from '../output/progress-line.ts'
import { errorLine } from '../output/report-error.ts'
import { openWorkerLeases } from '../worker-leases.ts'

interface ArchiveOptions extends LogFlags {
  readonly store: string
  readonly folder?: string
  readonly group?: string
  readonly leases?: string
  readonly allowVolatile?: boolean
  readonly hostName: string
  readonly maxFileMib?: number
  readonly once?: boolean
  readonly retire?: boolean
  readonly json?: boolean
}

const HELP = `
From its first start, documents of the collection are purged only when they are
in the folder, even while no archive runs. --retire ends that. Run the command
in several processes to share the work. You can kill any of them at any time: at
worst, some documents are in the folder twice, under one key.

Each line is
{"collectionRid","id","partitionKey","lsn","reason","expiredAtMs","document"}.
Lines with the same collectionRid, partitionKey, id and lsn are duplicates; the
function readJsonLines reads each once.

Examples:
  tidemark archive shop/sessions --store ./data --folder ./archive
  tidemark archive shop/sessions --store ./data --folder ./archive --once
  tidemark archive shop/sessions --store ./data --retire`

/** `tidemark archive`: expired documents into JSON Lines files, before they are purged. */
export function archiveCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('archive')
    .summary('write expired documents to files before they are purged')
    .description('Writes the expired documents of a collection to JSON Lines files.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--folder <folder>', 'folder of the files; created if it is missing')
    .option('--group <name>', 'processor group (default: archive-<database>.<collection>)')
    .option(
      '--leases <where>',
      "redis://host:port, or database/collection (default: leases in the collection's database)",
    )
    .option(
      '--allow-volatile',
      'accept a Redis that loses the leases, and with them all positions, when it ends',
    )
    .addOption(hostNameOption())
    .option('--max-file-mib <n>', 'begin a new file above this size', wholeNumber(1))
    .option('--once', 'sweep, archive what has expired by now, and end')
    .option('--retire', 'stop archiving: purges no longer wait for the group')
    .option('--json', 'print events as JSON lines on the standard output')
  return addLogFlags(command)
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, options: ArchiveOptions, command: Command) => {
      if (options.retire === true && options.once === true) {
        command.error('error: --retire does not go with --once\n')
      }
      if ((options.folder === undefined) !== (options.retire === true)) {
        command.error('error: give either --folder or --retire\n')
      }
      finish(await runArchive(name, options, context))
    })
}

async function runArchive(
  name: CollectionName,
  options: ArchiveOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  await using store = await openExistingStore(options.store)
  if (options.folder === undefined) return await retire(name, store, { options, context })
  const source = await existingCollection(store, name)
  const location = options.leases ?? `${name.database}/leases`
  const { allowVolatile } = options
  await using leases = await openWorkerLeases(location, { store, allowVolatile }, context)
  await using reporter = new ArchiveReporter(context, options.json === true ? 'json' : 'text')
  const { signal } = interruption
  const bytes = options.maxFileMib === undefined ? undefined : options.maxFileMib * 1024 * 1024
  await using archive = archiveExpired({
    source,
    sink: jsonLinesSink({ folder: options.folder, maxFileBytes: bytes }),
    leases: leases.store,
    group: options.group,
    hostName: options.hostName,
    onEvent: (event) => reporter.tell(event),
    logger: await chosenLogger(options, context),
    signal,
  })
  try {
    await archive.start()
    if (options.once === true) {
      await untilSwept(store, source, signal)
      await archive.caughtUp({ signal })
      reporter.caughtUp(await archive.progress({ signal }))
      return EXIT.ok
    }
    await archive.finished
    return interruption.exitCode ?? EXIT.ok
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
    return interruption.exitCode
  }
}

const SWEEP_POLL_MS = 200

/**
 * Sweeps what has expired by now, or waits until the process with the maintenance lease has done it. A
 * process that was killed keeps the lease for some seconds.
 */
async function untilSwept(store: Store, source: Collection, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { heldElsewhere } = await store.runMaintenance()
    if (!heldElsewhere.some(({ databaseId }) => databaseId === source.databaseId)) return
    if ((await source.readExpiry({ withinSeconds: [] })).unswept === 0) return
    await systemClock.sleep(SWEEP_POLL_MS, signal)
  }
}

async function retire(
  name: CollectionName,
  store: Store,
  { options, context }: { options: ArchiveOptions; context: CommandContext },
): Promise<ExitCode> {
  const source = await existingCollection(store, name)
  const group = options.group ?? archiveGroup({ databaseId: name.database, id: name.collection })
  await source.removeWaitingGroup(group)
  if (options.json === true) await writeJsonLine(context.output, { event: 'retired', group })
  else context.errors.write(`purges no longer wait for ${group}\n`)
  return EXIT.ok
}

/** Reports on an archive: as text on the error output, or as one JSON line for each event. */
class ArchiveReporter implements AsyncDisposable {
  readonly #context: CommandContext
  readonly #form: 'text' | 'json'
  readonly #line: ProgressLine
  #written: Promise<unknown> = Promise.resolve()
  #archived = 0

  constructor(context: CommandContext, form: 'text' | 'json') {
    this.#context = context
    this.#form = form
    this.#line = new ProgressLine(context)
  }

  tell(event: ArchiveEvent): void {
    const { kind, ...rest } = event
    if (event.kind === 'archived') this.#archived += event.documents
    if (this.#form === 'json') this.#write({ event: kind, ...rest })
    else if (event.kind === 'registered') this.#line.say(`purges wait for ${event.group}`)
    else if (event.kind === 'archived') this.#line.draw(`${grouped(this.#archived)} archived`)
    else if (event.kind === 'failure') {
      // The command ends with it.
      if (event.what === 'worker') return
      this.#line.say(`${errorLine(event.error)} (${event.what}; it will be tried again)`)
    } else if (event.kind === 'missed') {
      const { leaseId, lsn, horizon } = event
      this.#line.say(
        `range ${leaseId}: what expired between LSN ${lsn} and ${horizon} was purged unarchived`,
      )
    }
  }

  caughtUp(progress: ArchiveProgress): void {
    const { archived, pendingDeletes } = progress
    if (this.#form === 'json') this.#write({ event: 'caughtUp', ...progress })
    else {
      this.#line.say(
        `${grouped(archived)} documents archived, ${grouped(pendingDeletes)} wait to be purged`,
      )
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#line[Symbol.dispose]()
    await this.#written
  }

  #write(event: object): void {
    this.#written = this.#written.then(() => writeJsonLine(this.#context.output, event))
  }
}
