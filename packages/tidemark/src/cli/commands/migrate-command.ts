import { Command, Option } from 'commander'
import type { DocumentBody } from '@tidemark/contracts'
import {
  migrateCollection,
  verifyMigration,
  type ExpiryOption,
  type MapDocument,
  type MigrationTarget,
} from '@tidemark/jobs'
import type { Collection, Store } from '@tidemark/store'
import { hostNameOption } from '../arguments/host-name-option.ts'
import {
  collectionName,
  propertyPaths,
  wholeNumber,
  type CollectionName,
} from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { addLogFlags, chosenLogger, type LogFlags } from '../output/command-logger.ts'
import { loadMapModule } from '../load-map-module.ts'
import { MigrationReporter } from '../output/migration-reporter.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { openStore } from '../../open-store.ts'
import { openWorkerLeases } from '../worker-leases.ts'

interface MigrateOptions extends LogFlags {
  readonly store: string
  readonly source: CollectionName
  readonly target: CollectionName
  readonly targetStore?: string
  readonly targetPartitionKey?: readonly string[]
  readonly targetPartitionCount?: number
  readonly expiry: ExpiryOption
  readonly applyDeletes?: boolean
  readonly map?: string
  readonly leases?: string
  readonly allowVolatile?: boolean
  readonly job?: string
  readonly hostName: string
  readonly cutOver?: boolean
  readonly verify?: boolean
  readonly json?: boolean
}

const HELP = `
Copies all documents, then follows writes until you end it. Run it in several
processes with the same --job to share the work. You can kill any of them at any
time and run it again: it continues, nothing is lost and nothing is done twice.

To move an application: let this run, stop the application's writes, and run it
with --cut-over --verify. When the exit code is 0, point the application at the
target.

--map names a module that exports mapDocument(document). The function returns
the target's document, or undefined to leave the document out. It must return
the same result on every call.

Examples:
  tidemark migrate --store ./data --source shop/orders \\
    --target shop/ordersByItem \\
    --target-partition-key /itemId
  tidemark migrate --store ./data --source shop/orders \\
    --target shop/ordersByItem \\
    --leases redis://localhost --host-name worker-2 --cut-over --verify --json`

/** `tidemark migrate`: one worker of a migration. */
export function migrateCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('migrate')
    .summary('copy a collection into another one while writes continue')
    .description('Copies a collection into another one, optionally with another partition key.')
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .requiredOption('--source <name>', 'database/collection to copy', collectionName)
    .requiredOption('--target <name>', 'database/collection to copy into', collectionName)
    .option('--target-store <store>', 'folder or URL of the target, if it is another store')
    .option(
      '--target-partition-key <paths>',
      'creates the target if it is missing: /property, or up to three with commas',
      propertyPaths,
    )
    .option('--target-partition-count <n>', 'pkranges of a new target', wholeNumber(1))
    .addOption(
      new Option(
        '--expiry <what>',
        'carry: copies expire with their documents; ignore: they do not',
      )
        .choices(['carry', 'ignore'])
        .default('carry'),
    )
    .option(
      '--apply-deletes',
      'follow deletes; the source must keep all versions (tidemark versions set)',
    )
    .option(
      '--map <module>',
      'module that exports mapDocument (default: documents stay as they are)',
    )
    .option(
      '--leases <where>',
      "redis://host:port, or database/collection (default: leases in the target's database)",
    )
    .option(
      '--allow-volatile',
      'accept a Redis that loses the leases, and with them all positions, when it ends',
    )
    .option('--job <name>', 'name that workers share (default: from source and target)')
    .addOption(hostNameOption())
    .option('--cut-over', 'end when nothing is left to copy, instead of following writes')
    .option('--verify', 'compare both sides document by document after --cut-over')
    .option('--json', 'print events as JSON lines on the standard output')
  return addLogFlags(command)
    .addHelpText('after', HELP)
    .action(async (options: MigrateOptions, command: Command) => {
      if (options.verify === true && options.cutOver !== true) {
        command.error(
          'error: --verify needs --cut-over: while writes continue, both sides differ\n',
        )
      }
      if (options.targetPartitionCount !== undefined && options.targetPartitionKey === undefined) {
        command.error('error: --target-partition-count needs --target-partition-key\n')
      }
      finish(await migrate(options, context))
    })
}

async function migrate(options: MigrateOptions, context: CommandContext): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  const mapDocument = options.map === undefined ? identity : await loadMapModule(options.map)
  await using store = await openExistingStore(options.store)
  await using otherStore = await openTargetStore(options)
  const targetStore = otherStore ?? store
  const source = await existingCollection(store, options.source)
  const target = targetOf(options, targetStore)
  const leaseLocation = options.leases ?? `${options.target.database}/leases`
  const { allowVolatile } = options
  const place = { store: targetStore, allowVolatile }
  await using leases = await openWorkerLeases(leaseLocation, place, context)
  await using reporter = new MigrationReporter(context, options.json === true ? 'json' : 'text')
  await using migration = migrateCollection({
    job: options.job ?? defaultJob(options),
    hostName: options.hostName,
    source,
    target,
    leases: leases.store,
    mapDocument,
    expiry: options.expiry,
    deletes: options.applyDeletes === true ? 'apply' : undefined,
    onEvent: (event) => reporter.tell(event),
    logger: await chosenLogger(options, context),
    onProgress: (progress) => reporter.progress(progress),
    signal,
  })
  try {
    await migration.start()
    reporter.started({ job: options.job ?? defaultJob(options), hostName: options.hostName })
    if (options.cutOver !== true) {
      await aborted(signal)
      return interruption.exitCode ?? EXIT.ok
    }
    reporter.cutOver(await migration.cutOver({ signal }))
    if (options.verify !== true) return EXIT.ok
    const { target: copied } = migration
    // Nothing must change while both sides are read. Other workers have nothing left to do.
    await migration.stop()
    const { expiry } = options
    return await verify({ source, target: copied, mapDocument, expiry, signal }, reporter)
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
    return interruption.exitCode
  }
}

interface Verified {
  readonly source: Collection
  readonly target: Collection
  readonly mapDocument: MapDocument<DocumentBody, DocumentBody>
  readonly expiry: ExpiryOption
  readonly signal: AbortSignal
}

async function verify(
  { source, target, mapDocument, expiry, signal }: Verified,
  reporter: MigrationReporter,
): Promise<ExitCode> {
  const report = await verifyMigration({
    source,
    target,
    mapDocument,
    expiry,
    onProgress: (progress) => reporter.verifying(progress),
    signal,
  })
  reporter.verified(report)
  return report.same ? EXIT.ok : EXIT.differences
}

async function openTargetStore({ store, targetStore }: MigrateOptions): Promise<Store | undefined> {
  if (targetStore === undefined || targetStore === store) return undefined
  return openStore(targetStore)
}

function targetOf(
  { target, targetPartitionKey, targetPartitionCount }: MigrateOptions,
  store: Store,
): MigrationTarget {
  return {
    database: store.database(target.database),
    id: target.collection,
    partitionKey: targetPartitionKey,
    partitionCount: targetPartitionCount,
  }
}

function defaultJob({ source, target }: MigrateOptions): string {
  return [source, target].map(({ database, collection }) => `${database}.${collection}`).join('-')
}

function identity(document: DocumentBody): DocumentBody {
  return document
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
