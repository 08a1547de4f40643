import { readFile } from 'node:fs/promises'
import type { RunningGateway } from '@tidemark/gateway'
import { Command, Option } from 'commander'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { InputError } from '../input-error.ts'
import { Interruption } from '../interruption.ts'
import {
  areKeysInFiles,
  gatewayKeys,
  givenKeys,
  KEY_VARIABLE,
  presentKeys,
  READ_ONLY_KEY_VARIABLE,
} from '../serve/gateway-key-source.ts'
import { readPrivateFile } from '../serve/private-file.ts'
import { serveStore } from '../serve/serve-store.ts'
import {
  describePlace,
  openServedStore,
  servedPlace,
  type Durability,
} from '../serve/served-place.ts'

interface ServeOptions {
  readonly memory?: boolean
  readonly port: number
  readonly host: string
  readonly keyFile?: string
  readonly readOnlyKeyFile?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly insecureHttp?: boolean
  readonly account?: string
  readonly durability?: Durability
  readonly throttle?: number
  readonly maxBodyMib?: number
  readonly maxHeaderKib?: number
  readonly maxRequests?: number
  readonly maxConnections?: number
  readonly maxWaiting?: number
  readonly maxClientShare?: number
  readonly requestTimeout?: number
  readonly maxWait?: number
  readonly accessLog?: boolean
  readonly json?: boolean
}

const DEFAULT_PORT = 8081
const LARGEST_PORT = 65_535

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

On an address other than loopback it serves https (--tls-cert, --tls-key).
--insecure-http allows plain http there, for a network that you trust or behind
a proxy with TLS.

The command creates a missing folder. Other processes can use the folder at the
same time. SIGINT and SIGTERM end the command with exit code 0, after the
requests in progress. With --json it prints one line when it is ready,
{"endpoint":"http://127.0.0.1:8081/","address":"127.0.0.1:8081","ready":true}:
the endpoint is for clients on this machine, the address is where it listens.

With --access-log it prints a line for each request: time, address, method,
path, status, duration, bytes of the answer, activity id. The log contains names
of databases, containers and documents, but no keys and no documents.

Examples:
  tidemark serve ./data
  tidemark serve ./data --port 0 --key-file ./key --json
  tidemark serve ./data --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  tidemark serve --memory --throttle 400`

/** `tidemark serve`: a store behind the protocol of Azure Cosmos DB. */
export function serveCommand(context: CommandContext, finish: Finish): Command {
  return new Command('serve')
    .summary('serve a store over HTTP to clients of Azure Cosmos DB')
    .description('Serves a store over HTTP, so that clients of Azure Cosmos DB work with it.')
    .argument('[store]', 'folder or postgres:// URL of the store; created if it is missing')
    .option('--memory', 'keep documents in memory, without a store')
    .option('--port <n>', '0 = any free one', portNumber(), DEFAULT_PORT)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--key-file <file>', 'file with the keys that allow everything')
    .option('--read-only-key-file <file>', 'file with the keys that only allow reads')
    .option('--tls-cert <file>', 'certificate (PEM): serves https')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--insecure-http', 'allow plain http on an address other than loopback')
    .option('--account <name>', 'id of the account (default: tidemark)')
    .addOption(
      new Option(
        '--durability <how>',
        'for a folder. relaxed: a crash of the machine loses the most recent writes',
      ).choices(['sync', 'relaxed']),
    )
    .option('--throttle <units>', 'request units per second and pkrange', wholeNumber(1))
    .option('--max-body-mib <n>', 'largest request body (default: 4)', wholeNumber(1))
    .option(
      '--max-header-kib <n>',
      'total size of the request headers (default: 32)',
      wholeNumber(1),
    )
    .option(
      '--max-requests <n>',
      'concurrent requests; more get 429 (default: 1000)',
      wholeNumber(1),
    )
    .option('--max-connections <n>', 'more connections are closed (default: 10000)', wholeNumber(1))
    .option(
      '--max-waiting <n>',
      'waiting feed reads; more get 429 (default: 10000)',
      wholeNumber(1),
    )
    .option(
      '--max-client-share <percent>',
      'share of these three for one address or read-only key (default: 50)',
      wholeNumber(1, 100),
    )
    .option(
      '--request-timeout <seconds>',
      'longest time of a request, then 408 (default: 60)',
      wholeNumber(1),
    )
    .option(
      '--max-wait <seconds>',
      'longest time of a waiting feed read; 0: none (default: 30)',
      wholeNumber(0),
    )
    .option('--access-log', 'print a line for each request')
    .option('--json', 'print one JSON line when it is ready, and the access log as JSON')
    .addHelpText('after', HELP)
    .action(async (store: string | undefined, options: ServeOptions, command: Command) => {
      if ((store === undefined) !== (options.memory === true)) {
        command.error('error: give either a store or --memory\n')
      }
      if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
        command.error('error: --tls-cert and --tls-key go together\n')
      }
      if (options.durability !== undefined && servedPlace(store).kind !== 'folder') {
        command.error('error: --durability is for stores in a folder\n')
      }
      finish(await serve(store, options, context))
    })
}

/** Parses a port for commander. */
export function portNumber(): (text: string) => number {
  return wholeNumber(0, LARGEST_PORT)
}

async function serve(
  argument: string | undefined,
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const place = servedPlace(argument)
  const tls = await readTls(options)
  const { keyFile, readOnlyKeyFile } = options
  const environment = process.env
  const request = { keyFile, readOnlyKeyFile, environment, place }
  const given = await givenKeys(request)
  await using store = await openServedStore(place, options)
  const { keys, source } = await gatewayKeys(given)
  const gateway = { store, keys, tls, ...limits(options) }
  const form = options.json === true ? 'json' : 'text'
  return await serveStore(
    {
      gateway,
      accessLog: options.accessLog,
      readKeys: areKeysInFiles(request, given) ? () => presentKeys(request) : undefined,
      form,
      interruption,
      describe: (running) =>
        `serving ${describePlace(place)} at ${describeAddress(running)} with ${source}; end with Ctrl-C`,
    },
    context,
  )
}

/** The endpoint, and who else can reach it, unless only this machine can. */
function describeAddress({ endpoint, address }: RunningGateway): string {
  if (new URL(endpoint).host === address) return endpoint
  const risk = endpoint.startsWith('https:') ? '' : ', not encrypted'
  return `${endpoint} (listening on ${address}${risk})`
}

function limits(options: ServeOptions) {
  const { port, host, insecureHttp, account, throttle, maxConnections, maxRequests } = options
  return {
    port,
    host,
    insecureHttp,
    accountId: account,
    requestUnitsPerRange: throttle,
    maxConnections,
    maxConcurrentRequests: maxRequests,
    maxWaitingReads: options.maxWaiting,
    maxClientShare: times(options.maxClientShare, 0.01),
    maxBodyBytes: times(options.maxBodyMib, 1024 * 1024),
    maxHeaderBytes: times(options.maxHeaderKib, 1024),
    requestTimeoutMs: times(options.requestTimeout, 1000),
    maxWaitMs: times(options.maxWait, 1000),
  }
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor
}

async function readTls({ tlsCert, tlsKey }: ServeOptions) {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  return {
    cert: await readPem('--tls-cert', tlsCert),
    key: await readPem('--tls-key', tlsKey, (file) => readPrivateFile(file, { links: 'follow' })),
  }
}

async function readPem(
  option: string,
  file: string,
  read = (path: string): Promise<string> => readFile(path, 'utf8'),
): Promise<string> {
  try {
    return await read(file)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${option} ${file} cannot be read: ${reason}`, { cause })
  }
}
