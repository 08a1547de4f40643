import { Command } from 'commander'
import { EMULATOR_KEY } from '@tidemark/gateway'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { portNumber } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { DEMO, makeDemoDatabase } from '../serve/demo-database.ts'
import { openDemoQueues } from '../serve/demo-queues.ts'
import { describeFronts } from '../serve/describe-fronts.ts'
import { GATEWAY_PORT } from '../serve/gateway-flags.ts'
import { serveStore } from '../serve/serve-store.ts'
import { describePlace, openServedStore, servedPlace } from '../serve/served-place.ts'
import { ROOT_POLICY } from '../serve/served-keys.ts'
import type { RunningFronts } from '../serve/start-fronts.ts'

interface DevOptions {
  readonly port: number
  readonly amqpPort: number
  readonly adminPort: number
  readonly json?: boolean
}

/** Where clients look for the emulator of Service Bus. */
const AMQP_PORT = 5672
const ADMIN_PORT = 5300

const HELP = `
For development and tests: endpoints and keys are those of the emulators of
Azure Cosmos DB and Azure Service Bus, without TLS and on loopback only. The
database "${DEMO.database}" has a container "${DEMO.collection}" with some documents, a queue "${DEMO.queue}",
and a topic "${DEMO.topic}" with a subscription "${DEMO.subscription}". Without a store, all data is in
memory and is lost when the command ends.

Examples:
  tidemark dev
  tidemark dev ./data --port 0 --amqp-port 0 --admin-port 0 --json`

/** `tidemark dev`: the fronts instead of the emulators. */
export function devCommand(context: CommandContext, finish: Finish): Command {
  return new Command('dev')
    .summary("serve a demo database with the emulators' ports and keys")
    .description(
      'Serves a demo database with the ports and keys of the emulators of Azure Cosmos DB and Azure Service Bus.',
    )
    .argument('[store]', 'folder or postgres:// URL (default: in memory)')
    .option('--port <n>', 'of HTTP; 0 = any free one', portNumber(), GATEWAY_PORT)
    .option('--amqp-port <n>', 'of queues and topics', portNumber(), AMQP_PORT)
    .option('--admin-port <n>', 'of their administration', portNumber(), ADMIN_PORT)
    .option('--json', 'print one JSON line when it answers')
    .addHelpText('after', HELP)
    .action(async (store: string | undefined, options: DevOptions) => {
      finish(await dev(store, options, context))
    })
}

async function dev(
  argument: string | undefined,
  { port, amqpPort, adminPort, json }: DevOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const place = servedPlace(argument)
  await using store = await openServedStore(place)
  await makeDemoDatabase(store)
  await using broker = await openDemoQueues(store)
  return await serveStore(
    {
      store,
      gateway: { port },
      queues: { broker, amqpPort, adminPort, isForTests: true },
      keys: { readWrite: [EMULATOR_KEY] },
      host: '127.0.0.1',
      tls: undefined,
      insecureHttp: undefined,
      maxConnections: undefined,
      form: json === true ? 'json' : 'text',
      interruption,
      describe: (fronts) =>
        `serving ${describePlace(place)} with the database "${DEMO.database}" at ${describeFronts(fronts)}; end with Ctrl-C\n` +
        connectionStrings(fronts).join('\n'),
    },
    context,
  )
}

/** These keys are public, so they can be shown. */
function connectionStrings({ gateway, amqp }: RunningFronts): readonly string[] {
  return [
    ...(gateway ? [`AccountEndpoint=${gateway.endpoint};AccountKey=${EMULATOR_KEY};`] : []),
    ...(amqp
      ? [
          `Endpoint=sb://localhost:${amqp.port};SharedAccessKeyName=${ROOT_POLICY};` +
            `SharedAccessKey=${EMULATOR_ACCESS_KEY};UseDevelopmentEmulator=true;`,
        ]
      : []),
  ]
}
