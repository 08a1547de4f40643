import { Command } from 'commander'
import { materializeView, verifyView, type ViewEvent, type ViewProgress } from '@tidemark/jobs'
import { hostNameOption } from '../arguments/host-name-option.ts'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { addLogFlags, chosenLogger, type LogFlags } from '../output/command-logger.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { ProgressLine, grouped } from '../output/progress-line.ts'
import { errorLine } from '../output/report-error.ts'
import { addDefinitionFlags, viewDefinition, type DefinitionFlags } from '../view-definition.ts'
import { openWorkerLeases } from '../worker-leases.ts'

interface PlaceOptions extends DefinitionFlags {
  readonly store: string
  readonly source: CollectionName
  readonly sourceStore?: string
  readonly json?: boolean
}

interface RunOptions extends PlaceOptions, LogFlags {
  readonly leases?: string
  readonly allowVolatile?: boolean
  readonly group?: string
  readonly viewVersion?: string
  readonly partitionCount?: number
  readonly ignoreDeletes?: boolean
  readonly dropReplaced?: boolean
  readonly once?: boolean
  readonly hostName: string
}

/** `tidemark views run`: one worker of a view. */
export function runViewCommand(context: CommandContext, finish: Finish): Command {
  return workerCommand('run')
    .summary('keep a view up to date')
    .description(
      'Builds a view and keeps it up to date, until you end it. Run it in several processes to share the work.',
    )
    .option('--once', 'end when the view has everything that was committed before')
    .action(async (name: CollectionName, options: RunOptions) => {
      finish(await runView(name, options, { context, rebuild: false }))
    })
}

/** `tidemark views rebuild`: builds it again beside the present one, and ends. */
export function rebuildViewCommand(context: CommandContext, finish: Finish): Command {
  return workerCommand('rebuild')
    .summary('build a view again beside the present one, and swap')
    .description(
      'Builds a view again from the beginning. Its readers get the new one when it has caught up; then this ends.',
    )
    .action(async (name: CollectionName, options: RunOptions) => {
      finish(await runView(name, { ...options, once: true }, { context, rebuild: true }))
    })
}

/** `tidemark views verify`: compares a view with a recount. */
export function verifyViewCommand(context: CommandContext, finish: Finish): Command {
  return placeCommand('verify')
    .summary('compare a view with a recount of its source')
    .description('Reads the source, computes the view again, and compares it key by key.')
    .option('--json', 'print the report as one JSON line')
    .action(async (name: CollectionName, options: PlaceOptions) => {
      finish(await verify(name, options, context))
    })
}

function placeCommand(name: string): Command {
  const command = new Command(name)
    .argument('<view>', 'database/view', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store of the view')
    .requiredOption('--source <name>', 'database/collection that it is made of', collectionName)
    .option('--source-store <store>', 'folder or URL of the source, if it is another store')
  return addDefinitionFlags(command)
}

function workerCommand(name: string): Command {
  const command = placeCommand(name)
    .option('--view-version <text>', 'of the module: another one builds the view anew', '1')
    .option('--partition-count <n>', 'pkranges of a new view', wholeNumber(1))
    .option('--group <name>', 'group of the workers (default: view-<database>/<view>)')
    .option(
      '--leases <where>',
      "redis://host:port, or database/collection (default: leases in the view's database)",
    )
    .option(
      '--allow-volatile',
      'accept a Redis that loses the leases, and with them all positions, when it ends',
    )
    .option('--ignore-deletes', 'documents that are deleted in the source go on to count')
    .option('--drop-replaced', 'delete the edition that a new one has replaced')
    .addOption(hostNameOption())
    .option('--json', 'print events as JSON lines on the standard output')
  return addLogFlags(command)
}

async function runView(
  name: CollectionName,
  options: RunOptions,
  { context, rebuild }: { readonly context: CommandContext; readonly rebuild: boolean },
): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  const definition = await viewDefinition(options)
  const { sourceStore, partitionCount, allowVolatile } = options
  await using store = await openExistingStore(options.store)
  await using other = sourceStore === undefined ? undefined : await openExistingStore(sourceStore)
  const source = await existingCollection(other ?? store, options.source)
  const location = options.leases ?? `${name.database}/leases`
  await using leases = await openWorkerLeases(location, { store, allowVolatile }, context)
  await using reporter = new ViewReporter(context, options.json === true ? 'json' : 'text')
  await using view = materializeView({
    ...definition,
    source,
    target: { database: store.database(name.database), id: name.collection, partitionCount },
    leases: leases.store,
    group: options.group,
    version: options.viewVersion,
    rebuild,
    replaced: options.dropReplaced === true ? 'drop' : 'keep',
    deletes: options.ignoreDeletes === true ? 'ignore' : undefined,
    stopWhenCaughtUp: options.once,
    hostName: options.hostName,
    onEvent: (event) => reporter.tell(event),
    onProgress: (progress) => reporter.progress(progress),
    logger: await chosenLogger(options, context),
    signal,
  })
  try {
    await view.start()
    await view.finished
    return interruption.exitCode ?? EXIT.ok
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
    return interruption.exitCode
  }
}

async function verify(
  name: CollectionName,
  options: PlaceOptions,
  { output }: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const definition = await viewDefinition(options)
  const { sourceStore } = options
  await using store = await openExistingStore(options.store, { maintenance: 'manual' })
  await using other = sourceStore === undefined ? undefined : await openExistingStore(sourceStore)
  const report = await verifyView({
    ...definition,
    source: await existingCollection(other ?? store, options.source),
    database: store.database(name.database),
    id: name.collection,
    signal: interruption.signal,
  })
  if (options.json === true) await writeJsonLine(output, report)
  else {
    const { keys, documents, different, unsettled, samples } = report
    await writeText(
      output,
      `${grouped(keys)} keys of ${grouped(documents)} documents: ${grouped(different)} differ` +
        `${unsettled > 0 ? `, ${grouped(unsettled)} keep changing` : ''}\n`,
    )
    for (const { key, expected, found } of samples) {
      const sides = `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`
      await writeText(output, `${JSON.stringify(key)}: ${sides}\n`)
    }
  }
  return report.same ? EXIT.ok : EXIT.differences
}

/** Reports on a view: as text on the error output, or as one JSON line for each event. */
class ViewReporter implements AsyncDisposable {
  readonly #context: CommandContext
  readonly #form: 'text' | 'json'
  readonly #line: ProgressLine
  #written: Promise<unknown> = Promise.resolve()

  constructor(context: CommandContext, form: 'text' | 'json') {
    this.#context = context
    this.#form = form
    this.#line = new ProgressLine(context)
  }

  tell(event: ViewEvent): void {
    const { kind, ...rest } = event
    if (this.#form === 'json') this.#write({ event: kind, ...rest })
    else if (event.kind === 'edition') {
      this.#line.say(`working on version ${event.version} (${event.role}, edition ${event.number})`)
    } else if (event.kind === 'swapped') this.#line.say(`readers get version ${event.version} now`)
    else if (event.kind === 'replaced') {
      this.#line.say(`version ${event.version ?? 'none'} has taken the place of this one`)
    } else if (event.kind === 'deletesUnseen') {
      this.#line.say(
        `what is deleted in ${event.source} goes on to count; "tidemark versions set" turns its log on, ` +
          '--ignore-deletes this warning off',
      )
    } else if (event.kind === 'missed') {
      this.#line.say(`range ${event.leaseId}: expiries were purged unseen; rebuild the view`)
    } else if (event.kind === 'failure' && event.what !== 'worker') {
      this.#line.say(`${errorLine(event.error)} (${event.what}; it will be tried again)`)
    }
  }

  progress(progress: ViewProgress): void {
    if (this.#form === 'json') this.#write({ event: 'progress', ...progress })
    else {
      const { state, keys, documents, lag = 0 } = progress
      this.#line.draw(
        `${state}: ${grouped(keys)} keys of ${grouped(documents)} documents, ${grouped(lag)} behind`,
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
