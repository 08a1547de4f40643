import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import type { Finish } from './finish.ts'

type LoadCommand = (context: CommandContext, finish: Finish) => Promise<Command>

/**
 * Every command, in the order of the help. Each is loaded only when it is needed, so it does not slow down the others.
 */
const COMMANDS: ReadonlyMap<string, LoadCommand> = new Map<string, LoadCommand>([
  ['init', async (context) => (await import('./commands/init-command.ts')).initCommand(context)],
  ['ls', async (...args) => (await import('./commands/ls-command.ts')).listCommand(...args)],
  [
    'create',
    async (context) => (await import('./commands/create-command.ts')).createCommand(context),
  ],
  ['get', async (context) => (await import('./commands/get-command.ts')).getCommand(context)],
  ['put', async (...args) => (await import('./commands/put-command.ts')).putCommand(...args)],
  ['set', async (context) => (await import('./commands/set-command.ts')).setCommand(context)],
  ['rm', async (context) => (await import('./commands/rm-command.ts')).removeCommand(context)],
  ['drop', async (...args) => (await import('./commands/drop-command.ts')).dropCommand(...args)],
  ['count', async (context) => (await import('./commands/count-command.ts')).countCommand(context)],
  ['serve', async (...args) => (await import('./commands/serve-command.ts')).serveCommand(...args)],
  ['dev', async (...args) => (await import('./commands/dev-command.ts')).devCommand(...args)],
  ['ui', async (...args) => (await import('./commands/ui-command.ts')).uiCommand(...args)],
  [
    'migrate',
    async (...args) => (await import('./commands/migrate-command.ts')).migrateCommand(...args),
  ],
  ['views', async (...args) => (await import('./commands/views-command.ts')).viewsCommand(...args)],
  [
    'leases',
    async (...args) => (await import('./commands/leases-command.ts')).leasesCommand(...args),
  ],
  ['lag', async (...args) => (await import('./commands/lag-command.ts')).lagCommand(...args)],
  ['dlq', async (...args) => (await import('./commands/dlq-command.ts')).dlqCommand(...args)],
  [
    'queues',
    async (...args) => (await import('./commands/queues-command.ts')).queuesCommand(...args),
  ],
  [
    'topics',
    async (...args) => (await import('./commands/topics-command.ts')).topicsCommand(...args),
  ],
  ['tail', async (...args) => (await import('./commands/tail-command.ts')).tailCommand(...args)],
  [
    'import',
    async (...args) => (await import('./commands/import-command.ts')).importCommand(...args),
  ],
  ['ttl', async (context) => (await import('./commands/ttl-command.ts')).ttlCommand(context)],
  [
    'versions',
    async (context) => (await import('./commands/versions-command.ts')).versionsCommand(context),
  ],
  [
    'archive',
    async (...args) => (await import('./commands/archive-command.ts')).archiveCommand(...args),
  ],
  [
    'ranges',
    async (context) => (await import('./commands/ranges-command.ts')).rangesCommand(context),
  ],
  ['store', async (...args) => (await import('./commands/store-command.ts')).storeCommand(...args)],
  [
    'completion',
    async (context, finish) => {
      const { completionCommand } = await import('./commands/completion-command.ts')
      return completionCommand(context, {
        names: [...COMMANDS.keys()],
        load: async (name) => COMMANDS.get(name)?.(context, finish),
      })
    },
  ],
])

/** The named command, or all of them without a name: for the help and the list of commands. */
export async function loadCommands(
  name: string | undefined,
  context: CommandContext,
  finish: Finish,
): Promise<readonly Command[]> {
  const named = COMMANDS.get(name ?? '')
  const chosen = named === undefined ? [...COMMANDS.values()] : [named]
  return Promise.all(chosen.map((load) => load(context, finish)))
}
