import { Command, Option } from 'commander'
import type { LeaseStore, StartPosition } from '@tidemark/contracts'
import {
  openAccount,
  withAccountOptions,
  type Account,
  type AccountOptions,
} from '../account/open-account.ts'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import { startPosition } from '../arguments/parse-start.ts'
import type { CommandContext } from '../command-context.ts'
import { isConfirmed } from '../confirm.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openLeases, type OpenedLeases } from '../lease-location.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { writeMoves } from '../output/moved-leases.ts'
import { textTable } from '../output/text-table.ts'

/** What both commands are given. */
interface V3Options extends AccountOptions {
  readonly monitored: CollectionName
  readonly processor: string
  readonly group: string
  readonly leases: string
  readonly store?: string
  readonly expiration: number
  readonly dryRun?: boolean
  readonly json?: boolean
}

interface ImportOptions extends V3Options {
  readonly fromV3: CollectionName
  readonly sdk?: Sdk
  readonly start?: StartPosition
}

interface ExportOptions extends V3Options {
  readonly toV3: CollectionName
  readonly sdk: Sdk
  readonly yes?: boolean
}

type Sdk = keyof typeof READERS
const READERS = {
  dotnet: 'dotnet',
  java: 'java',
  'java-handle-changes': 'javaHandleChanges',
} as const

const HELP = `
The other processor is that of the .NET SDK (V3) or the Java SDK (V4). Its hosts
must have stopped; leases of a host that was killed are in use until nothing was
heard of it for --expiration seconds. --processor and the host of --endpoint are
as in its program, because they are in the ids of its leases. The leases of the
group are at redis://host:port; in database/container of the account,
partitioned by /partitionKey; or, with --store, in database/collection of that
store.

Examples:
  tidemark leases import --from-v3 shop/leases --monitored shop/orders \\
    --processor orders-mirror --endpoint https://acme.documents.azure.com \\
    --key-file acme.key --group mirror --leases redis://localhost --dry-run
  tidemark leases export --to-v3 shop/leases --sdk dotnet \\
    --monitored shop/orders --processor orders-mirror \\
    --endpoint https://acme.documents.azure.com --key-file acme.key \\
    --group mirror --leases redis://localhost`

/** `tidemark leases import`. */
export function importCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('import')
    .summary('take over the leases of a .NET or Java processor')
    .description('Creates the leases of a group where a .NET or Java processor stopped.')
    .requiredOption(
      '--from-v3 <container>',
      'its lease container, database/container',
      collectionName,
    )
    .addOption(sdkOption('whose leases, if there are several'))
    .addOption(
      new Option(
        '--start <position>',
        'where keys start whose lease has no position: beginning, now or a time',
      ).argParser(startPosition),
    )
  return withV3Options(command)
    .addHelpText('after', HELP)
    .action(async (options: ImportOptions) => {
      await withPlaces(options, async ({ account, leases }) => {
        const { cosmos, container } = account
        const moved = await cosmos.importV3Leases({
          ...processorOf(options, { account, leaseContainer: options.fromV3 }),
          leases,
          group: options.group,
          feed: cosmos.cosmosFeed(container(options.monitored)),
          reader: options.sdk && READERS[options.sdk],
          startWithout: options.start,
          purpose: options.dryRun === true ? 'preview' : 'import',
        })
        await writeMoves(context, moved, options)
      })
      finish(EXIT.ok)
    })
}

/** `tidemark leases export`. */
export function exportCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('export')
    .summary('give the positions of a group to a .NET or Java processor')
    .description(
      'Writes the positions of a group as leases of a .NET or Java processor, and pauses the group.',
    )
    .requiredOption(
      '--to-v3 <container>',
      'its lease container, database/container',
      collectionName,
    )
    .addOption(sdkOption('who continues').makeOptionMandatory())
    .option('--yes', 'replace the leases of the other processor without asking')
  return withV3Options(command)
    .addHelpText('after', HELP)
    .action(async (options: ExportOptions, action: Command) => {
      finish(await exportLeases(options, { context, action }))
    })
}

async function exportLeases(
  options: ExportOptions,
  { context, action }: { readonly context: CommandContext; readonly action: Command },
): Promise<ExitCode> {
  const { group, processor, yes, dryRun } = options
  const what = `this replaces the leases of processor ${processor}, and pauses group ${group}`
  if (dryRun !== true && !(await isConfirmed(what, { yes, context, action }))) return EXIT.failure
  await withPlaces(options, async ({ account, leases }) => {
    const exported = await account.cosmos.exportV3Leases({
      ...processorOf(options, { account, leaseContainer: options.toV3 }),
      leases,
      group,
      reader: READERS[options.sdk],
      purpose: dryRun === true ? 'preview' : 'export',
    })
    if (options.json === true) {
      for (const { id, range, lsn } of exported)
        await writeJsonLine(context.output, { id, range, lsn })
      return
    }
    const rows = exported.map(({ id, lsn }) => [id, lsn, lsn === 0 ? 'by start options' : ''])
    await writeText(context.output, textTable(['LEASE', 'LSN', 'STARTS'], rows))
  })
  return EXIT.ok
}

function withV3Options(command: Command): Command {
  return withAccountOptions(command)
    .requiredOption('--monitored <container>', 'the container that it monitors', collectionName)
    .requiredOption('--processor <name>', 'processorName of .NET, lease prefix of Java')
    .requiredOption('--group <name>', 'the processor group of Tidemark')
    .requiredOption('--leases <where>', 'where the leases of the group are')
    .option('--store <store>', 'folder or postgres:// URL of the store of --leases')
    .option(
      '--expiration <seconds>',
      'a lease that was renewed within this time is in use',
      wholeNumber(1),
      60,
    )
    .option('--dry-run', 'show what the command would do, and do nothing')
    .option('--json', 'one JSON line for each lease')
}

function sdkOption(what: string): Option {
  return new Option('--sdk <sdk>', what).choices(Object.keys(READERS))
}

function processorOf(
  { monitored, processor, endpoint, expiration }: V3Options,
  {
    account,
    leaseContainer,
  }: { readonly account: Account; readonly leaseContainer: CollectionName },
) {
  return {
    monitored: account.container(monitored),
    leaseContainer: account.container(leaseContainer),
    processorName: processor,
    endpoint,
    expirationIntervalMs: expiration * 1000,
  }
}

async function withPlaces(
  options: V3Options,
  act: (places: { readonly account: Account; readonly leases: LeaseStore }) => Promise<void>,
): Promise<void> {
  using account = await openAccount(options)
  await using store =
    options.store === undefined
      ? undefined
      : await openExistingStore(options.store, { maintenance: 'manual' })
  await using opened: OpenedLeases =
    store === undefined && !/^rediss?:/i.test(options.leases)
      ? inAccount(account, options.leases)
      : await openLeases(options.leases, { store, missing: 'create', allowVolatile: true })
  await act({ account, leases: opened.store })
}

/** Leases in a container of the account. */
function inAccount({ cosmos, container }: Account, leases: string): OpenedLeases {
  return {
    store: cosmos.cosmosLeases(container(collectionName(leases))),
    async [Symbol.asyncDispose]() {},
  }
}
