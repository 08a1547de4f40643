import { Command, Option } from 'commander'
import { dropView, listViews, readViewStatus, type ViewProgress } from '@tidemark/jobs'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { isConfirmed } from '../confirm.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openLeases } from '../lease-location.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { grouped } from '../output/progress-line.ts'
import { textTable } from '../output/text-table.ts'
import { rebuildViewCommand, runViewCommand, verifyViewCommand } from './run-view.ts'

const HELP = `
A view has one document for each key, with counts, sums and the like of the
documents of a collection. It is right however often workers are killed.

Examples:
  tidemark views run shop/customers --source shop/orders --by /customerId \\
    --count --sum total=/total --store ./data
  tidemark views status shop/customers --source shop/orders --store ./data
  tidemark views verify shop/customers --source shop/orders --by /customerId \\
    --count --sum total=/total --store ./data
  tidemark views list shop --store ./data
  tidemark views drop shop/customers --only replaced --store ./data`

/** `tidemark views`: materialised views, kept, compared and dropped. */
export function viewsCommand(context: CommandContext, finish: Finish): Command {
  return new Command('views')
    .summary('keep counts, sums and leaderboards of a collection up to date')
    .description('Keeps materialised views of a collection, and looks after them.')
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(runViewCommand(context, finish))
    .addCommand(rebuildViewCommand(context, finish))
    .addCommand(verifyViewCommand(context, finish))
    .addCommand(statusCommand(context))
    .addCommand(dropCommand(context, finish))
    .addHelpText('after', HELP)
}

interface ListOptions {
  readonly store: string
  readonly json?: boolean
}

function listCommand(context: CommandContext): Command {
  return new Command('list')
    .summary('list the views of a database (default)')
    .description('Lists the views of a database, with what they are made of.')
    .argument('<database>', 'where the views are kept')
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'print one JSON line for each view')
    .action(async (database: string, options: ListOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const views = await listViews(store.database(database))
      if (options.json === true) {
        for (const view of views) await writeJsonLine(context.output, view)
        return
      }
      const headings = ['VIEW', 'VERSION', 'BUILDING', 'REPLACED', 'FOLDS']
      const rows = views.map(({ id, version, building, replaced, folds }) => {
        return [id, version, building ?? '-', String(replaced.length), folds]
      })
      await writeText(context.output, textTable(headings, rows))
    })
}

interface StatusOptions extends ListOptions {
  readonly source: CollectionName
  readonly sourceStore?: string
  readonly leases?: string
  readonly group?: string
}

function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .summary('show how far a view is')
    .description('Shows how many keys a view has, and how far it is behind its source.')
    .argument('<view>', 'database/view', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store of the view')
    .requiredOption('--source <name>', 'database/collection that it is made of', collectionName)
    .option('--source-store <store>', 'folder or URL of the source, if it is another store')
    .option('--leases <where>', "as of its workers (default: leases in the view's database)")
    .option('--group <name>', 'as of its workers (default: view-<database>/<view>)')
    .option('--json', 'print one JSON line')
    .action(async (name: CollectionName, options: StatusOptions) => {
      const { sourceStore, leases: at = `${name.database}/leases`, group } = options
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      await using other =
        sourceStore === undefined ? undefined : await openExistingStore(sourceStore)
      const source = await existingCollection(other ?? store, options.source)
      await using leases = await openLeases(at, { store, missing: 'fail' })
      const database = store.database(name.database)
      const status = await readViewStatus({
        source,
        database,
        id: name.collection,
        leases: leases.store,
        group,
      })
      if (options.json === true) await writeJsonLine(context.output, status)
      else {
        const { current, building } = status
        const rows = [statusRow('current', current)]
        if (building !== undefined) rows.push(statusRow('building', building))
        const headings = ['', 'VERSION', 'STATE', 'KEYS', 'DOCUMENTS', 'LAG']
        await writeText(context.output, textTable(headings, rows))
      }
    })
}

function statusRow(role: string, progress: ViewProgress): readonly string[] {
  const { version, state, keys, documents, lag } = progress
  return [
    role,
    version,
    state,
    grouped(keys),
    grouped(documents),
    lag === undefined ? '-' : grouped(lag),
  ]
}

interface DropOptions extends ListOptions {
  readonly only?: 'replaced' | 'building'
  readonly yes?: boolean
}

function dropCommand(context: CommandContext, finish: Finish): Command {
  return new Command('drop')
    .summary('delete a view, or what a rebuild has replaced')
    .description('Deletes a view with all that it remembers, or former editions of it.')
    .argument('<view>', 'database/view', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .addOption(
      new Option(
        '--only <what>',
        'replaced: editions that nobody reads any more; building: the one that is being built',
      ).choices(['replaced', 'building']),
    )
    .option('--yes', 'without asking')
    .option('--json', 'print the result as one JSON line')
    .action(async (name: CollectionName, options: DropOptions, action: Command) => {
      const { only, yes, json } = options
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const view = `${name.database}/${name.collection}`
      const what = only === undefined ? `the view ${view}` : `what is ${only} of the view ${view}`
      if (!(await isConfirmed(`this deletes ${what}`, { yes, context, action }))) {
        return finish(EXIT.failure)
      }
      const dropped = await dropView(store.database(name.database), name.collection, { only })
      if (json === true) await writeJsonLine(context.output, { view, dropped })
      else
        await writeText(
          context.output,
          dropped ? `deleted: ${what}\n` : 'there is nothing to delete\n',
        )
    })
}
