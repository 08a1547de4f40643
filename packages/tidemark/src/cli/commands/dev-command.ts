import { Command } from 'commander'
import { EMULATOR_KEY } from '@tidemark/gateway'
import type { CommandContext } from '../command-context.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { DEMO, makeDemoDatabase } from '../serve/demo-database.ts'
import { serveStore } from '../serve/serve-store.ts'
import { describePlace, openServedStore, servedPlace } from '../serve/served-place.ts'
import { portNumber } from './serve-command.ts'

interface DevOptions {
  readonly port: number
  readonly json?: boolean
}

/** Where tools look for an emulator. */
const EMULATOR_PORT = 8081

const HELP = `
For development and tests: endpoint and key are those of Azure Cosmos DB's
emulator, over plain HTTP and on loopback only. The database "${DEMO.database}" has a
container "${DEMO.collection}" with some documents. Without a store, the data is in memory
and is lost when the command ends.

Examples:
  tidemark dev
  tidemark dev ./data --port 0 --json`

/** `tidemark dev`: a gateway instead of the emulator. */
export function devCommand(context: CommandContext, finish: Finish): Command {
  return new Command('dev')
    .summary("serve a demo database with the emulator's port and key")
    .description("Serves a demo database with the port and key of Azure Cosmos DB's emulator.")
    .argument('[store]', 'folder or postgres:// URL (default: in memory)')
    .option('--port <n>', '0 = any free one', portNumber(), EMULATOR_PORT)
    .option('--json', 'print one JSON line when it answers')
    .addHelpText('after', HELP)
    .action(async (store: string | undefined, options: DevOptions) => {
      finish(await dev(store, options, context))
    })
}

async function dev(
  argument: string | undefined,
  { port, json }: DevOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const place = servedPlace(argument)
  await using store = await openServedStore(place)
  await makeDemoDatabase(store)
  return await serveStore(
    {
      gateway: { store, keys: { readWrite: [EMULATOR_KEY] }, port },
      form: json === true ? 'json' : 'text',
      interruption,
      // This key is public, so it can be shown.
      describe: ({ endpoint }) =>
        `serving ${describePlace(place)} with the database "${DEMO.database}"; end with Ctrl-C\n` +
        `AccountEndpoint=${endpoint};AccountKey=${EMULATOR_KEY};`,
    },
    context,
  )
}
