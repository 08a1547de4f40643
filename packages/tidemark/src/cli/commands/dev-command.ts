import { Command } from 'commander'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { portNumber } from '../arguments/parse-arguments.ts'
import { loadFronts, loadGateway } from '../../platform/optional-packages.ts'
import type { CommandContext } from '../command-context.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import {
  addLogFlags,
  chosenLogger,
  commandLogger,
  failureReporter,
  type LogFlags,
} from '../output/command-logger.ts'
import { DEMO, makeDemoDatabase } from '../serve/demo-database.ts'
import { openDemoQueues } from '../serve/demo-queues.ts'
import { describeFronts } from '../serve/describe-fronts.ts'
import { GATEWAY_PORT } from '../serve/gateway-flags.ts'
import { startDemoWork } from '../serve/demo-work.ts'
import { openPageBeside } from '../serve/page.ts'
import { serveStore } from '../serve/serve-store.ts'
import { describePlace, openServedStore, servedPlace } from '../serve/served-place.ts'
import { ROOT_POLICY } from '../serve/served-keys.ts'
import type { RunningFronts } from '../serve/start-fronts.ts'

interface DevOptions extends LogFlags {
  readonly port: number
  readonly amqpPort: number
  readonly adminPort: number
  readonly demo: boolean
  readonly join?: string | true
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

Open the address of the gateway in a browser to see all of it at work: the
command keeps writing a few documents to "${DEMO.visits}", and a worker of the group
"${DEMO.group}" processes them. --no-demo leaves both out. --join starts another
worker, which takes half of the work: it needs nothing but the address of a
"dev" that runs.

Examples:
  tidemark dev
  tidemark dev --join
  tidemark dev --join http://127.0.0.1:9000
  tidemark dev ./data --port 0 --amqp-port 0 --admin-port 0 --json`

/** `tidemark dev`: the fronts instead of the emulators. */
export function devCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('dev')
    .summary("serve a demo database with the emulators' ports and keys")
    .description(
      'Serves a demo database with the ports and keys of the emulators of Azure Cosmos DB and Azure Service Bus.',
    )
    .argument('[store]', 'folder or postgres:// URL (default: in memory)')
    .option('--port <n>', 'of HTTP; 0 = any free one', portNumber(), GATEWAY_PORT)
    .option('--amqp-port <n>', 'of queues and topics', portNumber(), AMQP_PORT)
    .option('--admin-port <n>', 'of their administration', portNumber(), ADMIN_PORT)
    .option('--no-demo', 'without documents that are written all the time, and their worker')
    .option(
      '--join [url]',
      `start another worker for the demo of a "dev" that runs (default: http://127.0.0.1:${GATEWAY_PORT})`,
    )
    .option('--json', 'print one JSON line when it answers')
  return addLogFlags(command)
    .addHelpText('after', HELP)
    .action(async (store: string | undefined, options: DevOptions, command: Command) => {
      const { join } = options
      if (join === undefined) return finish(await dev(store, options, context))
      if (store !== undefined) command.error('error: --join takes an address, not a store\n')
      const endpoint = join === true ? `http://127.0.0.1:${GATEWAY_PORT}` : join
      if (URL.parse(endpoint) === null) command.error('error: --join needs a URL\n')
      const logger = await chosenLogger(options, context)
      await loadGateway()
      const { joinDemo } = await import('../serve/join-demo.ts')
      finish(await joinDemo({ endpoint, logger }, context))
    })
}

async function dev(
  argument: string | undefined,
  options: DevOptions,
  context: CommandContext,
): Promise<ExitCode> {
  // Before a folder is made.
  await loadFronts({ gateway: true, amqp: true, admin: true })
  using interruption = new Interruption()
  const { port, amqpPort, adminPort, demo, json } = options
  const logger = await commandLogger(options, context)
  const place = servedPlace(argument)
  await using store = await openServedStore(place)
  await makeDemoDatabase(store)
  await using broker = await openDemoQueues(store)
  const host = '127.0.0.1'
  await using page = await openPageBeside({
    store,
    flags: { environment: 'dev' },
    host,
    onFailure: failureReporter(logger),
  })
  await using _work = demo
    ? await startDemoWork(store, await chosenLogger(options, context))
    : undefined
  return await serveStore(
    {
      store,
      gateway: { port },
      queues: { broker, amqpPort, adminPort, isForTests: true },
      keys: { readWrite: [EMULATOR_KEY] },
      host,
      beside: [page.beside],
      hasPage: true,
      tls: undefined,
      insecureHttp: undefined,
      maxConnections: undefined,
      logger,
      form: json === true ? 'json' : 'text',
      interruption,
      describe: (fronts) =>
        `serving ${describePlace(place)} with the database "${DEMO.database}" at ${describeFronts(fronts)}; end with Ctrl-C\n` +
        connectionStrings(fronts).join('\n') +
        (demo ? `\n${joinLine(fronts)}` : ''),
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

/** How to start a second worker, which shares the demo's ranges with the first. */
function joinLine({ gateway }: RunningFronts): string {
  const place = gateway === undefined || gateway.port === GATEWAY_PORT ? '' : ` ${gateway.endpoint}`
  return `for a second worker: ${calledAs(process.env)} dev --join${place}`
}

/** How the command was started, so that what is printed works as it stands. */
function calledAs(environment: NodeJS.ProcessEnv): string {
  if (environment['npm_lifecycle_event'] === 'tidemark') return 'npm run tidemark --'
  return environment['npm_command'] === 'exec' ? 'npx tidemark' : 'tidemark'
}
