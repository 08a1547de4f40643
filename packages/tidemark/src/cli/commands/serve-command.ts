import { Command, Option } from 'commander'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import { storeArgument, storeOfEnvironment, STORE_VARIABLE } from '../arguments/store-argument.ts'
import { accessRule } from '../../dashboard/access.ts'
import { loadFronts } from '../../platform/optional-packages.ts'
import type { CommandContext } from '../command-context.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import {
  addLogFlags,
  commandLogger,
  failureReporter,
  type LogFlags,
} from '../output/command-logger.ts'
import { describeFronts } from '../serve/describe-fronts.ts'
import {
  addGatewayFlags,
  gatewaySettings,
  givenGatewayFlag,
  type GatewayFlags,
} from '../serve/gateway-flags.ts'
import {
  areKeysInFiles,
  givenKeys,
  KEY_VARIABLE,
  presentKeys,
  READ_ONLY_KEY_VARIABLE,
  servedKeys,
} from '../serve/key-source.ts'
import {
  checkForNewPlace,
  namespaceName,
  openNamespace,
  readQueueConfig,
} from '../serve/queue-config.ts'
import { addQueueFlags, problemOfQueueFlags, type QueueFlags } from '../serve/queue-flags.ts'
import { readCredentials } from '../serve/credentials-file.ts'
import { addPageFlags, CREDENTIALS_HELP, type PageFlags } from '../serve/page-flags.ts'
import { openPageBeside } from '../serve/page.ts'
import { serveStore } from '../serve/serve-store.ts'
import {
  describePlace,
  openServedStore,
  servedPlace,
  type Durability,
} from '../serve/served-place.ts'
import { readTls, type TlsFiles } from '../serve/tls-files.ts'

interface ServeOptions extends GatewayFlags, QueueFlags, LogFlags, TlsFiles, PageFlags {
  readonly ui?: boolean
  readonly uiReadOnly?: boolean
  readonly memory?: boolean
  readonly host: string
  readonly keyFile?: string
  readonly readOnlyKeyFile?: string
  readonly insecureHttp?: boolean
  readonly durability?: Durability
  readonly maxConnections?: number
  readonly json?: boolean
}

const HELP = `
Serves the clients of Azure Cosmos DB: new CosmosClient({ endpoint, key }). Keys
are base64 text, as "openssl rand -base64 64 | tr -d '\\n'" prints it. A file can
hold several keys, separated by blanks or lines. Without --key-file, the command
uses the environment variable ${KEY_VARIABLE}. Without both, it creates a
key once and keeps it in the store's folder, in the file gateway-key (mode 600).
With --memory, the key is the emulator's well-known one: then the command
listens on loopback only, and serves only calls to localhost, 127.0.0.1 and
[::1]. For read-only keys, use --read-only-key-file or
${READ_ONLY_KEY_VARIABLE}. It never prints a key. To replace a key without
a restart, add the new key to the file, and remove the old one when no client
uses it any more. The command reads the files every second; a file that it
cannot read or use changes nothing.

With --amqp-port it serves queues and topics to the clients of Azure Service
Bus, without the gateway unless you also give --port. The keys are those of the
policy RootManageSharedAccessKey. Further policies are in --access-policies, one
a line: name, rights (Listen, Send, Manage, with commas), keys. With --memory,
SAS_KEY_VALUE is a key as well. Clients of the gateway's port can use AMQP over
WebSockets there. With --admin-port, ServiceBusAdministrationClient creates
queues and topics over HTTP.

On an address other than loopback it serves https (--tls-cert, --tls-key).
--insecure-http allows plain http there, for a network that you trust or behind
a proxy with TLS. The same certificate serves AMQP, and --insecure-amqp allows
AMQP without it.

The command creates a missing folder. Other processes can use the folder at the
same time. SIGINT and SIGTERM end the command with exit code 0, after the
requests in progress. With --json it prints one line when it is ready,
{"endpoint":"http://127.0.0.1:8081/","address":"127.0.0.1:8081","ready":true}:
the endpoint is for clients on this machine, the address is where it listens.
"amqp" and "admin" are those of queues and topics.

At the gateway's address, /livez and /readyz answer probes, /metrics Prometheus,
and /api/groups/NAME/lag says how far a group is behind. With --ui it shows the
store in a browser there. On an address other than loopback all but the probes
need --credentials-file.

${CREDENTIALS_HELP}

With --access-log it prints a line for each request: time, address, method,
path, status, duration, bytes of the answer, activity id. The log contains names
of databases, containers and documents, but no keys and no documents.

Examples:
  tidemark serve ./data
  tidemark serve ./data --port 0 --key-file ./key --json
  tidemark serve ./data --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  tidemark serve --memory --throttle 400
  tidemark serve --memory --amqp-port 5672 --queues Config.json
  tidemark serve ./data --port 8081 --amqp-port 5672 --admin-port 5300`

/** `tidemark serve`: a store behind the protocols of Azure Cosmos DB and Azure Service Bus. */
export function serveCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('serve')
    .summary('serve a store to clients of Azure Cosmos DB and Azure Service Bus')
    .description(
      'Serves a store, so that clients of Azure Cosmos DB and Azure Service Bus work with it.',
    )
    .addArgument(storeArgument('folder or postgres:// URL; created if it is missing'))
    .option('--memory', 'keep everything in memory, without a store')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--key-file <file>', 'file with the keys that allow everything')
    .option('--tls-cert <file>', 'certificate (PEM): serves https and AMQPS')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--insecure-http', 'allow plain http on an address other than loopback')
    .addOption(
      new Option(
        '--durability <how>',
        'for a folder. relaxed: a crash of the machine loses the most recent writes',
      ).choices(['sync', 'relaxed']),
    )
    .option(
      '--max-connections <n>',
      'most open connections (default: 10000; of AMQP: 5000)',
      wholeNumber(1),
    )
    .option('--json', 'print one JSON line when it is ready, and the access log as JSON')
  return addLogFlags(addUiFlags(addQueueFlags(addGatewayFlags(command))))
    .addHelpText('after', HELP)
    .action(async (argument: string | undefined, options: ServeOptions) => {
      const store = argument ?? (options.memory === true ? undefined : storeOfEnvironment())
      const problem = problemOf(store, options, command)
      if (problem !== undefined) command.error(`error: ${problem}\n`)
      finish(await serve(store, options, context))
    })
}

function addUiFlags(command: Command): Command {
  return addPageFlags(
    command
      .optionsGroup('Page:')
      .option('--ui', 'show the store in a browser, at the address of the gateway')
      .option('--ui-read-only', 'the page refuses everything that changes something'),
  )
}

/** What is wrong about these arguments together. */
function problemOf(
  store: string | undefined,
  options: ServeOptions,
  command: Command,
): string | undefined {
  if ((store === undefined) !== (options.memory === true))
    return `give either a store (or ${STORE_VARIABLE}) or --memory`
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
    return '--tls-cert and --tls-key go together'
  }
  if (options.durability !== undefined && servedPlace(store).kind !== 'folder') {
    return '--durability is for stores in a folder'
  }
  const gatewayFlag = hasGateway(options) ? undefined : givenGatewayFlag(command)
  if (gatewayFlag !== undefined) {
    return `${gatewayFlag} is for the gateway, which needs --port beside the ports of queues`
  }
  if (options.ui === true && !hasGateway(options)) {
    return '--ui is for the gateway, which needs --port beside the ports of queues'
  }
  if (options.uiReadOnly === true && options.ui !== true) return '--ui-read-only is for --ui'
  return problemOfQueueFlags(options)
}

function hasQueues({ amqpPort, adminPort }: QueueFlags): boolean {
  return amqpPort !== undefined || adminPort !== undefined
}

function hasGateway(options: ServeOptions): boolean {
  return options.port !== undefined || !hasQueues(options)
}

async function serve(
  argument: string | undefined,
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { amqpPort, adminPort } = options
  // Before a folder is made.
  await loadFronts({
    gateway: hasGateway(options),
    amqp: amqpPort !== undefined,
    admin: adminPort !== undefined,
  })
  using interruption = new Interruption()
  const place = servedPlace(argument)
  const { keyFile, readOnlyKeyFile, accessPolicies } = options
  const request = { keyFile, readOnlyKeyFile, accessPolicies, environment: process.env, place }
  const tls = await readTls(options)
  const credentials = await readCredentials(options.credentialsFile)
  // Before a folder is made.
  if (options.ui === true) accessRule({ host: options.host, credentials })
  const given = await givenKeys(request)
  const config = await readQueueConfig(options.queues)
  if (config !== undefined) await checkForNewPlace(config, place)
  await using store = await openServedStore(place, options)
  const { keys, source } = await servedKeys(given)
  const namespace = namespaceName(options.namespace, config)
  const logger = await commandLogger(options, context)
  await using broker = hasQueues(options)
    ? await openNamespace(store, namespace, { config, logger })
    : undefined
  const { host, insecureAmqp, insecureHttp, maxConnections } = options
  const about = {
    store,
    flags: options,
    readOnly: options.uiReadOnly,
    host,
    credentials,
    onFailure: failureReporter(logger),
  }
  await using page = options.ui === true ? await openPageBeside(about) : undefined
  return await serveStore(
    {
      store,
      gateway: hasGateway(options) ? gatewaySettings(options) : undefined,
      queues: broker && {
        broker,
        amqpPort,
        adminPort,
        insecureAmqp,
        isForTests: place.kind === 'memory',
      },
      keys,
      host,
      tls,
      insecureHttp,
      maxConnections,
      accessLog: options.accessLog,
      credentials,
      leases: options.leases,
      beside: page && [page.beside],
      hasPage: page !== undefined,
      logger,
      readKeys: areKeysInFiles(request, given) ? () => presentKeys(request) : undefined,
      form: options.json === true ? 'json' : 'text',
      interruption,
      describe: (fronts) =>
        `serving ${describePlace(place)} at ${describeFronts(fronts)} with ${source}; end with Ctrl-C` +
        (broker === undefined ? '' : `\nqueues and topics are in the database "${namespace}"`),
    },
    context,
  )
}
